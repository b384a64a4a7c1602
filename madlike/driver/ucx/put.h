// UcxPut: a write by an RDMA device to memory that the peer has registered.
//
// Long ones are read by the device from where they lie: the span of their segments is registered,
// once, and given back when the write is over.  Short ones, sparse ones, and those that the system
// does not let us register, are copied to buffers that UCX has registered, one after the other.
#ifndef MADLIKE_DRIVER_UCX_PUT_H_
#define MADLIKE_DRIVER_UCX_PUT_H_

#include <uct/api/uct.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/registration.h"

namespace mad {

class UcxPut {
 public:
  static constexpr std::size_t kMostSegments = 16;

  /// Of at most kMostSegments, on this lane, to what the peer named `key`, where `address` is.
  /// kProtocol: no such key.
  static Result<UcxPut> of(const UcxLane& lane, SegmentList content, std::uint64_t key,
                           std::uint64_t address, std::size_t registered_from);

  /// UCS_OK: all is copied, or over; UCS_INPROGRESS: `done` is told when it is;
  /// UCS_ERR_NO_RESOURCE: call again; anything else: the endpoint is broken.
  ucs_status_t go_on(uct_ep_h endpoint, uct_completion_t* done);

  bool is_registered() const { return static_cast<bool>(source_); }

 private:
  UcxPut() = default;
  void take(std::size_t bytes);
  ucs_status_t copy(uct_ep_h endpoint);
  static std::size_t pack(void* out, void* self);

  UcxPeerKey key_;
  std::uint64_t address_ = 0;
  UcxRegistration source_;
  std::array<Segment, kMostSegments> segments_;  // those that are left
  std::size_t first_ = 0, end_ = 0;
  std::size_t most_copied_ = 0;  // bytes, at once
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_PUT_H_
