// RaceFinder: of one process's receives, those of any source that could have taken another message.
//
// A receive R of any source took a message of one sender.  A message of another sender that R
// matches, and that a receive posted after R took, could have been there first if it was sent
// without knowledge of R's end: then nothing but time decided which of the two R got.
#ifndef NETMOD_PIGGYBACK_RACES_H_
#define NETMOD_PIGGYBACK_RACES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "netmod/piggyback/clock.h"

namespace mad::piggyback {

/// A receive that is complete.
struct Receive {
  std::uint64_t posted = 0;  // in the order in which receives, or probes, were posted
  std::uint64_t comm = 0;    // any number that tells communicators apart
  bool any_source = false;
  bool any_tag = false;
  int source = 0;  // of the message that it took
  int tag = 0;
};

struct Race {
  Receive receive;
  int other_source = 0;  // whose message could have been first
};

class RaceFinder {
 public:
  /// `report` is called for each receive of which a race is known, once.
  RaceFinder(Clock* clock, std::function<void(const Race&)> report)
      : clock_(clock), report_(std::move(report)) {}

  /// `receive` has ended; its message has this value (none: 0 bytes).
  void received(const Receive& receive, const void* value, std::size_t bytes) {
    for (Seen& earlier : seen_) {
      if (races(earlier, receive, value, bytes)) {
        earlier.reported = true;
        ++races_;
        report_({earlier.receive, receive.source});
      }
    }
    clock_->merge(value, bytes);
    const std::uint32_t number = clock_->tick();
    if (!receive.any_source) return;
    seen_[wildcards_ % kRemembered] = {receive, number, false};
    ++wildcards_;
  }

  std::uint64_t wildcards() const { return wildcards_; }
  std::uint64_t races() const { return races_; }

 private:
  static constexpr std::size_t kRemembered = 256;  // receives of any source, the latest
  struct Seen {
    Receive receive;
    std::uint32_t number = 0;  // 0: no receive
    bool reported = false;
  };

  bool races(const Seen& earlier, const Receive& later, const void* value,
             std::size_t bytes) const {
    const Receive& first = earlier.receive;
    return earlier.number != 0 && !earlier.reported && first.comm == later.comm &&
           first.source != later.source && first.posted < later.posted &&
           (first.any_tag || first.tag == later.tag) &&
           clock_->is_unaware(value, bytes, earlier.number);
  }

  Clock* clock_;
  std::function<void(const Race&)> report_;
  std::array<Seen, kRemembered> seen_{};
  std::uint64_t wildcards_ = 0, races_ = 0;
};

}  // namespace mad::piggyback

#endif  // NETMOD_PIGGYBACK_RACES_H_
