// PolledClock: time for deadlines of an engine that only lives while it is polled; and CoarseClock
// and CoarseTimer, which a data path can ask for next to nothing.
//
// A pause of poll() longer than a second does not count: who was not looking cannot say that
// another was late.
#ifndef MADLIKE_BASE_CLOCK_H_
#define MADLIKE_BASE_CLOCK_H_

#include <chrono>

namespace mad {

class PolledClock {
 public:
  using Steady = std::chrono::steady_clock;
  using time_point = Steady::time_point;
  static constexpr std::chrono::milliseconds kPause{1000};

  /// The time now, without the pauses that tick() has seen.
  time_point now() const { return Steady::now() - paused_; }
  /// To be called when deadlines are compared with the time.
  void tick(time_point steady_now = Steady::now()) {
    if (steady_now - ticked_ > kPause) paused_ += steady_now - ticked_;
    ticked_ = steady_now;
  }

 private:
  Steady::duration paused_{};
  time_point ticked_ = Steady::now();
};

/// steady_clock's time as of the system's last tick: some milliseconds old, but read in less time.
struct CoarseClock {
  static std::chrono::steady_clock::time_point now();
};

/// Tells whether some milliseconds have passed since it was asked last, without a system call.
class CoarseTimer {
 public:
  bool ticked();

 private:
  long last_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_BASE_CLOCK_H_
