#include "datatype_path/describe/array_types.h"

#include <string>
#include <utility>

namespace mad {
namespace {

Status invalid(std::string why) { return Status(StatusCode::kInvalidArgument, std::move(why)); }

Status overflow() { return invalid("the array's extent exceeds 2^63 - 1 bytes"); }

// The indices of one dimension that belong to the type: `full` blocks of `block` from `start` on,
// `stride` apart, then one block of `rest`, another stride further.
struct Slice {
  std::uint64_t start = 0;
  std::uint64_t full = 0;
  std::uint64_t block = 0;
  std::uint64_t stride = 0;
  std::uint64_t rest = 0;
};

bool bytes_of(std::uint64_t children, std::int64_t extent, std::int64_t* bytes) {
  return !__builtin_mul_overflow(children, extent, bytes);
}

// Adds a dimension of `size` around `inner`.
Result<TypeDescPtr> add_dimension(std::uint64_t size, const Slice& slice,
                                  const TypeDescPtr& inner) {
  const std::int64_t extent = inner->extent();
  std::int64_t whole = 0, start = 0, stride = 0, rest = 0;
  if (!bytes_of(size, extent, &whole) || !bytes_of(slice.start, extent, &start) ||
      !bytes_of(slice.stride, extent, &stride) ||
      !bytes_of(slice.start + slice.full * slice.stride, extent, &rest)) {
    return overflow();
  }
  Result<TypeDescPtr> blocks = TypeDesc::vector(slice.full, slice.block, stride, inner);
  if (!blocks.ok()) return blocks;
  Result<TypeDescPtr> owned = TypeDesc::structure(
      {slice.full > 0 ? 1u : 0u, slice.rest}, {start, slice.rest > 0 ? rest : 0}, {*blocks, inner});
  if (!owned.ok()) return owned;
  return TypeDesc::resized(0, whole, *owned);
}

// The i-th fastest of n dimensions.
std::size_t dimension(std::size_t i, std::size_t n, ArrayOrder order) {
  return order == ArrayOrder::kC ? n - 1 - i : i;
}

Slice distribute(const DistributedDimension& d, std::uint64_t coordinate, std::uint64_t block) {
  const std::uint64_t processes = static_cast<std::uint64_t>(d.processes);
  Slice slice;
  if (block == 0 || coordinate >= (d.size + block - 1) / block) return slice;  // nothing is ours
  slice.start = coordinate * block;
  slice.block = block;
  slice.stride = block * processes;
  const std::uint64_t left = d.size - slice.start;
  slice.full = left / slice.stride;
  const std::uint64_t tail = left % slice.stride;
  if (tail >= block) {
    ++slice.full;
  } else {
    slice.rest = tail;
  }
  return slice;
}

Result<std::uint64_t> block_size(const DistributedDimension& d, std::size_t index) {
  const std::string where = "darray: dimension " + std::to_string(index) + ": ";
  const std::uint64_t processes = static_cast<std::uint64_t>(d.processes);
  if (d.distribution == Distribution::kNone) {
    if (d.processes != 1) return invalid(where + "one that is not distributed takes 1 process");
    return d.size;
  }
  if (d.argument != kDefaultDistributionArgument && d.argument <= 0) {
    return invalid(where + "the distribution argument must be positive or the default");
  }
  const bool by_default = d.argument == kDefaultDistributionArgument;
  std::uint64_t block = static_cast<std::uint64_t>(d.argument);
  if (d.distribution == Distribution::kCyclic) {
    block = by_default ? 1 : block;
  } else {
    const std::uint64_t needed = d.size / processes + (d.size % processes != 0 ? 1 : 0);
    if (!by_default && block < needed) {
      return invalid(where + "blocks of that size on so many processes do not hold the array");
    }
    block = by_default ? needed : block;
  }
  // A block longer than the array means the whole array; the product with the processes stays
  // small.
  return block > d.size ? d.size : block;
}

}  // namespace

Result<TypeDescPtr> subarray(const std::vector<std::uint64_t>& sizes,
                             const std::vector<std::uint64_t>& subsizes,
                             const std::vector<std::uint64_t>& starts, ArrayOrder order,
                             TypeDescPtr child) {
  const std::size_t n = sizes.size();
  if (!child) return invalid("subarray: the child type is missing");
  if (n == 0 || subsizes.size() != n || starts.size() != n) {
    return invalid("subarray: sizes, subsizes and starts must have the same length, at least 1");
  }
  TypeDescPtr type = std::move(child);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = dimension(i, n, order);
    if (subsizes[d] > sizes[d] || starts[d] > sizes[d] - subsizes[d]) {
      return invalid("subarray: dimension " + std::to_string(d) + " leaves the array");
    }
    Slice slice;
    slice.start = starts[d];
    slice.full = subsizes[d] > 0 ? 1 : 0;
    slice.block = subsizes[d];
    Result<TypeDescPtr> next = add_dimension(sizes[d], slice, type);
    if (!next.ok()) return next;
    type = *next;
  }
  return type;
}

Result<TypeDescPtr> darray(int processes, int rank,
                           const std::vector<DistributedDimension>& dimensions, ArrayOrder order,
                           TypeDescPtr child) {
  const std::size_t n = dimensions.size();
  if (!child) return invalid("darray: the child type is missing");
  if (n == 0) return invalid("darray: at least one dimension is needed");
  if (rank < 0 || rank >= processes) return invalid("darray: the rank is not in the process grid");
  std::int64_t grid = 1;
  for (const DistributedDimension& d : dimensions) {
    if (d.processes < 1 || __builtin_mul_overflow(grid, d.processes, &grid) || grid > processes) {
      return invalid("darray: the process grid must have as many places as there are processes");
    }
    // Leaves room for the products with the processes.
    if (d.size > static_cast<std::uint64_t>(INT64_MAX) / (2 * std::uint64_t(d.processes))) {
      return overflow();
    }
  }
  if (grid != processes) {
    return invalid("darray: the process grid must have as many places as there are processes");
  }
  std::vector<std::uint64_t> coordinates(n);
  std::int64_t left = rank;
  for (std::size_t d = n; d-- > 0;) {  // row-major: the last dimension is the fastest
    coordinates[d] = static_cast<std::uint64_t>(left % dimensions[d].processes);
    left /= dimensions[d].processes;
  }
  TypeDescPtr type = std::move(child);
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = dimension(i, n, order);
    Result<std::uint64_t> block = block_size(dimensions[d], d);
    if (!block.ok()) return block.status();
    const Slice slice = distribute(dimensions[d], coordinates[d], *block);
    Result<TypeDescPtr> next = add_dimension(dimensions[d].size, slice, type);
    if (!next.ok()) return next;
    type = *next;
  }
  return type;
}

}  // namespace mad
