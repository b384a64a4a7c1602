// The loops that a program would write to transpose a matrix: in blocks, of an element's C type.
//
// As hand_loops.h: -O3 -march=native, in a translation unit of their own, called through pointers.
#ifndef PERF_MICRO_TRANSPOSE_LOOPS_H_
#define PERF_MICRO_TRANSPOSE_LOOPS_H_

#include <cstdint>

namespace micro {

/// Element (r, c) of `from`, whose rows are `from_pitch` elements apart, becomes element (c, r) of
/// `to`.
struct Transpose {
  const void* from;
  std::int64_t from_pitch;
  void* to;
  std::int64_t to_pitch;
  std::int64_t rows;  // of `from`
  std::int64_t columns;
};

/// In blocks of `block` by `block` elements; `reads_rows`: each block row by row of `from`, else
/// row by row of `to`.
using TransposeLoop = void (*)(const Transpose& matrix, std::int64_t block, bool reads_rows);

/// For elements of 4, 8, 16 or 32 bytes.
TransposeLoop transpose_loop(std::int64_t element);

}  // namespace micro

#endif  // PERF_MICRO_TRANSPOSE_LOOPS_H_
