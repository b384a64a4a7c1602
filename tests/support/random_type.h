// Seeded random datatypes with everything that MPI allows: every constructor, nesting, zero
// lengths, negative strides and bounds, extents smaller and larger than the span, overlaps (unless
// told not to).
#ifndef TESTS_SUPPORT_RANDOM_TYPE_H_
#define TESTS_SUPPORT_RANDOM_TYPE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "datatype_path/describe/type_desc.h"

namespace mad::test {

/// MAD_SEED from the environment, else `otherwise`.  Prints the seed.
std::uint64_t seed_from_environment(std::uint64_t otherwise);

struct RandomTypeOptions {
  int max_depth = 6;
  std::uint64_t max_bytes = 2048;   // packed bytes of one element
  std::int64_t max_span = 1 << 16;  // |lb|, |extent| and the true ones of one element
  bool overlaps = true;             // false: three elements in a row have no byte twice
  bool typed = false;               // leaves are mostly basic elements of all kinds
};

struct RandomType {
  TypeDescPtr type;
  std::string text;  // how it was made, for people
};

class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : random_(seed) {}

  RandomType next(const RandomTypeOptions& options = {});

  /// In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high);

 private:
  RandomType make(int depth, const RandomTypeOptions& options);
  RandomType construct(int depth, const RandomTypeOptions& options);
  RandomType leaf(const RandomTypeOptions& options);
  RandomType basic();
  RandomType indexed(const RandomType& child);
  RandomType indexed_block(const RandomType& child);
  RandomType structure(int depth, const RandomTypeOptions& options);
  RandomType long_list(const RandomType& child);
  RandomType by_columns(const RandomType& child);
  RandomType array(const RandomType& child);
  RandomType distributed(const RandomType& child);
  std::uint64_t small(std::int64_t high);
  std::int64_t displacement(const TypeDesc& child);

  std::mt19937_64 random_;
};

}  // namespace mad::test

#endif  // TESTS_SUPPORT_RANDOM_TYPE_H_
