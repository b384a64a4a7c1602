// What the order of copies is chosen by: the length of a cache line, and how many lines of a stride
// a first-level cache holds.
#ifndef DATATYPE_PATH_KERNELS_CACHE_LINES_H_
#define DATATYPE_PATH_KERNELS_CACHE_LINES_H_

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace mad {

constexpr std::uint64_t kLineBytes = 64;

constexpr std::uint64_t magnitude(std::int64_t stride) {
  const auto bits = static_cast<std::uint64_t>(stride);
  return stride < 0 ? 0 - bits : bits;
}

/// Lines `stride` (> 0) bytes apart that are in a first-level cache of 32 KiB, as most processors
/// have at least, at once: 8 of those that are a multiple of 4 KiB apart.
constexpr std::uint64_t lines_in_cache(std::uint64_t stride) {
  constexpr std::uint64_t kWayBytes = 4096, kWays = 8;
  return kWays * (kWayBytes / std::max(kLineBytes, std::gcd(stride, kWayBytes)));
}

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_CACHE_LINES_H_
