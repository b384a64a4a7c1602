// Runs that are stored a multiple of a power of two apart, as to a column of a matrix: their lines
// share a few sets of the first-level cache.
//
// A core asks for the line of each store as soon as it knows the address, long before the store is
// made.  Where more lines are asked for than the sets hold, they throw each other out before they
// are used, and each store waits for its line once more: of a column of doubles 6 ns a store at a
// pitch of 2 KiB and 8 at 4 KiB, where it takes 0.35 at other pitches.  So only few stores are
// made before those after them are begun: 1.7 and 2.5 ns
// (docs/adr/0080-columns-of-powers-of-two.md).
#ifndef DATATYPE_PATH_KERNELS_SPACED_STORES_H_
#define DATATYPE_PATH_KERNELS_SPACED_STORES_H_

#include <cstdint>

namespace mad {
namespace {  // as all that is compiled for several instruction sets

/// How many of `trips` runs of `length` bytes, `stride` bytes apart (modulo 2^64), are stored at a
/// time.
constexpr std::uint64_t stores_at_once(std::uint64_t stride, std::uint64_t length,
                                       std::uint64_t trips) {
  constexpr std::uint64_t kWayBytes = 4096, kWays = 16, kFew = 8;
  constexpr std::uint64_t kShort = 16, kShortsApart = 512, kShorts = 512, kApart = 1024;
  constexpr std::uint64_t kLine = 64, kManyLong = 1024;
  if (trips <= kWays) return trips;
  std::uint64_t spacing = stride & (0 - stride);  // the largest power of two in it
  if (length <= kShort && spacing == kShortsApart) return trips > kShorts ? kFew : trips;
  if (spacing > kWayBytes) spacing = kWayBytes;  // the sets are the same again
  // Of long runs each has lines enough to store to, and many of them come from memory.
  if (spacing < kApart || spacing < kShort * length) return trips;
  if (length > kLine && trips > kManyLong) return trips;
  return trips > kWays * (kWayBytes / spacing) ? kFew : trips;
}

/// Between two groups of them.  Where they share few sets the stores themselves are waited for;
/// else it is enough that those after them are not looked at yet.
inline void part_stores(std::uint64_t stride) {
#if defined(__x86_64__)
  constexpr std::uint64_t kFewSets = 2048;
  if (stride % kFewSets == 0) {
    __asm__ volatile("lock; orl $0, (%%rsp)" ::: "memory", "cc");
  } else {
    __asm__ volatile("lfence" ::: "memory");
  }
#else
  (void)stride;
#endif
}

/// Calls `copy(n)` for groups of `trips` in all.
template <typename Copy>
[[gnu::always_inline]] inline void in_groups(std::uint64_t stride, std::uint64_t length,
                                             std::uint64_t trips, const Copy& copy) {
  const std::uint64_t most = stores_at_once(stride, length, trips);
  while (true) {
    const std::uint64_t n = trips < most ? trips : most;
    copy(n);
    trips -= n;
    if (trips == 0) return;
    part_stores(stride);
  }
}

}  // namespace
}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_SPACED_STORES_H_
