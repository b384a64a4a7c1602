// StagedWrite: a remote write that goes by buffers of ours, one after the other, as they are free.
#ifndef MADLIKE_DRIVER_OFI_STAGED_WRITE_H_
#define MADLIKE_DRIVER_OFI_STAGED_WRITE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/copy_bytes.h"
#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"

namespace mad {

class StagedWrite {
 public:
  static constexpr std::size_t kMostSegments = 4;

  StagedWrite() = default;
  /// Of at most kMostSegments, whose memory is read until all is copied.
  StagedWrite(SegmentList packet, const ExposureToken& token, std::uint64_t offset, void* context)
      : target_{token.address + offset, token.key}, context_(context), left_(packet.bytes()) {
    for (const Segment& segment : packet) segments_[count_++] = segment;
  }

  std::size_t left() const { return left_; }  // bytes that are not copied
  /// Where the next byte belongs.
  const ExposureToken& target() const { return target_; }
  void* context() const { return context_; }  // the caller's

  /// Copies the next bytes, as many as there is room for.
  void copy(Segment room) {
    std::byte* out = room.begin();
    for (std::size_t size = std::min(room.size, left_); size > 0;) {
      Segment& from = segments_[first_];
      const std::size_t piece = std::min(from.size, size);
      copy_bytes(out, from.data, piece);
      from = {from.begin() + piece, from.size - piece};
      out += piece;
      size -= piece;
      left_ -= piece;
      target_.address += piece;
      if (from.size == 0) ++first_;
    }
  }

 private:
  std::array<Segment, kMostSegments> segments_;
  std::size_t first_ = 0, count_ = 0;
  ExposureToken target_;
  void* context_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_STAGED_WRITE_H_
