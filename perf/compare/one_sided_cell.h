// OneSidedCell: what one operation of a cell of one-sided communication moves, and what it leaves.
//
// A cell's name is OPERATION, OPERATION-fence, or with holes OPERATION:LAYOUT:SIDE:
//
//   put, get, accumulate       `bytes` of doubles; accumulate adds them
//   fetch_and_op, compare_and_swap   a counter of 8 bytes
//   put-fence                  ended by a fence and not by a flush
//   columns-fence              each put a column of 16 bytes a row of a matrix of 64 columns, at
//                              both sides; ended by a fence
//   put:rows-64:target         with holes: rows-64, index-gap or column16, at the origin, the
//                              target, or both; the other side is contiguous
//
// Operations in flight have places of their own as long as these take no more than kSlotsBytes;
// beyond, places are used again, with the same bytes.  All memory is doubles that are small whole
// numbers, so that sums are exact in any order.  Nothing here knows MPI.
#ifndef PERF_COMPARE_ONE_SIDED_CELL_H_
#define PERF_COMPARE_ONE_SIDED_CELL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "perf/micro/expansion.h"
#include "perf/micro/layouts.h"

namespace compare {

enum class Operation : std::uint8_t { kPut, kGet, kAccumulate, kFetchAndOp, kCompareAndSwap };

/// One side's layout of doubles, once for each slot, `step` bytes apart.
struct Side {
  micro::Layout layout;
  micro::Expansion expansion;
  std::int64_t step = 0;
  int slots = 1;

  /// Doubles that all slots take, the holes among them.
  std::int64_t doubles() const;
};

class OneSidedCell {
 public:
  static constexpr std::int64_t kSlotsBytes = 8 << 20;

  /// `window`: operations in flight.  Throws std::runtime_error if there is no such cell.
  OneSidedCell(const std::string& name, std::int64_t bytes, int window);

  Operation operation() const { return operation_; }
  bool fence() const { return fence_; }
  bool counts() const { return operation_ >= Operation::kFetchAndOp; }  // moves no layout
  int slots() const { return origin_.slots; }
  const Side& origin() const { return origin_; }
  const Side& target() const { return target_; }

  /// What `memory` of the side that is written holds in the end: it began as `memory`, the other
  /// side holds `source`, and `windows` were played.
  std::vector<double> result(std::vector<double> memory, const std::vector<double>& source,
                             int windows) const;

 private:
  Operation operation_ = Operation::kPut;
  bool fence_ = false;
  int window_;
  Side origin_;
  Side target_;
};

/// Whole numbers below 2^20 that differ from place to place and from seed to seed.
std::vector<double> numbers(std::int64_t count, std::uint64_t seed);

}  // namespace compare

#endif  // PERF_COMPARE_ONE_SIDED_CELL_H_
