#include "madlike/driver/door/handshake.h"

#include <arpa/inet.h>
#include <sodium.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "gtest/gtest.h"
#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

DoorAddress address_of(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  DoorAddress address;
  address.socket = *to_address(&name, sizeof(name));
  address.secret = random_secret();
  return address;
}

class DoorHandshake : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_GE(sodium_init(), 0); }
};

TEST_F(DoorHandshake, AddressesComeBack) {
  const DoorAddress address = address_of(4711);
  const auto bytes = address.bytes();
  EXPECT_LE(bytes.size(), DoorAddress::kMostBytes);
  const auto read = DoorAddress::parse(bytes.data(), bytes.size());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->socket, address.socket);
  EXPECT_EQ(read->secret, address.secret);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = DoorAddress::parse(bytes.data(), size);
    ASSERT_FALSE(cut.ok()) << size;
    if (size > address.secret.size()) continue;
    EXPECT_EQ(cut.status().message(), "not the address of an engine") << size;
  }
}

TEST_F(DoorHandshake, AnAddressHasTheSameBytesOnEveryMachine) {
  // 127.0.0.1, port 4711: the family is little-endian, port and host are in the network's order.
  const unsigned char literal[] = {2, 0, 0x12, 0x67, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0};
  std::vector<std::byte> bytes;
  for (const unsigned char byte : literal) bytes.push_back(std::byte{byte});
  bytes.resize(bytes.size() + sizeof(DoorSecret), std::byte{9});
  const auto read = DoorAddress::parse(bytes.data(), bytes.size());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(to_text(read->socket), "127.0.0.1:4711");
  EXPECT_EQ(read->bytes(), bytes);
}

TEST_F(DoorHandshake, BothSidesMakeTheSameKeyOutOfTheSecretAndTheNonces) {
  const DoorSecret secret = random_secret();
  const DoorNonce a = random_nonce(), b = random_nonce();
  EXPECT_EQ(session_key(secret, a, b), session_key(secret, a, b));
  EXPECT_NE(session_key(secret, a, b), session_key(random_secret(), a, b));
  EXPECT_NE(session_key(secret, a, b), session_key(secret, random_nonce(), b));
  EXPECT_NE(session_key(secret, a, b), session_key(secret, a, random_nonce()));
}

TEST_F(DoorHandshake, NumbersAreAnyButZero) {
  std::set<std::uint32_t> numbers;
  for (int i = 0; i < 100; ++i) numbers.insert(random_number<std::uint32_t>());
  EXPECT_GT(numbers.size(), 90u);
  EXPECT_EQ(numbers.count(0), 0u);
}

TEST_F(DoorHandshake, HellosSayWhatTheyAre) {
  const DoorMagic magic{'M', 'A', 'D', 'T', 'C', 'P'}, other{'M', 'A', 'D', 'X', 'Y', 'Z'};
  const DoorHello hello{magic, DoorHello::Kind::kRequest, random_nonce()};
  auto bytes = hello.pack();
  const auto nonce = DoorHello::parse(bytes.data(), magic, DoorHello::Kind::kRequest);
  ASSERT_TRUE(nonce);
  EXPECT_EQ(*nonce, hello.nonce);
  EXPECT_FALSE(DoorHello::parse(bytes.data(), magic, DoorHello::Kind::kChallenge));
  EXPECT_FALSE(DoorHello::parse(bytes.data(), other, DoorHello::Kind::kRequest));
  for (std::size_t i = 0; i < 8; ++i) {
    auto foreign = bytes;
    foreign[i] ^= std::byte{1};
    EXPECT_FALSE(DoorHello::parse(foreign.data(), magic, DoorHello::Kind::kRequest)) << i;
  }
}

TEST_F(DoorHandshake, OnlyWhoKnowsTheSecretOpensAnAnswer) {
  const DoorAddress listener = address_of(1), connector = address_of(2);
  const DoorNonce a = random_nonce(), b = random_nonce();
  const DoorKey key = session_key(listener.secret, a, b);
  const DoorAnswer answer{connector};
  const auto sealed = answer.seal(key);
  const auto opened = DoorAnswer::open(sealed.data(), key);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->address.bytes(), connector.bytes());
  EXPECT_FALSE(DoorAnswer::open(sealed.data(), session_key(random_secret(), a, b)));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    auto damaged = sealed;
    damaged[i] ^= std::byte{0x10};
    EXPECT_FALSE(DoorAnswer::open(damaged.data(), key)) << i;
  }
  // The secret of an address does not travel in the open.
  const auto* const secret = connector.secret.data();
  for (std::size_t i = 0; i + connector.secret.size() <= sealed.size(); ++i) {
    EXPECT_NE(std::memcmp(sealed.data() + i, secret, connector.secret.size()), 0) << i;
  }
}

TEST_F(DoorHandshake, WhoKnowsTheKeyMayStillLie) {
  const DoorKey key = session_key(random_secret(), random_nonce(), random_nonce());
  const auto nowhere = DoorAnswer{DoorAddress{}}.seal(key);
  EXPECT_FALSE(DoorAnswer::open(nowhere.data(), key));
  for (const int kind : {-1, 7}) {
    const auto verdict = DoorVerdict{static_cast<DoorVerdict::Kind>(kind)}.seal(key);
    EXPECT_FALSE(DoorVerdict::open(verdict.data(), key)) << kind;
  }
}

TEST_F(DoorHandshake, AnAnswerIsNoVerdict) {
  const DoorKey key = session_key(random_secret(), random_nonce(), random_nonce());
  const auto sealed = DoorVerdict{DoorVerdict::Kind::kCrossing}.seal(key);
  const auto opened = DoorVerdict::open(sealed.data(), key);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->kind, DoorVerdict::Kind::kCrossing);
  const auto answer = DoorAnswer{address_of(1)}.seal(key);
  EXPECT_FALSE(DoorVerdict::open(answer.data(), key));
}

TEST_F(DoorHandshake, MessagesMayComeByteByByte) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  DoorReader reader;
  reader.expect(3);
  EXPECT_EQ(reader.read(pair[0]), DoorReader::Outcome::kWaiting);
  for (const char* byte = "ab"; *byte; ++byte) {
    ASSERT_EQ(write(pair[1], byte, 1), 1);
    EXPECT_EQ(reader.read(pair[0]), DoorReader::Outcome::kWaiting);
  }
  ASSERT_EQ(write(pair[1], "cdef", 4), 4);
  EXPECT_EQ(reader.read(pair[0]), DoorReader::Outcome::kComplete);
  EXPECT_EQ(std::memcmp(reader.bytes(), "abc", 3), 0);
  reader.expect(4);
  EXPECT_EQ(reader.read(pair[0]), DoorReader::Outcome::kWaiting) << "nothing was lost or added";
  close(pair[1]);
  EXPECT_EQ(reader.read(pair[0]), DoorReader::Outcome::kEnded);
  close(pair[0]);
}

}  // namespace
}  // namespace mad
