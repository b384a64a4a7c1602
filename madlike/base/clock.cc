#include "madlike/base/clock.h"

#include <time.h>

#include <utility>

namespace mad {

namespace {

timespec last_tick() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now;
}

}  // namespace

// steady_clock is CLOCK_MONOTONIC.
std::chrono::steady_clock::time_point CoarseClock::now() {
  const timespec now = last_tick();
  return std::chrono::steady_clock::time_point(std::chrono::seconds(now.tv_sec) +
                                               std::chrono::nanoseconds(now.tv_nsec));
}

bool CoarseTimer::ticked() {
  const timespec now = last_tick();
  return std::exchange(last_, now.tv_nsec) != now.tv_nsec;
}

}  // namespace mad
