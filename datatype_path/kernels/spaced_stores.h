// Stores a multiple of 512 bytes apart, as to a column of a matrix whose rows are a power of two:
// their lines share a few sets of the first-level cache.
//
// A core asks for the line of each store as soon as it knows the address, long before the store is
// made.  Where more lines are asked for than the sets hold, they throw each other out before they
// are used, and each store waits for its line once more: a column of 256 doubles took 6 ns a store
// at a pitch of 2 KiB and 8 at 4 KiB, where it takes 0.35 at other pitches.  So only few stores are
// made before those after them are begun: 1.0 and 2.5 ns.
#ifndef DATATYPE_PATH_KERNELS_SPACED_STORES_H_
#define DATATYPE_PATH_KERNELS_SPACED_STORES_H_

#include <algorithm>
#include <cstdint>

namespace mad {
namespace {  // as all that is compiled for several instruction sets

/// How many of `trips` stores, `stride` bytes apart (modulo 2^64), are made at a time.
constexpr std::uint64_t stores_at_once(std::uint64_t stride, std::uint64_t trips) {
  constexpr std::uint64_t kWayBytes = 4096, kWays = 8, kNear = 512, kFew = 8;
  const std::uint64_t spacing = stride & (0 - stride);  // the largest power of two in it
  if (spacing < kNear) return trips;
  const std::uint64_t held = kWays * (kWayBytes / std::min(spacing, kWayBytes));
  return trips > held ? kFew : trips;
}

/// Between two groups of them.  Where all lines are in one set, the stores themselves are waited
/// for; else it is enough that those after them are not looked at yet.
inline void part_stores(std::uint64_t stride) {
#if defined(__x86_64__)
  if (stride % 4096 == 0) {
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
[[gnu::always_inline]] inline void in_groups(std::uint64_t stride, std::uint64_t trips,
                                             const Copy& copy) {
  const std::uint64_t most = stores_at_once(stride, trips);
  while (true) {
    const std::uint64_t n = std::min(trips, most);
    copy(n);
    trips -= n;
    if (trips == 0) return;
    part_stores(stride);
  }
}

}  // namespace
}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_SPACED_STORES_H_
