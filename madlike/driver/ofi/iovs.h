// OfiIovs: segments as libfabric takes them.
#ifndef MADLIKE_DRIVER_OFI_IOVS_H_
#define MADLIKE_DRIVER_OFI_IOVS_H_

#include <sys/uio.h>

#include <array>
#include <cstddef>

#include "madlike/base/segment.h"

namespace mad {

class OfiIovs {
 public:
  static constexpr std::size_t kMost = 64;

  /// Those that have bytes; the caller keeps to kMost.
  void add(SegmentList segments) {
    for (const Segment& segment : segments) {
      if (segment.size > 0) iovs_[size_++] = {segment.data, segment.size};
      bytes_ += segment.size;
    }
  }
  const iovec* data() const { return iovs_.data(); }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::array<iovec, kMost> iovs_;
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_IOVS_H_
