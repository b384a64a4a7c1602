// Waiter: how a session waits - by moving the messenger, and out of the way when nothing moves.
#ifndef MADLIKE_MESSAGE_SESSION_WAITER_H_
#define MADLIKE_MESSAGE_SESSION_WAITER_H_

#include <sched.h>

#include <chrono>
#include <optional>

#include "madlike/message/messenger.h"

namespace mad {

class Waiter {
 public:
  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  explicit Waiter(Messenger& messenger) : messenger_(messenger) {}

  Messenger& messenger() const { return messenger_; }

  /// Makes progress until `done()`, or until the deadline; returns whether it is done.
  template <typename Done>
  bool wait(Done done, const Deadline& deadline = {}) const {
    for (int idle = 0; !done();) {
      if (deadline && std::chrono::steady_clock::now() >= *deadline) return false;
      idle = messenger_.progress() > 0 ? 0 : idle + 1;
      if (idle > kSpins) step_aside(idle);
    }
    return true;
  }

 private:
  // The peer may need this very core: first the time slice is given away, then we sleep.
  static constexpr int kSpins = 1000;
  static constexpr int kYields = 2000;
  static constexpr std::chrono::milliseconds kSleep{1};

  void step_aside(int idle) const {
    if (idle <= kSpins + kYields) {
      sched_yield();
    } else {
      messenger_.wait(kSleep);
    }
  }

  Messenger& messenger_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_WAITER_H_
