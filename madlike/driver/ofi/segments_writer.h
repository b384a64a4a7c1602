// SegmentsWriter: a packet that was given as segments, to be copied to a buffer.
#ifndef MADLIKE_DRIVER_OFI_SEGMENTS_WRITER_H_
#define MADLIKE_DRIVER_OFI_SEGMENTS_WRITER_H_

#include <cstddef>

#include "madlike/base/copy_bytes.h"
#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"

namespace mad {

/// The packet is no longer than the room.
class SegmentsWriter final : public PacketWriter {
 public:
  explicit SegmentsWriter(SegmentList packet) : PacketWriter(packet.bytes()), packet_(packet) {}

 private:
  void write_next(Segment room) override {
    std::byte* out = room.begin();
    for (const Segment& segment : packet_) {
      copy_bytes(out, segment.data, segment.size);
      out += segment.size;
    }
  }

  const SegmentList packet_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SEGMENTS_WRITER_H_
