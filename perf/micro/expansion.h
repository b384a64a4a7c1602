// Expansion: where every packed byte of a layout lies, straight from MPI's definitions.
//
// The oracle of the benchmarks: it knows nothing of the engine, of MPI's libraries or of the
// hand-written loops, and all of them must agree with it before they are timed.
#ifndef PERF_MICRO_EXPANSION_H_
#define PERF_MICRO_EXPANSION_H_

#include <cstdint>
#include <vector>

#include "perf/micro/type_builder.h"

namespace micro {

/// Bytes that follow one another in memory and in the packed stream.
struct Run {
  std::int64_t place;  // from the buffer's start
  std::int64_t bytes;
};

/// `count` elements of one type.
struct Expansion {
  std::vector<Run> runs;  // of element 0, in packed order
  std::int64_t extent = 0;
  std::int64_t count = 0;

  std::int64_t bytes() const;  // packed, of all elements
  std::int64_t low() const;    // place of the lowest byte
  std::int64_t high() const;   // one past the highest

  /// Calls f(place) (of the buffer), f's second argument the place in the packed stream, third the
  /// bytes.
  template <typename Function>
  void for_each_run(Function f) const {
    std::int64_t packed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      for (const Run& run : runs) {
        f(i * extent + run.place, packed, run.bytes);
        packed += run.bytes;
      }
    }
  }
};

class Expander final : public TypeBuilder {
 public:
  Expansion expansion(Type type, std::int64_t count) const;

  Type basic(Basic basic) override;
  Type contiguous(std::int64_t count, Type child) override;
  Type vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
              Type child) override;
  Type indexed(const std::vector<int>& lengths, const Places& places, Type child) override;
  Type indexed_block(int length, const Places& places, Type child) override;
  Type structure(const std::vector<int>& lengths, const Places& places,
                 const std::vector<Type>& children) override;
  Type resized(std::int64_t lb, std::int64_t extent, Type child) override;
  Type subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                const std::vector<int>& starts, Type child) override;
  Type darray(const BlockCyclic& share, Type child) override;

 private:
  struct Known {
    std::vector<Run> runs;
    std::int64_t lb = 0;
    std::int64_t ub = 0;
    std::int64_t extent() const { return ub - lb; }
    void add(const Known& child, std::int64_t place);
  };
  Type keep(Known known);

  std::vector<Known> known_;
};

}  // namespace micro

#endif  // PERF_MICRO_EXPANSION_H_
