#include "perf/micro/transpose_loops.h"

#include <algorithm>

namespace micro {
namespace {

struct Complex {
  double of[2];
};
struct Vec32 {
  double of[4];
};

template <typename T>
void transpose(const Transpose& m, std::int64_t block, bool reads_rows) {
  const T* const from = static_cast<const T*>(m.from);
  T* const to = static_cast<T*>(m.to);
  for (std::int64_t c0 = 0; c0 < m.columns; c0 += block) {
    const std::int64_t c1 = std::min(c0 + block, m.columns);
    for (std::int64_t r0 = 0; r0 < m.rows; r0 += block) {
      const std::int64_t r1 = std::min(r0 + block, m.rows);
      if (reads_rows) {
        for (std::int64_t r = r0; r < r1; ++r) {
          for (std::int64_t c = c0; c < c1; ++c) {
            to[c * m.to_pitch + r] = from[r * m.from_pitch + c];
          }
        }
      } else {
        for (std::int64_t c = c0; c < c1; ++c) {
          for (std::int64_t r = r0; r < r1; ++r) {
            to[c * m.to_pitch + r] = from[r * m.from_pitch + c];
          }
        }
      }
    }
  }
}

}  // namespace

TransposeLoop transpose_loop(std::int64_t element) {
  switch (element) {
    case 4:
      return &transpose<float>;
    case 8:
      return &transpose<double>;
    case 16:
      return &transpose<Complex>;
    default:
      return &transpose<Vec32>;
  }
}

}  // namespace micro
