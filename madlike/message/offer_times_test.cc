#include "madlike/message/offer_times.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

constexpr int kFirst = OfferTimes::kFirst, kSendEvery = OfferTimes::kSendEvery,
              kReadEvery = OfferTimes::kReadEvery;

/// A peer of whose offers each takes its time.
class OfferTimesTest : public testing::Test {
 protected:
  void read(microseconds took) {
    now_.at += took;
    now_.reading += took;
    times_.was_read(kBytes, took);
  }
  /// Bytes arrive, which takes its time.
  void arrive(std::uint64_t bytes, microseconds took) {
    now_.at += took;
    now_.bytes += bytes;
  }
  /// Whether the next one is read.
  bool offer(microseconds if_read, microseconds if_sent) {
    const bool reads = times_.reads(kBytes);
    const ArrivalMark from = now_;
    if (reads) {
      read(if_read);
    } else {
      arrive(kBytes, if_sent);
      times_.was_sent(from, now_);
    }
    return reads;
  }
  int count_read(int offers, microseconds if_read, microseconds if_sent) {
    int count = 0;
    for (int i = 0; i < offers; ++i) count += offer(if_read, if_sent) ? 1 : 0;
    return count;
  }
  /// The first of both ways.
  void begin(microseconds if_read, microseconds if_sent) {
    EXPECT_EQ(count_read(2 * kFirst, if_read, if_sent), kFirst);
  }

  OfferTimes times_;
  ArrivalMark now_;
};

TEST_F(OfferTimesTest, TheFasterWayIsTaken) {
  begin(microseconds(100), microseconds(40));
  EXPECT_EQ(count_read(kReadEvery - 1, microseconds(100), microseconds(40)), 0);
  times_ = {};
  begin(microseconds(30), microseconds(40));
  EXPECT_EQ(count_read(kSendEvery - 1, microseconds(30), microseconds(40)), kSendEvery - 1);
}

TEST_F(OfferTimesTest, ShortOnesAreReadOnlyWhereThatIsMuchFaster) {
  begin(microseconds(35), microseconds(40));
  EXPECT_TRUE(times_.reads(kBytes));
  EXPECT_FALSE(times_.reads(100000));
  times_ = {};
  begin(microseconds(25), microseconds(40));
  EXPECT_TRUE(times_.reads(100000));
}

TEST_F(OfferTimesTest, TheSlowerWayIsTriedNowAndThen) {
  begin(microseconds(100), microseconds(40));
  EXPECT_EQ(count_read(10 * kReadEvery, microseconds(100), microseconds(40)), 10);
  times_ = {};
  begin(microseconds(40), microseconds(100));
  EXPECT_EQ(count_read(10 * kSendEvery, microseconds(40), microseconds(100)), 10 * kSendEvery - 10);
}

TEST_F(OfferTimesTest, WhatHasBecomeFasterIsNoticed) {
  begin(microseconds(100), microseconds(40));
  (void)count_read(5 * kReadEvery, microseconds(20), microseconds(40));
  EXPECT_GE(count_read(10, microseconds(20), microseconds(40)), 9);
  (void)count_read(20, microseconds(100), microseconds(40));
  EXPECT_LE(count_read(10, microseconds(100), microseconds(40)), 1);
}

TEST_F(OfferTimesTest, OneThatTookLongChangesNothing) {
  begin(microseconds(30), microseconds(40));
  EXPECT_TRUE(offer(microseconds(50000), microseconds(40)));
  EXPECT_TRUE(offer(microseconds(30), microseconds(40)));
}

TEST_F(OfferTimesTest, TheFirstOneMayTakeLong) {
  EXPECT_TRUE(offer(microseconds(900), microseconds(40)));
  EXPECT_EQ(count_read(2 * kFirst - 1, microseconds(30), microseconds(40)), kFirst - 1);
  EXPECT_EQ(count_read(10, microseconds(30), microseconds(40)), 10);
}

TEST_F(OfferTimesTest, AClockThatDidNotMoveDecidesNothingForEver) {
  begin(microseconds(0), microseconds(40));
  EXPECT_GE(count_read(10, microseconds(100), microseconds(40)), 9);
  (void)count_read(2 * kSendEvery, microseconds(100), microseconds(40));
  EXPECT_LE(count_read(10, microseconds(100), microseconds(40)), 1);
}

// One sent takes 40, eight at once 320 for all of them, in whatever order they are complete.
TEST_F(OfferTimesTest, SeveralAtOnceTakeNoLongerEach) {
  for (int i = 0; i < kFirst; ++i) read(microseconds(50));
  const ArrivalMark from = now_;
  for (int i = 0; i < 8; ++i) ASSERT_FALSE(times_.reads(kBytes));
  for (int i = 0; i < 80; ++i) arrive(kBytes / 10, microseconds(4));
  for (int i = 0; i < 8; ++i) times_.was_sent(from, now_);
  EXPECT_EQ(count_read(10, microseconds(50), microseconds(40)), 0);
}

TEST_F(OfferTimesTest, WhatIsReadMeanwhileIsNotItsTime) {
  begin(microseconds(100), microseconds(100));
  for (int i = 0; i < 20; ++i) {
    const ArrivalMark from = now_;
    for (int k = 0; k < 15; ++k) read(microseconds(100));
    arrive(kBytes, microseconds(40));
    times_.was_sent(from, now_);
  }
  EXPECT_LE(count_read(kReadEvery - 1, microseconds(100), microseconds(40)), 1);
}

// 1500 ns until the first 10 bytes are here, which take 500 to be placed.
TEST(SentSince, TheWordThatAsksIsNoPartOfIt) {
  ArrivalMark asked;
  asked.bytes = 100;
  ArrivalMark placing = asked;
  placing.at += nanoseconds(1500);
  placing.bytes += 10;
  const auto placed = placing.at + nanoseconds(500);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at + nanoseconds(1000));
  EXPECT_EQ(sent_since(asked, placing, placed, 10).bytes, asked.bytes);
  const auto later = placing.at + nanoseconds(9000);
  EXPECT_EQ(sent_since(asked, placing, later, 10).at, asked.at) << "no sooner than it was asked";
  placing.reading += nanoseconds(700);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at) << "another was read";
  placing.reading = asked.reading;
  placing.bytes += 10;  // of others
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at);
}

TEST(SentSince, ThatItsSenderIsBusyIs) {
  const ArrivalMark asked;
  ArrivalMark placing = asked;
  placing.at += nanoseconds(50000);
  const auto placed = placing.at + nanoseconds(500);
  EXPECT_EQ(sent_since(asked, placing, placed, 10).at, asked.at + kMostOfAWord);
}

TEST(ByLengthTest, ShortOnesAreApartFromLongOnes) {
  ByLength<int> counts{};
  for (const std::uint64_t bytes : {1u, 65535u, 65536u, 262143u, 262144u, 1u << 30}) {
    ++counts.of(bytes);
  }
  for (const std::uint64_t bytes : {2u, 65537u, 262145u}) EXPECT_EQ(counts.of(bytes), 2) << bytes;
}

TEST(OffersMadeTest, FewerAreMadeTheOftenerTheyAreSent) {
  OffersMade made;
  for (std::uint32_t i = 0; i < OffersMade::kSentInARow; ++i) made.count_answer(false);
  std::uint32_t offers = 0;
  for (std::uint32_t i = 0; i < 10 * OffersMade::kRareOffer; ++i) {
    if (made.is_worth_another()) {
      ++offers;
      made.count_answer(false);
    }
    made.count_message();
  }
  EXPECT_GE(offers, 10u);
  EXPECT_LE(offers, 15u);
  while (!made.is_worth_another()) made.count_message();
  made.count_answer(true);
  std::uint32_t messages = 0;
  for (made.count_message(); !made.is_worth_another(); made.count_message()) ++messages;
  EXPECT_LT(messages, OffersMade::kOfferEvery) << "it reads again, perhaps";
}

TEST(OffersMadeTest, OffersThatWereOutAlreadyDoNotMakeThemRarer) {
  OffersMade made;
  for (std::uint32_t i = 0; i < 64; ++i) made.count_message();
  for (std::uint32_t i = 0; i < 64; ++i) made.count_answer(false);
  std::uint32_t messages = 0;
  for (made.count_message(); !made.is_worth_another(); made.count_message()) ++messages;
  EXPECT_LT(messages, OffersMade::kOfferEvery);
}

TEST(OffersMadeTest, FewAreMadeToWhoHasThemSent) {
  OffersMade made;
  const auto offers_of = [&made](std::uint32_t messages) {
    std::uint32_t offers = 0;
    for (std::uint32_t i = 0; i < messages; ++i) {
      offers += made.is_worth_another() ? 1 : 0;
      made.count_message();
    }
    return offers;
  };
  EXPECT_EQ(offers_of(10), 10u);
  made.count_answer(false);
  made.count_answer(true);
  for (std::uint32_t i = 1; i < OffersMade::kSentInARow; ++i) made.count_answer(false);
  EXPECT_EQ(offers_of(6), 6u);
  made.count_answer(false);
  EXPECT_EQ(offers_of(10 * OffersMade::kOfferEvery), 10u);
  made.count_answer(true);
  made.count_answer(false);
  made.count_answer(true);
  EXPECT_EQ(offers_of(10 * OffersMade::kOfferEvery), 10u) << "single ones are tries";
  made.count_answer(true);
  EXPECT_EQ(offers_of(10), 10u);
}

}  // namespace
}  // namespace mad
