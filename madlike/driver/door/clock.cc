#include "madlike/driver/door/clock.h"

#include <time.h>

namespace mad {

long coarse_tick() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_nsec;
}

}  // namespace mad
