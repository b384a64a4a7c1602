// TypedCursor: a place in the sequence of basic elements of (count, typed program).
//
// It seeks to any element in O(depth) plus a binary search in irregular lists, and lists from there
// the runs of elements of one kind, in packed order.  Places are byte offsets from the buffer's
// start, the caller adds its address.  Memory is one frame for each of the program's levels, taken
// when the cursor is made; no recursion.
#ifndef DATATYPE_PATH_TYPED_TYPED_CURSOR_H_
#define DATATYPE_PATH_TYPED_TYPED_CURSOR_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "datatype_path/typed/typed_program.h"

namespace mad {

class TypedCursor {
 public:
  /// At element 0.  `program` must outlive the cursor; count * elements must fit 63 bits.
  TypedCursor(const TypedProgram& program, std::uint64_t count);

  std::uint64_t total() const { return total_; }        // elements
  std::uint64_t position() const { return position_; }  // elements before the cursor

  /// Goes to element `element` (<= total()).
  void seek(std::uint64_t element);
  /// From the cursor to the end of its run; of no elements at the end.
  const TypedRun& run() const { return run_; }
  /// Advances by `elements` (<= run().count).
  void advance(std::uint64_t elements);

 private:
  struct Frame {
    const TypedNode* node;
    std::uint64_t offset;  // of the node; wraps around as addresses do
    std::uint64_t block;
    std::uint64_t repetition;
  };

  void enter(std::uint32_t index, std::uint64_t offset, std::uint64_t element);
  bool enter_block_run(std::uint64_t element);
  void set_run(const TypedRun& run, std::uint64_t offset);
  std::uint64_t block_offset(const Frame& frame) const;
  std::uint64_t child_offset(const Frame& frame) const;
  static bool step(Frame& frame);
  void next_run();

  const TypedProgram* program_;
  std::uint64_t total_;
  std::uint64_t position_ = 0;
  std::uint64_t instance_ = 0;     // which element of the type
  std::optional<TypedRun> whole_;  // everything, if it is one run
  TypedRun run_;
  std::vector<Frame> frames_;  // outermost first
};

}  // namespace mad

#endif  // DATATYPE_PATH_TYPED_TYPED_CURSOR_H_
