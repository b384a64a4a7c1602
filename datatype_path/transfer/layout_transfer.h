// LayoutSource, LayoutSink: a payload scattered over memory, moved by a Cursor as it travels.
//
// Nothing is allocated, whatever the size or the number of runs.  Both keep the program alive, so
// that a type may be freed while it is in flight.
#ifndef DATATYPE_PATH_TRANSFER_LAYOUT_TRANSFER_H_
#define DATATYPE_PATH_TRANSFER_LAYOUT_TRANSFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/program/block_program.h"
#include "madlike/base/segment.h"
#include "madlike/message/messenger.h"

namespace mad {

using BlockProgramPtr = std::shared_ptr<const BlockProgram>;

class LayoutSource final : public PayloadSource {
 public:
  static constexpr std::uint64_t kNeverReference = ~std::uint64_t{0};

  /// Runs of at least `reference_from` bytes are referenced in place, shorter ones copied together.
  LayoutSource(BlockProgramPtr program, void* base, std::uint64_t count,
               std::uint64_t reference_from);
  /// The same; the caller keeps `program`.
  LayoutSource(const BlockProgram& program, void* base, std::uint64_t count,
               std::uint64_t reference_from);

  void fill(Packet& packet, std::uint64_t limit) override;

 private:
  std::size_t take_long_run(Packet& packet, std::size_t left, bool packet_has_some);

  BlockProgramPtr program_;  // null: the caller keeps it
  Cursor cursor_;
  std::uint64_t reference_from_;
};

/// A layout that is packed at once, to where its message leaves from.
class LayoutPayload final : public WholePayload {
 public:
  /// The caller keeps `program`, of which there are `count` elements, more than none.
  LayoutPayload(const BlockProgram& program, void* base, std::uint64_t count);

  std::uint64_t run_bytes() const override;
  void write(std::byte* out) const override;

 private:
  const BlockProgram& program_;
  void* base_;
  std::uint64_t count_;
};

class LayoutSink final : public PayloadSink {
 public:
  /// With `in_place` the layout's runs are long enough to be written one by one, else they are
  /// listed only where all bytes asked for are one run.
  LayoutSink(BlockProgramPtr program, void* base, std::uint64_t count, bool in_place);

  void place(std::uint64_t offset, Segment bytes) override;
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override;

 private:
  void seek(std::uint64_t offset);

  BlockProgramPtr program_;
  Cursor cursor_;
  bool in_place_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TRANSFER_LAYOUT_TRANSFER_H_
