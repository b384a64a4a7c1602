// BlockProgram: a datatype compiled, once, at commit - loops over runs in canonical form.
//
// A program is a table of loops.  Each loop repeats a body, a list of parts in packed order; a part
// is a run of bytes or another loop.  The top loop is one element's, already joined with the
// repetition of elements where that is possible.  Programs are immutable, position independent and
// shared by any number of cursors and threads.
//
// Memory is proportional to the description: a vector of a million blocks is one loop; an indexed
// type keeps one list of offsets, with the prefix sums of its lengths unless they are all equal, in
// 32 bits where they fit.
#ifndef DATATYPE_PATH_PROGRAM_BLOCK_PROGRAM_H_
#define DATATYPE_PATH_PROGRAM_BLOCK_PROGRAM_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "datatype_path/describe/type_desc.h"
#include "datatype_path/kernels/kernels.h"
#include "datatype_path/program/shape.h"
#include "madlike/base/status.h"

namespace mad {

/// One loop of a program.  The arrays belong to the program.
struct LoopNode {
  static constexpr std::uint32_t kRun = UINT32_MAX;
  /// A body of at most so many runs and nothing else is copied by steps over many trips at a time;
  /// a longer one trip by trip, from its lists, which are kept in 32 bits where they fit.
  static constexpr std::uint64_t kShortBody = 16;

  std::uint64_t count = 1;       // trips
  std::int64_t stride = 0;       // bytes from trip to trip
  std::uint64_t body_bytes = 0;  // packed bytes of one trip
  std::uint64_t parts = 0;
  std::uint64_t uniform = 0;  // packed bytes of every part, if they are all equal; else 0
  std::uint64_t min_run = 0;  // bytes; of a leaf's parts
  std::uint64_t max_run = 0;
  // [parts] One of the two is there.
  const std::int64_t* offsets = nullptr;
  const std::int32_t* narrow_offsets = nullptr;
  // [parts] Packed bytes up to the end of each; one of the two is there, none if uniform.
  const std::uint64_t* ends = nullptr;
  const std::uint32_t* narrow_ends = nullptr;
  const std::uint32_t* children = nullptr;  // [parts] loops, or kRun; null for a leaf: all runs
  std::uint32_t height = 1;                 // longest chain of loops from here down

  // How a leaf is copied: a short body's steps; kernels for a list, if its runs are alike.
  const TripsStep* steps = nullptr;
  std::uint32_t step_count = 0;
  std::uint32_t trips_at_once = 0;  // when there are several steps
  // For one trip of a body whose runs are alike and equally far apart: the step that copies one of
  // them, to be made `parts` times.
  const TripsStep* row = nullptr;
  std::int64_t row_stride = 0;
  std::array<ListKernel, 2> list{};  // by Direction; of runs that are alike, or of pieces
  // For a list of short runs of different lengths, one of these: the places of the equal pieces
  // that they are cut into, or, if it is long, their order by length.
  const std::int32_t* pieces = nullptr;
  std::uint64_t piece_count = 0;
  std::uint32_t piece_bytes = 0;
  const RunChunk* chunks = nullptr;
  std::array<ChunkKernel, 2> chunk_kernels{};
  // For a loop over nothing but a leaf with a long stride, when the next trip begins in the lines
  // of the last (a matrix by columns): how many trips of both are copied at a time; no rows where
  // the leaf's body is one run, which is copied as between two layouts (cursor/grid_loops.h).
  std::uint32_t tile_trips = 0;
  std::array<std::uint32_t, 2> tile_rows{};  // by Direction

  bool leaf() const { return children == nullptr; }
  std::int64_t offset(std::uint64_t i) const {
    return narrow_offsets == nullptr ? offsets[i] : narrow_offsets[i];
  }
  /// Packed bytes of one trip up to the end of a part.
  std::uint64_t part_end(std::uint64_t i) const {
    if (narrow_ends != nullptr) return narrow_ends[i];
    return ends != nullptr ? ends[i] : (i + 1) * uniform;
  }
  std::uint64_t part_start(std::uint64_t i) const { return i == 0 ? 0 : part_end(i - 1); }
  std::uint64_t part_bytes(std::uint64_t i) const {
    return uniform != 0 ? uniform : part_end(i) - part_start(i);
  }
  std::uint32_t child(std::uint64_t i) const { return leaf() ? kRun : children[i]; }
  /// The part that holds packed byte `offset` (< body_bytes) of one trip.
  std::uint64_t find_part(std::uint64_t offset) const;
};

class BlockProgram {
 public:
  static Result<std::shared_ptr<const BlockProgram>> compile(
      const TypeDesc& type, const KernelTable& kernels = best_kernels());

  /// What a program consists of, for rooms that bring one from elsewhere.  The nodes' arrays are
  /// parts of the lists.
  struct Tables {
    std::vector<LoopNode> nodes;  // the top first; none: a type of no bytes
    std::vector<std::int64_t> offsets;
    std::vector<std::uint64_t> ends;
    std::vector<std::uint32_t> children;
    Shape shape;
    std::int64_t lb = 0;
    std::int64_t true_lb = 0;
    std::int64_t true_extent = 0;
  };
  /// Trusts the tables: all that LoopNode, Shape and this class say of them must have been checked.
  static std::shared_ptr<const BlockProgram> from_tables(
      Tables&& tables, const KernelTable& kernels = best_kernels());

  BlockProgram(const BlockProgram&) = delete;
  BlockProgram& operator=(const BlockProgram&) = delete;

  std::uint64_t size() const { return shape_.bytes; }  // packed bytes of one element
  std::int64_t extent() const { return shape_.extent; }
  std::int64_t lb() const { return lb_; }
  std::int64_t true_lb() const { return true_lb_; }
  std::int64_t true_extent() const { return true_extent_; }
  /// Loops above one another, the element's included; 0 for an empty type.
  std::uint32_t depth() const { return size() == 0 ? 0 : top().height; }
  /// Any count of elements is one run.
  bool contiguous() const { return shape_.contiguous; }

  const Shape& shape() const { return shape_; }

  /// Whether a very long stretch of packed bytes is better written past the caches.
  bool streams_out() const { return streams_out_; }

  /// For a person to read: the bounds, the memory it takes, the loops and how each is copied.  Long
  /// lists and many loops are cut.
  std::string to_string() const;

  /// The instruction set of its kernels.
  const char* kernels() const { return kernels_->name; }
  const KernelTable& kernel_table() const { return *kernels_; }

  /// Bytes of memory the program holds.
  std::size_t memory_bytes() const;

  /// Whether both have the same loops (the bounds may differ).
  bool same_loops(const BlockProgram& other) const;

  /// The element's loop: n elements are n * top().count trips.  Not to be used when size() is 0.
  const LoopNode& top() const { return nodes_.front(); }
  const LoopNode& node(std::uint32_t index) const { return nodes_[index]; }
  /// The loop that one trip of the top consists of, if it is nothing else, and so on inwards; else
  /// the top.  And its place.
  const LoopNode& entry() const { return nodes_[entry_]; }
  std::int64_t entry_offset() const { return entry_offset_; }
  /// Number of loops, the element's included; 0 for an empty type.
  std::size_t loops() const { return nodes_.size(); }

 private:
  class Compiler;
  BlockProgram() = default;
  void finish(const KernelTable& kernels);
  void find_entry();
  void narrow_lists();
  void choose_kernels();
  void cut_uneven_lists();
  void choose_tiles();
  void choose_streaming();

  std::vector<LoopNode> nodes_;  // the top first
  std::vector<std::int64_t> offsets_;
  std::vector<std::int32_t> narrow_offsets_;
  std::vector<std::uint64_t> ends_;
  std::vector<std::uint32_t> narrow_ends_;
  std::vector<std::uint32_t> children_;
  std::vector<TripsStep> steps_;
  std::vector<std::int32_t> pieces_;
  std::vector<RunChunk> chunks_;
  const KernelTable* kernels_ = nullptr;
  std::uint32_t entry_ = 0;
  std::int64_t entry_offset_ = 0;
  bool streams_out_ = false;
  Shape shape_;
  std::int64_t lb_ = 0;
  std::int64_t true_lb_ = 0;
  std::int64_t true_extent_ = 0;
};

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_BLOCK_PROGRAM_H_
