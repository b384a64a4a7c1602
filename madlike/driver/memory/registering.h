// Registering: whether an RDMA device better reads a write's source from where it lies, which costs
// a registration, or from a buffer that is registered already, which costs a copy.
//
// It pays for long writes, where not much of what is registered is left out.  From which length on
// is a price's matter (datatype_path/plan/costs.h), and the driver's option.
#ifndef MADLIKE_DRIVER_MEMORY_REGISTERING_H_
#define MADLIKE_DRIVER_MEMORY_REGISTERING_H_

#include <cstddef>
#include <limits>

#include "madlike/base/segment.h"

namespace mad {

inline constexpr std::size_t kRegisteredFrom = 256 * 1024;  // bytes of a write, where nobody says
inline constexpr std::size_t kMostSpan = 4;                 // times its bytes

/// LinkCaps::write_whole_from of a fabric that writes at most `most` bytes at once: where it would
/// register none of its writes, none is made.
inline std::size_t written_whole_from(std::size_t registered_from, std::size_t most) {
  return registered_from <= most ? registered_from : std::numeric_limits<std::size_t>::max();
}

/// From the first byte of all segments to the last; empty: they have none.
inline Segment span_of(SegmentList packet) {
  std::byte *first = nullptr, *last = nullptr;
  for (const Segment& segment : packet) {
    if (segment.size == 0) continue;
    if (first == nullptr || segment.begin() < first) first = segment.begin();
    if (last == nullptr || segment.end() > last) last = segment.end();
  }
  return {first, static_cast<std::size_t>(last - first)};
}

/// Whether the span of these segments is to be registered for them alone; `from`: bytes of a write
/// from which on that pays.
inline bool is_worth_registering(SegmentList packet, std::size_t from) {
  const std::size_t bytes = packet.bytes();
  return bytes >= from && span_of(packet).size <= kMostSpan * bytes;
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_MEMORY_REGISTERING_H_
