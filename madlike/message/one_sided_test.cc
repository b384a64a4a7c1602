// Puts and gets: memory of a peer that it shares with all, and what becomes of them where it ends.
#include <gtest/gtest.h>

#include "madlike/message/pair.h"

namespace mad {
namespace {

constexpr std::size_t kShared = 1000000;

class OneSided : public ::testing::Test {
 protected:
  explicit OneSided(const LoopbackOptions& options = narrow()) : pair_(options) {
    memory_ = pattern(kShared, 9);
    const Result<ExposureToken> token = pair_.b.driver->share({memory_.data(), memory_.size()});
    EXPECT_TRUE(token.ok());
    token_ = *token;
  }
  static LoopbackOptions narrow() {
    LoopbackOptions options;
    options.queue_depth = 4;
    options.max_write_iov = 2;
    options.max_write_bytes = 1000;
    return options;
  }
  Sent& access(Bytes bytes) {
    pair_.a.sent.emplace_back(std::move(bytes), pair_.a.reference_from, pair_.a.fill_step);
    return pair_.a.sent.back();
  }
  Sent& put(Bytes bytes, std::uint64_t offset) {
    Sent& sent = access(std::move(bytes));
    EXPECT_TRUE(pair_.a.messenger->put(pair_.to_b, token_, offset, sent).in_progress());
    return sent;
  }
  Sent& get(std::size_t size, std::uint64_t offset) {
    Sent& sent = access(Bytes(size));
    EXPECT_TRUE(pair_.a.messenger->get(pair_.to_b, token_, offset, {sent.bytes.data(), size}, sent)
                    .in_progress());
    return sent;
  }
  Bytes at(std::uint64_t offset, std::size_t size) const {
    const auto from = memory_.begin() + static_cast<long>(offset);
    return {from, from + static_cast<long>(size)};
  }
  void progress_a() {
    for (int i = 0; i < 30000; ++i) (void)pair_.a.messenger->progress();
  }

  Pair pair_;
  Bytes memory_;
  ExposureToken token_;
};

// By referenced segments and by staged ones, of one part and of many.
TEST_F(OneSided, WhatIsPutIsThereWithoutThePeersDoing) {
  for (const std::size_t from : {std::size_t{1}, std::size_t{1024 * 1024}}) {
    pair_.a.reference_from = from;
    pair_.a.fill_step = 300;
    for (const std::size_t size : {std::size_t{1}, std::size_t{999}, std::size_t{123457}}) {
      const Bytes bytes = pattern(size, static_cast<unsigned>(size + from));
      const Sent& sent = put(bytes, 17);
      EXPECT_EQ(sent.done, 0);
      progress_a();
      EXPECT_EQ(sent.done, 1);
      EXPECT_TRUE(sent.status.ok());
      EXPECT_EQ(at(17, size), bytes);
    }
  }
  EXPECT_TRUE(pair_.a.messenger->idle());
  EXPECT_TRUE(pair_.b.arrived.empty());
  EXPECT_EQ(pair_.a.messenger->counters().written_bytes, 2 * (1 + 999 + 123457));
}

TEST_F(OneSided, WhatIsGotIsHereWithoutThePeersDoing) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{1001}, std::size_t{98765}}) {
    const Sent& sent = get(size, 23);
    progress_a();
    EXPECT_EQ(sent.done, 1);
    EXPECT_TRUE(sent.status.ok());
    EXPECT_EQ(sent.bytes, at(23, size));
  }
  EXPECT_TRUE(pair_.a.messenger->idle());
}

TEST_F(OneSided, ManyShareTheConnectionWithMessages) {
  constexpr std::uint64_t kMany = 200, kApart = 4000, kGotFrom = kMany * kApart;
  const Bytes before = memory_;
  std::vector<const Sent*> puts, gets;
  for (std::uint64_t i = 0; i < kMany; ++i) {
    puts.push_back(&put(pattern(100 + i * 17, static_cast<unsigned>(i)), i * kApart));
    if (i % 3 == 0) {
      ASSERT_TRUE(pair_.a.send_header(pair_.to_b, 1, "between them").ok());
    }
    gets.push_back(&get(3 + i * 7, kGotFrom + i * 10));
  }
  settle(pair_.a, pair_.b);
  EXPECT_TRUE(pair_.a.all_sent());
  EXPECT_EQ(pair_.b.arrived.size(), 67u);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    EXPECT_EQ(at(i * kApart, puts[i]->bytes.size()), puts[i]->bytes) << i;
    EXPECT_EQ(gets[i]->bytes, at(kGotFrom + i * 10, gets[i]->bytes.size())) << i;
  }
}

TEST_F(OneSided, ThoseUnderWayToADeadPeerFailOnce) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    (void)put(pattern(5000, 1), i * 5000);
    (void)get(5000, i * 5000);
  }
  pair_.b.driver->fail();
  progress_a();
  EXPECT_TRUE(pair_.a.all_sent());
  EXPECT_TRUE(pair_.a.sent.back().status.error());
  ASSERT_EQ(pair_.a.gone.size(), 1u);
  EXPECT_TRUE(pair_.a.messenger->idle());
}

TEST_F(OneSided, AccessOutsideOfWhatIsSharedEndsTheConnection) {
  const Sent& sent = get(100, kShared - 50);
  settle(pair_.a, pair_.b);
  progress_a();
  EXPECT_EQ(sent.done, 1);
  EXPECT_TRUE(sent.status.error());
  EXPECT_EQ(pair_.a.gone.size(), 1u);
}

TEST(OneSidedPeers, AreThoseThatHaveSpokenByAFabricThatSharesMemory) {
  Pair pair;
  EXPECT_TRUE(Messenger::is_one_sided(pair.to_b));
  LoopbackOptions without;
  without.one_sided = false;
  const Pair other(without);
  EXPECT_FALSE(Messenger::is_one_sided(other.to_b));
  Side a(pair.network);
  EXPECT_FALSE(Messenger::is_one_sided(a.to(pair.b)));
}

}  // namespace
}  // namespace mad
