// Subarray and darray, said with TypeDesc's own constructors.
//
// Semantics are MPI 4.0's (5.1.3 and 5.1.4): the result's lb is 0 and its extent is the full
// array's, and in Fortran order the first dimension is the fastest, in C order the last.
#ifndef DATATYPE_PATH_DESCRIBE_ARRAY_TYPES_H_
#define DATATYPE_PATH_DESCRIBE_ARRAY_TYPES_H_

#include <cstdint>
#include <vector>

#include "datatype_path/describe/type_desc.h"

namespace mad {

enum class ArrayOrder { kC, kFortran };

/// Distribution of one dimension over a dimension of the process grid.
enum class Distribution { kNone, kBlock, kCyclic };
constexpr std::int64_t kDefaultDistributionArgument = -1;

/// The part [starts, starts + subsizes) of an array of `sizes` children.
Result<TypeDescPtr> subarray(const std::vector<std::uint64_t>& sizes,
                             const std::vector<std::uint64_t>& subsizes,
                             const std::vector<std::uint64_t>& starts, ArrayOrder order,
                             TypeDescPtr child);

/// One dimension of a distributed array.
struct DistributedDimension {
  std::uint64_t size = 0;  // of the global array
  Distribution distribution = Distribution::kNone;
  std::int64_t argument = kDefaultDistributionArgument;  // block size
  int processes = 1;                                     // of the process grid
};

/// What process `rank` of `processes` holds of a global array; the process grid is in row-major
/// order.
Result<TypeDescPtr> darray(int processes, int rank,
                           const std::vector<DistributedDimension>& dimensions, ArrayOrder order,
                           TypeDescPtr child);

}  // namespace mad

#endif  // DATATYPE_PATH_DESCRIBE_ARRAY_TYPES_H_
