// TypeBuilder: MPI's type constructors as an interface, so that each layout is said once.
//
// A layout's `build` function calls the constructors; who implements them decides what comes out: a
// TypeDesc of this engine, an MPI_Datatype, or the literal list of runs that results are verified
// against.  Displacements, strides and bounds are bytes; counts and lengths are children.
#ifndef PERF_MICRO_TYPE_BUILDER_H_
#define PERF_MICRO_TYPE_BUILDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace micro {

enum class Basic { kByte, kInt, kFloat, kDouble };

constexpr std::int64_t size_of(Basic basic) {
  switch (basic) {
    case Basic::kByte:
      return 1;
    case Basic::kInt:
    case Basic::kFloat:
      return 4;
    case Basic::kDouble:
      return 8;
  }
  return 0;
}

using Places = std::vector<std::int64_t>;

/// What one process holds of a matrix dealt out in blocks, in rows and columns, C order.
struct BlockCyclic {
  int rank;  // in the grid, row by row
  std::array<int, 2> grid;
  std::array<int, 2> sizes;  // of the whole matrix
  std::array<int, 2> blocks;
};

class TypeBuilder {
 public:
  using Type = std::size_t;  // a name for what was built; valid for this builder

  virtual ~TypeBuilder() = default;

  virtual Type basic(Basic basic) = 0;
  virtual Type contiguous(std::int64_t count, Type child) = 0;
  virtual Type vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                      Type child) = 0;
  virtual Type indexed(const std::vector<int>& lengths, const Places& places, Type child) = 0;
  virtual Type indexed_block(int length, const Places& places, Type child) = 0;
  virtual Type structure(const std::vector<int>& lengths, const Places& places,
                         const std::vector<Type>& children) = 0;
  virtual Type resized(std::int64_t lb, std::int64_t extent, Type child) = 0;
  virtual Type subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                        const std::vector<int>& starts, Type child) = 0;  // C order
  virtual Type darray(const BlockCyclic& share, Type child) = 0;
};

}  // namespace micro

#endif  // PERF_MICRO_TYPE_BUILDER_H_
