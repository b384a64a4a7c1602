// HoleWatch: whether the queue of an engine's shared memory still moves after a peer died.
//
// All peers of an engine put their messages into one queue of its.  UCX takes a place in it before
// it fills it (mm_ep.c, uct_mm_ep_am_common_send()); a process that dies in between leaves a hole,
// behind which nothing of anybody arrives any more, without a word.  So after a peer's death the
// engine sends itself a message: if that does not arrive in time, there is a hole.
#ifndef MADLIKE_DRIVER_UCX_HOLE_H_
#define MADLIKE_DRIVER_UCX_HOLE_H_

#include <chrono>
#include <cstdint>

#include "madlike/driver/door/clock.h"
#include "madlike/driver/ucx/lane.h"

namespace mad {

class HoleWatch {
 public:
  /// The tag of its messages; no connection has it.
  static constexpr std::uint64_t kTag = 0;

  explicit HoleWatch(std::chrono::milliseconds timeout) : timeout_(timeout) {}

  /// A peer died that had an endpoint to this engine's `lane`.
  void begin(UcxLane& lane);
  bool busy() const { return lane_ != nullptr; }
  /// A message of shared memory came: the queue moves.
  void on_message(std::uint64_t tag) {
    moved_ = true;
    if (tag == kTag) ++arrived_;
  }
  /// To be called while busy() and after the lane progressed; true: there is a hole.  Time counts
  /// from the first call after begin() on.
  bool look(PolledClock::time_point now);

 private:
  void end();

  std::chrono::milliseconds timeout_;
  UcxLane* lane_ = nullptr;
  UctEndpoint self_;
  bool due_ = false;  // a message is to be sent
  int sent_ = 0, arrived_ = 0;
  bool moved_ = false;
  PolledClock::time_point deadline_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_HOLE_H_
