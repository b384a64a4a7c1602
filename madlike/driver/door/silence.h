// Silence: whether the host at the other end of a TCP connection is still there.
//
// A host acknowledges what it is sent, whatever its processes do: one whose process computes, or is
// stopped, answers, and one whose cable is pulled does not.  The kernel's TCP_USER_TIMEOUT is no
// judge of that: since Linux 5.11 it also ends a connection whose receiver does not read for so
// long, though its host answers every probe (docs/adr/0029-silent-hosts-and-forks.md).  So we look
// at what the kernel knows.  Of connections that nothing is sent on its own keepalive does.
#ifndef MADLIKE_DRIVER_DOOR_SILENCE_H_
#define MADLIKE_DRIVER_DOOR_SILENCE_H_

#include <chrono>
#include <optional>

#include "madlike/base/clock.h"

struct tcp_info;

namespace mad {

class Silence {
 public:
  /// Longer than most networks take to find another way, and told within half a minute.
  static constexpr std::chrono::milliseconds kTimeout{20000};
  /// The time between two looks.
  static std::chrono::milliseconds look_every(std::chrono::milliseconds timeout) {
    return timeout / 8;
  }

  /// Looks at a connected socket: whether its host has owed an answer for `timeout`, by looks, and
  /// given none.  Never with a timeout of 0.
  bool lasts(int socket, PolledClock::time_point now, std::chrono::milliseconds timeout);
  /// For how long it has, by looks, of what the kernel knows now.
  PolledClock::time_point::duration look(const tcp_info& info, PolledClock::time_point now);

 private:
  std::optional<PolledClock::time_point> asked_;  // when it was seen first to owe an answer
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_SILENCE_H_
