// LineSink: a matrix that arrives by columns, collected until whole lines of its memory are there.
//
// Payload comes in pieces, of 16 KiB in shared memory.  Where a column is about as long, a piece
// has an element or two of each line, and each line is met once for every piece that has some of
// it.  So pieces wait, in memory that the engine has once, until all elements of the lines that
// they meet are there, or as many as have room (ADR 77).
#ifndef DATATYPE_PATH_TRANSFER_LINE_SINK_H_
#define DATATYPE_PATH_TRANSFER_LINE_SINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype_path/transfer/layout_transfer.h"

namespace mad {

/// What pieces wait in: of one receive at a time.
class LineMemory {
 public:
  /// Stays in the second-level cache, with the lines it is unpacked to.
  static constexpr std::size_t kBytes = 256 * 1024;

  /// kBytes, until they are given back; null: another has them, or there is no memory.
  std::byte* take();
  void give_back() { is_taken_ = false; }

 private:
  std::unique_ptr<std::byte[]> bytes_;  // once somebody asked
  bool is_taken_ = false;
};

class LineSink final : public PayloadSink {
 public:
  /// About the pieces of the shared memory's ring, in bytes.
  static constexpr std::uint64_t kPiece = 16 * 1024;
  /// How much of `count` elements waits together: whole lines' width of columns, or as many columns
  /// as have room, at most LineMemory::kBytes; 0: these are no columns side by side, or too long
  /// ones, or pieces hold enough of them as it is.
  static std::size_t bytes_of_lines(const BlockProgram& program, std::uint64_t count);

  /// `lines` is memory.take(), and not null; `window` is bytes_of_lines(), and not 0.
  LineSink(BlockProgramPtr program, void* base, std::uint64_t count, std::size_t window,
           std::byte* lines, LineMemory* memory);
  ~LineSink() override { memory_->give_back(); }
  LineSink(const LineSink&) = delete;
  LineSink& operator=(const LineSink&) = delete;

  void place(std::uint64_t offset, Segment bytes) override;
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override {
    return layout_.runs(offset, size, out, capacity);
  }
  /// Places what waits.
  void finish();

 private:
  LayoutSink layout_;
  const std::uint64_t window_;
  std::byte* const lines_;
  LineMemory* const memory_;
  std::uint64_t begin_ = 0;  // of what waits, in the payload
  std::size_t waiting_ = 0;  // bytes
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_LINE_SINK_H_
