#include "madlike/driver/tcp/handshake.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

#include "gtest/gtest.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

TcpAddress address_of(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  TcpAddress address;
  address.socket = *to_address(&name, sizeof(name));
  address.secret = random_secret();
  return address;
}

class TcpHandshake : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(sodium_init(), 0); }
};

TEST_F(TcpHandshake, AddressesComeBack) {
  const TcpAddress address = address_of(4711);
  const auto bytes = address.bytes();
  EXPECT_LE(bytes.size(), TcpAddress::kMostBytes);
  const auto read = TcpAddress::parse(bytes.data(), bytes.size());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->socket, address.socket);
  EXPECT_EQ(read->secret, address.secret);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(TcpAddress::parse(bytes.data(), size).ok()) << size;
  }
}

TEST_F(TcpHandshake, BothSidesMakeTheSameKeyOutOfTheSecretAndTheNonces) {
  const TcpSecret secret = random_secret();
  const TcpNonce a = random_nonce(), b = random_nonce();
  EXPECT_EQ(session_key(secret, a, b), session_key(secret, a, b));
  EXPECT_NE(session_key(secret, a, b), session_key(random_secret(), a, b));
  EXPECT_NE(session_key(secret, a, b), session_key(secret, random_nonce(), b));
  EXPECT_NE(session_key(secret, a, b), session_key(secret, a, random_nonce()));
}

TEST_F(TcpHandshake, HellosSayWhatTheyAre) {
  const TcpHello hello{TcpHello::Kind::kRequest, random_nonce()};
  auto bytes = hello.pack();
  const auto nonce = TcpHello::parse(bytes.data(), TcpHello::Kind::kRequest);
  ASSERT_TRUE(nonce);
  EXPECT_EQ(*nonce, hello.nonce);
  EXPECT_FALSE(TcpHello::parse(bytes.data(), TcpHello::Kind::kChallenge));
  for (std::size_t i = 0; i < 8; ++i) {
    auto foreign = bytes;
    foreign[i] ^= std::byte{1};
    EXPECT_FALSE(TcpHello::parse(foreign.data(), TcpHello::Kind::kRequest)) << i;
  }
}

TEST_F(TcpHandshake, OnlyWhoKnowsTheSecretOpensAnAnswer) {
  const TcpAddress listener = address_of(1), connector = address_of(2);
  const TcpNonce a = random_nonce(), b = random_nonce();
  const TcpSessionKey key = session_key(listener.secret, a, b);
  const TcpAnswer answer{connector};
  const auto sealed = answer.seal(key);
  const auto opened = TcpAnswer::open(sealed.data(), key);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->address.bytes(), connector.bytes());
  EXPECT_FALSE(TcpAnswer::open(sealed.data(), session_key(random_secret(), a, b)));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto damaged = sealed;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(TcpAnswer::open(damaged.data(), key)) << i;
  }
  // The secret of an address does not travel in the open.
  const auto* const secret = connector.secret.data();
  for (std::size_t i = 0; i + connector.secret.size() <= sealed.size(); ++i) {
    EXPECT_NE(std::memcmp(sealed.data() + i, secret, connector.secret.size()), 0) << i;
  }
}

TEST_F(TcpHandshake, AnAnswerIsNoVerdict) {
  const TcpSessionKey key = session_key(random_secret(), random_nonce(), random_nonce());
  const auto sealed = TcpVerdict{TcpVerdict::Kind::kCrossing}.seal(key);
  const auto opened = TcpVerdict::open(sealed.data(), key);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->kind, TcpVerdict::Kind::kCrossing);
  const auto answer = TcpAnswer{address_of(1)}.seal(key);
  EXPECT_FALSE(TcpVerdict::open(answer.data(), key));
}

TEST_F(TcpHandshake, MessagesMayComeByteByByte) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  TcpMessageReader reader;
  reader.expect(3);
  EXPECT_EQ(reader.read(pair[0]), TcpMessageReader::Outcome::kWaiting);
  for (const char* byte = "ab"; *byte; ++byte) {
    ASSERT_EQ(write(pair[1], byte, 1), 1);
    EXPECT_EQ(reader.read(pair[0]), TcpMessageReader::Outcome::kWaiting);
  }
  ASSERT_EQ(write(pair[1], "cdef", 4), 4);
  EXPECT_EQ(reader.read(pair[0]), TcpMessageReader::Outcome::kComplete);
  EXPECT_EQ(std::memcmp(reader.bytes(), "abc", 3), 0);
  reader.expect(4);
  EXPECT_EQ(reader.read(pair[0]), TcpMessageReader::Outcome::kWaiting)
      << "nothing was lost or added";
  close(pair[1]);
  EXPECT_EQ(reader.read(pair[0]), TcpMessageReader::Outcome::kEnded);
  close(pair[0]);
}

}  // namespace
}  // namespace mad
