// Packet: what one post to a driver carries - header room, then staged and referenced segments.
//
// A packet is a fixed piece of staging memory from the messenger's pool.  The wire header and every
// staged byte live in that memory; referenced segments point into user memory, which must stay as
// it is until the packet's completion.  Staged bytes that follow staged bytes share one segment, so
// a packet that is all staged is a single segment.  Where the fabric lends the memory, referenced
// bytes are copied there at once, and so are staged, too.
#ifndef MADLIKE_MESSAGE_PACKET_H_
#define MADLIKE_MESSAGE_PACKET_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"

namespace mad {

class Packet {
 public:
  static constexpr std::size_t kMaxSegments = 256;

  /// `memory` is the packet's staging memory; `max_segments` (1..kMaxSegments) and `max_bytes` are
  /// its link's.
  Packet(Segment memory, std::size_t max_segments, std::size_t max_bytes);
  /// Empties the packet for another use of the same memory.
  void reset(std::size_t max_segments, std::size_t max_bytes);
  /// Empties it for memory that a fabric lends, all of which may be used.
  void lend(Segment memory);
  bool lent() const { return lent_; }

  /// Free staging memory that can still be appended: its start, and at most as many bytes as fit
  /// the packet.  Size 0 when the packet is full or no segment is left to hold new staged bytes.
  Segment staging_room() const;
  /// Appends the first `bytes` of staging_room(), which the caller has filled.
  void stage(std::size_t bytes);

  /// Whether one more referenced segment fits.
  bool can_reference() const;
  /// Appends user memory by reference, cut to what the packet may still carry; returns the bytes
  /// taken.
  std::size_t reference(Segment run);

  /// Where the next referenced segments may be listed, at most list_room() of them; together of at
  /// most bytes_room() bytes.
  Segment* list() { return segments_.data() + count_; }
  std::size_t list_room() const { return max_segments_ - count_; }
  /// Appends the first `count` of them, of `bytes` in all.
  void listed(std::size_t count, std::size_t bytes);

  /// Bytes that may still be appended, however they are appended.
  std::size_t bytes_room() const { return max_bytes_ - bytes_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t staged_bytes() const { return staged_; }
  std::size_t referenced_bytes() const { return bytes_ - staged_; }
  SegmentList segments() const { return {segments_.data(), count_}; }

 private:
  Segment memory_;
  std::size_t max_segments_;
  std::size_t max_bytes_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::size_t staged_ = 0;
  bool last_is_staged_ = false;
  bool lent_ = false;
  std::array<Segment, kMaxSegments> segments_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PACKET_H_
