#include "madlike/driver/door/clock.h"

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

}  // namespace
}  // namespace mad
