#include "madlike/base/clock.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(PolledClock, PausesDoNotCount) {
  const auto started = PolledClock::Steady::now();
  PolledClock clock;
  const auto before = clock.now();
  clock.tick(started);
  clock.tick(started + std::chrono::milliseconds(900));
  EXPECT_GE(clock.now(), before) << "a short one counts";
  clock.tick(started + std::chrono::hours(1));
  EXPECT_LT(clock.now(), before - std::chrono::minutes(59));
  clock.tick(started + std::chrono::hours(1) + std::chrono::milliseconds(900));
  EXPECT_GT(clock.now(), before - std::chrono::hours(1));
}

TEST(CoarseClock, IsTheSteadyClockSomeMillisecondsAgo) {
  const auto before = PolledClock::Steady::now();
  const auto coarse = CoarseClock::now();
  EXPECT_LE(coarse, PolledClock::Steady::now());
  EXPECT_GT(coarse, before - std::chrono::seconds(2));
}

TEST(CoarseTimer, TicksNowAndThen) {
  CoarseTimer timer;
  const auto give_up = PolledClock::Steady::now() + std::chrono::minutes(1);
  int ticks = 0, asked = 0;
  for (; ticks < 5 && PolledClock::Steady::now() < give_up; ++asked) {
    ticks += timer.ticked() ? 1 : 0;
  }
  EXPECT_EQ(ticks, 5);
  EXPECT_GT(asked, ticks) << "more often than that it was asked in vain";
}

}  // namespace
}  // namespace mad
