// Shape: what a layout looks like in numbers, for those who plan how to move it.
//
// Runs are counted as the program has them: touching runs are one wherever the compiler saw it.
#ifndef DATATYPE_PATH_PROGRAM_SHAPE_H_
#define DATATYPE_PATH_PROGRAM_SHAPE_H_

#include <array>
#include <cstdint>

namespace mad {

/// Of one element.
struct Shape {
  std::uint64_t bytes = 0;                    // packed
  std::uint64_t runs = 0;                     // contiguous runs
  std::uint64_t min_run = 0;                  // bytes
  std::uint64_t max_run = 0;                  // bytes
  std::array<std::uint64_t, 64> histogram{};  // [k]: runs of 2^k .. 2^(k+1) - 1 bytes
  std::int64_t extent = 0;
  bool contiguous = true;  // any count of elements is one run

  /// Whether so many elements are.
  bool is_one_run(std::uint64_t count) const {
    return contiguous || count == 0 || (count == 1 && runs <= 1);
  }
  std::uint64_t mean_run() const { return runs == 0 ? 0 : bytes / runs; }
};

}  // namespace mad

#endif  // DATATYPE_PATH_PROGRAM_SHAPE_H_
