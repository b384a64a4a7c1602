#include "madlike/base/clock.h"

#include <time.h>

#include <utility>

namespace mad {

bool CoarseTimer::ticked() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::exchange(last_, now.tv_nsec) != now.tv_nsec;
}

}  // namespace mad
