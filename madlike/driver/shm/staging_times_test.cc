#include "madlike/driver/shm/staging_times.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kBytes = 16384;
constexpr int kPeriod = StagingTimes::kPeriod, kLongest = StagingTimes::kLongest;

class StagingTimesTest : public testing::Test {
 protected:
  /// How many of so many pieces are staged, where each way takes its time.
  int count_staged(int pieces, nanoseconds if_staged, nanoseconds if_not) {
    int staged = 0;
    for (int i = 0; i < pieces; ++i) {
      const StagingTimes::Way way = times_.next();
      staged += way.staged ? 1 : 0;
      timed_ += way.timed ? 1 : 0;
      if (way.timed) times_.took(way, kBytes, way.staged ? if_staged : if_not);
    }
    return staged;
  }

  StagingTimes times_;
  int timed_ = 0;
};

TEST_F(StagingTimesTest, TheFasterWayIsTakenAfterOnePeriod) {
  EXPECT_EQ(count_staged(kPeriod, nanoseconds(3000), nanoseconds(2000)), kPeriod - 2);
  EXPECT_EQ(count_staged(kPeriod, nanoseconds(3000), nanoseconds(2000)), 2);
}

TEST_F(StagingTimesTest, TheOtherWayIsTriedTheRarerTheLongerThatIsSo) {
  for (const int period : {kPeriod, 2 * kPeriod + 1, 4 * kPeriod + 3, kLongest, kLongest}) {
    EXPECT_EQ(count_staged(period - 2, nanoseconds(2000), nanoseconds(3000)), period - 2);
    EXPECT_EQ(count_staged(2, nanoseconds(2000), nanoseconds(3000)), 0);
  }
  EXPECT_EQ(timed_, 5 * 2);
}

TEST_F(StagingTimesTest, StagingStaysWhereTheOtherWayIsHardlyFaster) {
  count_staged(kPeriod, nanoseconds(3000), nanoseconds(2800));
  const int next = 2 * kPeriod + 1;
  EXPECT_EQ(count_staged(next, nanoseconds(3000), nanoseconds(2800)), next - 2);
}

// The system may run either process elsewhere at any time.
TEST_F(StagingTimesTest, TheWayChangesWithTheTimes) {
  count_staged(20 * kLongest, nanoseconds(3000), nanoseconds(2000));
  count_staged(20 * kLongest, nanoseconds(3000), nanoseconds(6000));
  EXPECT_GE(count_staged(kLongest, nanoseconds(3000), nanoseconds(6000)), kLongest - 4);
  count_staged(20 * kLongest, nanoseconds(3000), nanoseconds(2000));
  EXPECT_LE(count_staged(kLongest, nanoseconds(3000), nanoseconds(2000)), 4);
}

// Somebody else was on the core.
TEST_F(StagingTimesTest, OnePieceThatTookVeryLongChangesNothing) {
  count_staged(kPeriod, nanoseconds(3000), nanoseconds(2000));
  times_.took({false, true}, kBytes, nanoseconds(10'000'000));
  EXPECT_EQ(count_staged(kPeriod, nanoseconds(3000), nanoseconds(2000)), 2);
}

// The other way is not timed with the one kind only.
TEST_F(StagingTimesTest, TheFasterWayIsTakenAlsoWhereMessagesAlternate) {
  int staged = 0;
  for (int i = 0; i < 40 * kLongest; ++i) {
    staged += count_staged(1, nanoseconds(i % 2 == 0 ? 2000 : 3000),
                           nanoseconds(i % 2 == 0 ? 1500 : 2250));
  }
  EXPECT_LE(staged, kLongest);
}

TEST(StagingTimesByRun, RunsOfOtherLengthsAreTimedApart) {
  StagingTimesByRun all;
  EXPECT_EQ(&all.of(1), &all.of(64));
  EXPECT_NE(&all.of(64), &all.of(65));
  EXPECT_EQ(&all.of(65), &all.of(512));
  EXPECT_NE(&all.of(512), &all.of(513));
  EXPECT_EQ(&all.of(513), &all.of(StagingTimesByRun::kMostRun));
}

}  // namespace
}  // namespace mad
