// Segment: one contiguous run of memory, the unit that fabrics gather from and scatter to.
//
// Layout-compatible with struct iovec, so that a driver hands a list of segments to the system as
// it is.  A segment owns nothing.  Sending never writes through `data`.
#ifndef MADLIKE_BASE_SEGMENT_H_
#define MADLIKE_BASE_SEGMENT_H_

#include <sys/uio.h>

#include <cstddef>

namespace mad {

struct Segment {
  void* data = nullptr;
  std::size_t size = 0;  // bytes

  std::byte* begin() const { return static_cast<std::byte*>(data); }
  std::byte* end() const { return begin() + size; }
};

static_assert(sizeof(Segment) == sizeof(iovec) &&
              offsetof(Segment, data) == offsetof(iovec, iov_base) &&
              offsetof(Segment, size) == offsetof(iovec, iov_len));

/// A view of consecutive segments (std::span is C++20).
struct SegmentList {
  const Segment* first = nullptr;
  std::size_t count = 0;

  const Segment* begin() const { return first; }
  const Segment* end() const { return first + count; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Segment& s : *this) sum += s.size;
    return sum;
  }
};

}  // namespace mad

#endif  // MADLIKE_BASE_SEGMENT_H_
