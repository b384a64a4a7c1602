// PackedSource, PackedSink: the whole message in one buffer of its own, packed before it leaves and
// unpacked when all of it is there.
//
// This is what message layers do that cannot look into a layout; it exists to be compared with, and
// its memory grows with the message.
#ifndef DATATYPE_PATH_TRANSFER_PACKED_TRANSFER_H_
#define DATATYPE_PATH_TRANSFER_PACKED_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype_path/transfer/layout_transfer.h"
#include "datatype_path/transfer/run_transfer.h"

namespace mad {

class PackedSource final : public PayloadSource {
 public:
  /// Packs all of it; throws std::bad_alloc when the buffer cannot be had.
  PackedSource(const BlockProgram& program, void* base, std::uint64_t count,
               std::uint64_t reference_from);

  void fill(Packet& packet, std::uint64_t limit) override { packed_.fill(packet, limit); }

 private:
  std::unique_ptr<std::byte[]> buffer_;
  RunSource packed_;
};

class PackedSink final : public PayloadSink {
 public:
  /// Collects the first `bytes` of the payload; throws std::bad_alloc when the buffer cannot be
  /// had.
  PackedSink(BlockProgramPtr program, void* base, std::uint64_t count, std::uint64_t bytes);

  void place(std::uint64_t offset, Segment bytes) override { collected_.place(offset, bytes); }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override {
    return collected_.runs(offset, size, out, capacity);
  }
  /// Unpacks the first `bytes`, once they are all there.
  void finish(std::uint64_t bytes);

 private:
  std::unique_ptr<std::byte[]> buffer_;
  RunSink collected_;
  BlockProgramPtr program_;
  void* base_;
  std::uint64_t count_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_PACKED_TRANSFER_H_
