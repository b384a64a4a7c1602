#include "madlike/driver/ofi/greeting.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "gtest/gtest.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

std::vector<std::byte> some_address() {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(4711);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::memset(address.sin_zero, 0x55, sizeof(address.sin_zero));  // as some systems leave it
  return to_address(&address, sizeof(address)).value();
}

Greeting request() {
  Greeting greeting;
  greeting.kind = Greeting::Kind::kRequest;
  greeting.incarnation = 0x1122334455667788;
  greeting.sequence = 3;
  greeting.tag = 0xFFFFFFFE;
  greeting.credit = 4711;
  greeting.address = some_address();
  return greeting;
}

TEST(Greeting, ComesBackAsItWas) {
  const std::vector<std::byte> bytes = request().pack();
  EXPECT_LE(bytes.size(), Greeting::kMaxBytes);
  const std::optional<Greeting> back = Greeting::parse(bytes.data(), bytes.size());
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, Greeting::Kind::kRequest);
  EXPECT_EQ(back->incarnation, request().incarnation);
  EXPECT_EQ(back->sequence, 3u);
  EXPECT_EQ(back->tag, 0xFFFFFFFEu);
  EXPECT_EQ(back->credit, 4711u);
  EXPECT_EQ(back->address, some_address());
}

// verbs carries 55 bytes.
TEST(Greeting, FitsEveryProviderWithAnAddressOfEitherFamily) {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(0x1234);
  name.sin6_addr = in6addr_loopback;
  name.sin6_addr.s6_addr[0] = 0xfe;
  name.sin6_scope_id = 77;
  Greeting six = request();
  six.address = to_address(&name, sizeof(name)).value();
  for (const Greeting& greeting : {request(), six}) {
    const std::vector<std::byte> bytes = greeting.pack();
    EXPECT_LE(bytes.size(), 55u);
    const std::optional<Greeting> back = Greeting::parse(bytes.data(), bytes.size());
    ASSERT_TRUE(back);
    EXPECT_EQ(back->address, greeting.address);
  }
}

TEST(Greeting, OfEveryKindComesBack) {
  for (const auto kind : {Greeting::Kind::kRequest, Greeting::Kind::kAcceptance,
                          Greeting::Kind::kCrossing, Greeting::Kind::kForeign}) {
    Greeting greeting = request();
    greeting.kind = kind;
    if (kind != Greeting::Kind::kRequest) greeting.address.clear();
    const std::vector<std::byte> bytes = greeting.pack();
    const std::optional<Greeting> back = Greeting::parse(bytes.data(), bytes.size());
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind, kind);
    EXPECT_EQ(back->tag, greeting.tag);
    EXPECT_EQ(back->address, greeting.address);
  }
}

TEST(Greeting, OfAnotherVersionIsRefused) {
  for (const int version : {0, 1, 3}) {
    std::vector<std::byte> bytes = request().pack();
    bytes[3] = static_cast<std::byte>(version);
    EXPECT_FALSE(Greeting::parse(bytes.data(), bytes.size())) << version;
  }
}

TEST(Greeting, TrailingBytesOfAProviderAreAllowed) {
  std::vector<std::byte> bytes = request().pack();
  bytes.resize(bytes.size() + 20);
  EXPECT_TRUE(Greeting::parse(bytes.data(), bytes.size()));
}

TEST(Greeting, CutShortIsRefused) {
  const std::vector<std::byte> bytes = request().pack();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Greeting::parse(bytes.data(), size)) << size << " bytes";
  }
}

TEST(Greeting, ForeignBytesAreRefused) {
  const std::vector<std::byte> good = request().pack();
  // Magic, version and kind; then the address' family.
  for (const std::size_t place : {0u, 2u, 3u, 4u, 27u}) {
    std::vector<std::byte> bytes = good;
    bytes[place] ^= std::byte{0xFF};
    EXPECT_FALSE(Greeting::parse(bytes.data(), bytes.size())) << "byte " << place;
  }
}

TEST(Address, HasOneForm) {
  EXPECT_EQ(to_text(some_address()), "127.0.0.1:4711");
  EXPECT_EQ(some_address()[sizeof(sockaddr_in) - 1], std::byte{0});
  sockaddr_in no_port{};
  no_port.sin_family = AF_INET;
  EXPECT_EQ(to_address(&no_port, sizeof(no_port)).status().code(), StatusCode::kInvalidArgument);
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(5);
  six.sin6_addr = in6addr_loopback;
  EXPECT_EQ(to_text(to_address(&six, sizeof(six)).value()), "[::1]:5");
  EXPECT_FALSE(to_address(&six, sizeof(six) - 1).ok());
}

TEST(Address, InterfaceIsFoundOrTheOthersAreNamed) {
  const Result<std::string> lo = interface_address("lo");
  ASSERT_TRUE(lo.ok()) << lo.status().message();
  EXPECT_EQ(lo.value(), "127.0.0.1");
  const Result<std::string> none = interface_address("no_such_interface");
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_NE(none.status().message().find(" lo"), std::string_view::npos);
}

}  // namespace
}  // namespace mad
