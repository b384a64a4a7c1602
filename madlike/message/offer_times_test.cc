#include "madlike/message/offer_times.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kBytes = std::uint64_t{1} << 20;

/// A peer of whose offers each takes its time.
class OfferTimesTest : public testing::Test {
 protected:
  /// Whether the next one is read.
  bool offer(microseconds if_read, microseconds if_sent) {
    const bool read = times_.reads();
    const OfferTimes::Clock::time_point since = now_;
    now_ += read ? if_read : if_sent;
    if (read) {
      times_.was_read(kBytes, if_read);
    } else {
      times_.was_sent(kBytes, since, now_);
    }
    return read;
  }
  int count_read(int offers, microseconds if_read, microseconds if_sent) {
    int count = 0;
    for (int i = 0; i < offers; ++i) count += offer(if_read, if_sent) ? 1 : 0;
    return count;
  }

  OfferTimes times_;
  OfferTimes::Clock::time_point now_;
};

TEST_F(OfferTimesTest, TheFasterWayIsFoundAfterOneOfEach) {
  EXPECT_EQ(count_read(OfferTimes::kTryEvery, microseconds(100), microseconds(40)), 1);
  times_ = {};
  EXPECT_EQ(count_read(OfferTimes::kTryEvery, microseconds(30), microseconds(40)),
            static_cast<int>(OfferTimes::kTryEvery) - 1);
}

TEST_F(OfferTimesTest, TheSlowerWayIsTriedNowAndThen) {
  const int rounds = 10, offers = rounds * static_cast<int>(OfferTimes::kTryEvery);
  EXPECT_NEAR(count_read(offers, microseconds(100), microseconds(40)), rounds, 1);
  times_ = {};
  EXPECT_NEAR(count_read(offers, microseconds(40), microseconds(100)), offers - rounds, 1);
}

TEST_F(OfferTimesTest, WhatHasBecomeFasterIsNoticed) {
  const int many = 20 * static_cast<int>(OfferTimes::kTryEvery);
  (void)count_read(many, microseconds(100), microseconds(40));
  (void)count_read(many, microseconds(20), microseconds(40));
  EXPECT_GE(count_read(10, microseconds(20), microseconds(40)), 9);
  (void)count_read(many, microseconds(100), microseconds(40));
  EXPECT_LE(count_read(10, microseconds(100), microseconds(40)), 1);
}

TEST_F(OfferTimesTest, OneThatTookLongChangesNothing) {
  (void)count_read(10, microseconds(30), microseconds(40));
  EXPECT_TRUE(offer(microseconds(100), microseconds(40)));
  EXPECT_TRUE(offer(microseconds(30), microseconds(40)));
}

TEST_F(OfferTimesTest, WhoWaitsForOthersTakesNoLonger) {
  ASSERT_TRUE(offer(microseconds(50), microseconds(40)));
  // Eight at once, one after the other, 40 us each.
  const OfferTimes::Clock::time_point since = now_;
  for (int i = 0; i < 8; ++i) {
    ASSERT_FALSE(times_.reads());
    now_ += microseconds(40);
    times_.was_sent(kBytes, since, now_);
  }
  EXPECT_FALSE(times_.reads());
}

TEST_F(OfferTimesTest, NoTimeAtAllIsATime) {
  EXPECT_TRUE(offer(microseconds(0), microseconds(1)));
  EXPECT_FALSE(offer(microseconds(0), microseconds(1)));
  EXPECT_TRUE(offer(microseconds(0), microseconds(1)));
}

TEST(OffersMadeTest, FewAreMadeToWhoHasThemSent) {
  OffersMade made;
  EXPECT_TRUE(made.is_worth_another());
  for (std::uint32_t i = 0; i < OffersMade::kInARow; ++i) {
    made.count_message();
    EXPECT_TRUE(made.is_worth_another());
    made.was_sent();
  }
  std::uint32_t offers = 0;
  for (std::uint32_t i = 0; i < 10 * OffersMade::kOfferEvery; ++i) {
    offers += made.is_worth_another() ? 1 : 0;
    made.count_message();
  }
  EXPECT_EQ(offers, 10u);
  made.was_read();
  EXPECT_TRUE(made.is_worth_another());
}

}  // namespace
}  // namespace mad
