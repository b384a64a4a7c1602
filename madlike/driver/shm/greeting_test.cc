#include "madlike/driver/shm/greeting.h"

#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/handshake.h"

namespace mad {
namespace {

ShmGreeting greeting() {
  ShmGreeting greeting;
  greeting.sender = {4711, random_secret()};
  greeting.session = 0x1122334455667788;
  greeting.place = 17;
  greeting.place_bytes = 1 << 18;
  greeting.piece_bytes = 16376;
  return greeting;
}

TEST(ShmAddress, ComesBack) {
  const ShmAddress address{4711, random_secret()};
  const auto bytes = address.bytes();
  ASSERT_EQ(bytes.size(), ShmAddress::kBytes);
  const auto parsed = ShmAddress::parse(bytes.data(), bytes.size());
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->pid, 4711u);
  EXPECT_EQ(parsed->secret, address.secret);
}

TEST(ShmAddress, OthersAreRefused) {
  auto bytes = ShmAddress{4711, random_secret()}.bytes();
  EXPECT_FALSE(ShmAddress::parse(bytes.data(), bytes.size() - 1).ok());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(ShmAddress::parse(bytes.data(), bytes.size()).ok());
  bytes.pop_back();
  bytes[3] = std::byte{2};  // a version
  EXPECT_FALSE(ShmAddress::parse(bytes.data(), bytes.size()).ok());
}

// 0 is what the system says of a process that we cannot see, and no engine's own number.
TEST(ShmAddress, NamesAProcess) {
  for (const std::uint32_t pid : {1u, 0x7fffffffu}) {
    const auto bytes = ShmAddress{pid, random_secret()}.bytes();
    EXPECT_TRUE(ShmAddress::parse(bytes.data(), bytes.size()).ok()) << pid;
  }
  for (const std::uint32_t pid : {0u, 0x80000000u, ~0u}) {
    const auto bytes = ShmAddress{pid, random_secret()}.bytes();
    EXPECT_FALSE(ShmAddress::parse(bytes.data(), bytes.size()).ok()) << pid;
  }
}

TEST(ShmGreeting, WhoKnowsTheSecretReadsAll) {
  const DoorSecret receiver = random_secret();
  ShmGreeting sent = greeting();
  sent.kind = ShmGreeting::Kind::kRefuse;
  sent.reason = ShmGreeting::Reason::kOtherPids;
  const auto letter = sent.seal(receiver);
  const auto got = ShmGreeting::open(letter.data(), letter.size(), receiver);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->kind, sent.kind);
  EXPECT_EQ(got->sender.bytes(), sent.sender.bytes());
  EXPECT_EQ(got->session, sent.session);
  EXPECT_EQ(got->place, sent.place);
  EXPECT_EQ(got->place_bytes, sent.place_bytes);
  EXPECT_EQ(got->piece_bytes, sent.piece_bytes);
  EXPECT_EQ(got->reason, sent.reason);
  EXPECT_NE(sent.seal(receiver), letter) << "a letter looks different each time";
}

TEST(ShmGreeting, OfAStrangerOrDamagedItIsNone) {
  const DoorSecret receiver = random_secret();
  auto letter = greeting().seal(receiver);
  EXPECT_FALSE(ShmGreeting::open(letter.data(), letter.size(), random_secret()));
  EXPECT_FALSE(ShmGreeting::open(letter.data(), letter.size() - 1, receiver));
  std::vector<std::byte> longer(letter.begin(), letter.end());
  longer.push_back(std::byte{0});
  EXPECT_FALSE(ShmGreeting::open(longer.data(), longer.size(), receiver));
  for (std::size_t i = 0; i < letter.size(); ++i) {
    letter[i] ^= std::byte{1};
    EXPECT_FALSE(ShmGreeting::open(letter.data(), letter.size(), receiver)) << i;
    letter[i] ^= std::byte{1};
  }
  EXPECT_TRUE(ShmGreeting::open(letter.data(), letter.size(), receiver));
  ShmGreeting odd = greeting();
  odd.session = 0;
  letter = odd.seal(receiver);
  EXPECT_FALSE(ShmGreeting::open(letter.data(), letter.size(), receiver));
  odd = greeting();
  odd.sender.pid = 0;
  letter = odd.seal(receiver);
  EXPECT_FALSE(ShmGreeting::open(letter.data(), letter.size(), receiver));
}

TEST(ShmGreeting, ARefusalSaysWhetherItMayPass) {
  ShmGreeting refusal = greeting();
  using Reason = ShmGreeting::Reason;
  for (const Reason reason : {Reason::kOtherUser, Reason::kOtherPids, Reason::kBadMemory}) {
    refusal.reason = reason;
    EXPECT_EQ(refusal.refusal().code(), StatusCode::kUnreachable);
  }
  refusal.reason = Reason::kOtherLayout;
  EXPECT_EQ(refusal.refusal().code(), StatusCode::kVersion);
  refusal.reason = Reason::kLacksMemory;
  EXPECT_EQ(refusal.refusal().code(), StatusCode::kAgain);
  refusal.reason = static_cast<Reason>(4711);
  EXPECT_EQ(refusal.refusal().code(), StatusCode::kAgain);
}

}  // namespace
}  // namespace mad
