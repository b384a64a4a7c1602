// Cursor: the only mutable datatype state - a place in the packed byte stream of (base, count,
// program).
//
// It seeks to any byte, in the middle of an element too, and packs, unpacks or lists segments from
// there. No recursion, no allocation; a small fixed state that can be copied.  The packed stream is
// MPI's: the type map's bytes in type-map order, element after element.
#ifndef DATATYPE_PATH_CURSOR_CURSOR_H_
#define DATATYPE_PATH_CURSOR_CURSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datatype_path/kernels/kernels.h"
#include "datatype_path/program/block_program.h"
#include "madlike/base/segment.h"

namespace mad {

class Cursor {
 public:
  /// At byte 0 of `count` elements of `program` at `base`.  `program` must outlive the cursor, and
  /// count * program.size() must fit 63 bits.
  Cursor(const BlockProgram& program, void* base, std::uint64_t count);

  std::uint64_t total() const;     // packed bytes of all elements
  std::uint64_t position() const;  // packed bytes before the cursor

  /// Goes to packed byte `offset` (<= total()), O(depth) plus a binary search in irregular lists.
  void seek(std::uint64_t offset);

  /// Copies the next min(size, total() - position()) bytes to `out` and advances; returns the
  /// bytes.
  std::size_t pack(void* out, std::size_t size);
  /// Copies from `in` to the layout, otherwise like pack().
  std::size_t unpack(const void* in, std::size_t size);
  /// Like pack(), but stops before the first run of at least `long_run` bytes (runs as listed by
  /// next_run()).
  std::size_t pack_short_runs(void* out, std::size_t size, std::size_t long_run);

  /// The next contiguous run from the cursor on (touching runs coalesced where the program sees
  /// it), cut to `max_bytes`; does not advance.  Empty at the end.
  Segment next_run(std::size_t max_bytes);
  /// Advances by `bytes` (<= total() - position()).
  void advance(std::size_t bytes);
  /// Lists the next runs, coalesced, into `out`: at most `capacity` segments and `max_bytes` bytes;
  /// advances past them, stores the bytes listed in `*bytes`, returns the number of segments.
  std::size_t segments(Segment* out, std::size_t capacity, std::size_t max_bytes,
                       std::size_t* bytes);

 private:
  // One loop under way, at the start of a part, or within it if there are frames above this one or
  // skip_ is not 0.  Addresses are unsigned integers: they may be anything between the bytes that
  // exist, and null bases (MPI_BOTTOM) are legal.
  struct Frame {
    const LoopNode* node;
    std::uint64_t address;  // of the trip's offset 0
    std::uint64_t trips;    // left, this one included
    std::int64_t stride;
    std::uint64_t part;
  };
  // Loops this high or lower are remembered while they are under way.  Where a program is deeper,
  // its outer loops are found again from the position, whenever the inner ones are through.
  static constexpr std::size_t kFrames = 8;

  bool at_end() const { return position_ == total_; }
  Frame& frame() { return frames_[depth_ - 1]; }
  void push(const LoopNode& node, std::uint64_t address, std::uint64_t trips);
  bool enter_loop();
  void stand_on_run();
  std::uint64_t run_address();
  std::uint64_t run_left();
  void next_part();
  void next_trips(std::uint64_t trips);
  void leave_if_through();
  void step(std::uint64_t bytes);

  template <Direction kDirection>
  std::size_t move(std::byte* stream, std::size_t size, std::uint64_t long_run);
  template <Direction kDirection>
  std::size_t move_trips(std::byte* stream, std::size_t room);
  template <Direction kDirection>
  std::size_t move_runs(std::byte* stream, std::size_t room);

  const BlockProgram* program_;
  std::uint64_t base_;
  std::uint64_t total_;
  std::uint64_t position_ = 0;
  std::uint64_t skip_ = 0;   // bytes of the current run that are behind the cursor
  std::uint64_t trips_ = 0;  // of the top loop
  std::uint32_t depth_ = 0;  // frames in use
  bool one_run_;
  std::array<Frame, kFrames> frames_;
};

static_assert(std::is_trivially_copyable_v<Cursor> && sizeof(Cursor) <= 512);

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_CURSOR_H_
