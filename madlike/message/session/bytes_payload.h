// BytesSource, BytesSink: payloads that are one run of memory, for pieces and chunks.
#ifndef MADLIKE_MESSAGE_SESSION_BYTES_PAYLOAD_H_
#define MADLIKE_MESSAGE_SESSION_BYTES_PAYLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "madlike/message/messenger.h"

namespace mad {

/// Reads a run; stretches of at least kReferenceFrom bytes are referenced, shorter ones copied.
class BytesSource final : public PayloadSource {
 public:
  static constexpr std::size_t kReferenceFrom = 4096;

  BytesSource() = default;
  explicit BytesSource(Segment run) : next_(run) {}

  void fill(Packet& packet, std::uint64_t limit) override {
    auto left = static_cast<std::size_t>(std::min<std::uint64_t>(limit, next_.size));
    while (left > 0) {
      const Segment room = packet.staging_room();
      std::size_t taken = 0;
      if (packet.can_reference() && (left >= kReferenceFrom || room.size == 0)) {
        taken = packet.reference({next_.data, left});
      } else if (room.size > 0) {
        taken = std::min(left, room.size);
        std::memcpy(room.data, next_.data, taken);
        packet.stage(taken);
      }
      if (taken == 0) return;
      next_ = {next_.begin() + taken, next_.size - taken};
      left -= taken;
    }
  }

 private:
  Segment next_;
};

/// Writes a run.
class BytesSink final : public PayloadSink {
 public:
  BytesSink() = default;
  explicit BytesSink(Segment run) : run_(run) {}

  void place(std::uint64_t offset, Segment bytes) override {
    if (bytes.size > 0) std::memcpy(run_.begin() + offset, bytes.data, bytes.size);
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    *out = {run_.begin() + offset, static_cast<std::size_t>(size)};
    return 1;
  }

 private:
  Segment run_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_BYTES_PAYLOAD_H_
