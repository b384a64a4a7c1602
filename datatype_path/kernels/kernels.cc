#include "datatype_path/kernels/kernels.h"

#include <algorithm>

namespace mad {
namespace {

std::uint8_t place_of(unsigned log2) { return static_cast<std::uint8_t>(log2 + 1); }

}  // namespace

const KernelTable& best_kernels() {
  if (const KernelTable* table = avx512_kernels()) return *table;
  if (const KernelTable* table = avx2_kernels()) return *table;
  return portable_kernels();
}

TripsKernel find_trips_kernel(const KernelTable& table, Direction direction,
                              const std::uint8_t* sizes, std::size_t count) {
  const auto way = static_cast<std::size_t>(direction);
  const std::size_t base = count == 4 ? KernelTable::kSmallSizes : KernelTable::kSizes;
  if (sizes[0] >= base) return nullptr;
  std::size_t index = 0;
  for (std::size_t i = 0; i < std::max<std::size_t>(count, 3); ++i) {
    index = index * base + (i < count ? sizes[i] : 0);
  }
  return count == 4 ? table.trips_of_four[way][index] : table.trips[way][index];
}

RunMoves moves_of_run(std::uint64_t length) {
  const unsigned floor = 63 - static_cast<unsigned>(__builtin_clzll(length));
  const std::uint64_t rest = length - (std::uint64_t{1} << floor);
  if (length > 64) return {place_of(6), place_of(6), static_cast<std::uint8_t>(length - 64)};
  if (rest == 0) return {place_of(floor), 0, 0};
  // The smallest move that covers the rest; it begins in the first one if it is larger than that.
  const unsigned ceiling = rest == 1 ? 0 : 64 - static_cast<unsigned>(__builtin_clzll(rest - 1));
  return {place_of(floor), place_of(ceiling),
          static_cast<std::uint8_t>(length - (std::uint64_t{1} << ceiling))};
}

GridKernel find_grid_kernel(const KernelTable& table, std::uint64_t length) {
  const RunMoves moves = length <= kLongestShortRun ? moves_of_run(length) : RunMoves{};
  return table.grids[moves.first * KernelTable::kSizes + moves.second];
}

}  // namespace mad
