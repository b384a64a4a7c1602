// Cursor: the only mutable datatype state - a place in the packed byte stream of (base, count,
// program).
//
// It seeks to any byte, in the middle of an element too, and packs, unpacks or lists segments from
// there. No recursion, no allocation; a small fixed state that can be copied.  The packed stream is
// MPI's: the type map's bytes in type-map order, element after element.
#ifndef DATATYPE_PATH_CURSOR_CURSOR_H_
#define DATATYPE_PATH_CURSOR_CURSOR_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "datatype_path/kernels/kernels.h"
#include "datatype_path/program/block_program.h"
#include "madlike/base/copy_bytes.h"
#include "madlike/base/segment.h"

namespace mad {

/// The next runs of a layout, as far as they are alike.
struct RunLoops {
  struct Loop {
    std::uint64_t trips;
    std::int64_t stride;  // bytes
  };
  static constexpr std::size_t kMost = 4;

  std::uint64_t address;  // of the first run
  std::uint64_t run;      // bytes of each
  std::array<Loop, kMost> loops;
  std::size_t count = 0;  // loops over that run, the innermost first
  /// For whole trips of a short body of runs that differ: the loop, with `loops[0]` over it, from
  /// `body_address` on.  Then `count` is 0, and `run` the first one's.
  const LoopNode* body = nullptr;
  std::uint64_t body_address = 0;
};

class Cursor {
 public:
  /// At byte 0 of `count` elements of `program` at `base`.  `program` must outlive the cursor, and
  /// count * program.size() must fit 63 bits.
  Cursor(const BlockProgram& program, void* base, std::uint64_t count);

  std::uint64_t total() const { return total_; }        // packed bytes of all elements
  std::uint64_t position() const { return position_; }  // packed bytes before the cursor

  /// Goes to packed byte `offset` (<= total()), O(depth) plus a binary search in irregular lists.
  void seek(std::uint64_t offset);

  /// Copies the next min(size, total() - position()) bytes to `out` and advances; returns the
  /// bytes.
  std::size_t pack(void* out, std::size_t size) {
    auto* const stream = static_cast<std::byte*>(out);
    if (std::min<std::uint64_t>(size, total_ - position_) >= kStreamedBytes &&
        program_->streams_out()) {
      return stream_out(stream, size);
    }
    return move<Direction::kPack>(stream, size, kNoRunIsLong);
  }
  /// Copies from `in` to the layout, otherwise like pack().
  std::size_t unpack(const void* in, std::size_t size) {
    // Which only reads it.
    auto* const stream = static_cast<std::byte*>(const_cast<void*>(in));
    return move<Direction::kUnpack>(stream, size, kNoRunIsLong);
  }
  /// Like pack(), but stops before the first run of at least `long_run` bytes (runs as listed by
  /// next_run()).
  std::size_t pack_short_runs(void* out, std::size_t size, std::size_t long_run) {
    return move<Direction::kPack>(static_cast<std::byte*>(out), size, long_run);
  }

  /// The next contiguous run from the cursor on (touching runs coalesced where the program sees
  /// it), cut to `max_bytes`; does not advance.  Empty at the end.
  Segment next_run(std::size_t max_bytes);
  /// Runs from the cursor on, which must not be at the end; does not advance.
  RunLoops next_loops();
  /// Advances by `bytes` (<= total() - position()).
  void advance(std::size_t bytes);
  /// Lists the next runs, coalesced, into `out`: at most `capacity` segments and `max_bytes` bytes;
  /// advances past them, stores the bytes listed in `*bytes`, returns the number of segments.
  std::size_t segments(Segment* out, std::size_t capacity, std::size_t max_bytes,
                       std::size_t* bytes);

  /// Those that the program was compiled for.
  const KernelTable& kernels() const { return program_->kernel_table(); }

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
  static constexpr std::uint64_t kNoRunIsLong = UINT64_MAX;
  // More than the caches that a core has for itself: nobody finds so many bytes there afterwards.
  static constexpr std::size_t kStreamedBytes = 32 << 20;

  bool at_end() const { return position_ == total_; }
  Frame& frame() { return frames_[depth_ - 1]; }
  const Frame& frame() const { return frames_[depth_ - 1]; }
  void push(const LoopNode& node, std::uint64_t address, std::uint64_t trips) {
    frames_[depth_++] = {&node, address, trips, node.stride, 0};
  }
  bool enter_loop();
  void stand_on_run();
  bool list_loops(RunLoops* out) const;
  std::uint64_t run_address();
  std::uint64_t run_left();
  void next_part();
  void next_trips(std::uint64_t trips);
  void leave_if_through();
  void step(std::uint64_t bytes);

  std::size_t stream_out(std::byte* stream, std::size_t size);
  std::size_t list_trips(Segment* out, std::size_t capacity, std::size_t room);
  bool rest_is_one_leaf(std::size_t size, std::uint64_t long_run) const;
  template <Direction kDirection>
  std::size_t move(std::byte* stream, std::size_t size, std::uint64_t long_run);
  template <Direction kDirection>
  std::size_t move_leaf(std::byte* stream);
  template <Direction kDirection>
  std::size_t move_parts(std::byte* stream, std::size_t size, std::uint64_t long_run);
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
  bool deep_ = false;  // outer loops are not remembered
  std::array<Frame, kFrames> frames_;
};

static_assert(std::is_trivially_copyable_v<Cursor> && sizeof(Cursor) <= 512);

inline Cursor::Cursor(const BlockProgram& program, void* base, std::uint64_t count)
    : program_(&program),
      base_(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base))),
      total_(program.size() * count),
      one_run_(program.shape().is_one_run(count)) {
  if (total_ == 0) return;
  const LoopNode& top = program.top();
  if (one_run_) {
    base_ += static_cast<std::uint64_t>(top.offset(0));
    return;
  }
  trips_ = top.count * count;
  if (trips_ == 1 && program.entry().height <= kFrames) {
    const LoopNode& entry = program.entry();
    push(entry, base_ + static_cast<std::uint64_t>(program.entry_offset()), entry.count);
  } else if (top.height <= kFrames) {
    push(top, base_, trips_);
  } else {
    deep_ = true;
    seek(0);
  }
}

inline bool Cursor::rest_is_one_leaf(std::size_t size, std::uint64_t long_run) const {
  // Where outer loops are not remembered, the one frame may be of a part of theirs.
  if (depth_ != 1 || skip_ != 0 || deep_ || size < total_ - position_) return false;
  const Frame& f = frames_[0];
  return f.part == 0 && f.node->leaf() && f.node->max_run < long_run;
}

// Most messages are one run, or all that is left of one loop, and many of those one kernel's call.
template <Direction kDirection>
std::size_t Cursor::move(std::byte* stream, std::size_t size, std::uint64_t long_run) {
  if (one_run_ && total_ < long_run) {
    const std::size_t bytes = std::min<std::uint64_t>(size, total_ - position_);
    auto* const run = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(base_ + position_));
    copy_bytes(kDirection == Direction::kPack ? stream : run,
               kDirection == Direction::kPack ? run : stream, bytes);
    position_ += bytes;
    return bytes;
  }
  if (!rest_is_one_leaf(size, long_run)) return move_parts<kDirection>(stream, size, long_run);
  const Frame& f = frames_[0];
  if (f.node->step_count != 1 || f.trips == 1) return move_leaf<kDirection>(stream);
  const std::uint64_t bytes = total_ - position_;
  position_ = total_;
  depth_ = 0;
  const TripsStep& step = *f.node->steps;
  step.kernels[static_cast<std::size_t>(kDirection)](step, stream, f.address, f.stride, f.trips);
  return bytes;
}

}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_CURSOR_H_
