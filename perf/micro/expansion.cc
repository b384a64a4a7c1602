#include "perf/micro/expansion.h"

#include <algorithm>
#include <utility>

namespace micro {

std::int64_t Expansion::bytes() const {
  std::int64_t sum = 0;
  for (const Run& run : runs) sum += run.bytes;
  return sum * count;
}

std::int64_t Expansion::low() const {
  std::int64_t low = INT64_MAX;
  for (const Run& run : runs) low = std::min(low, run.place);
  return low + std::min<std::int64_t>(0, (count - 1) * extent);
}

std::int64_t Expansion::high() const {
  std::int64_t high = INT64_MIN;
  for (const Run& run : runs) high = std::max(high, run.place + run.bytes);
  return high + std::max<std::int64_t>(0, (count - 1) * extent);
}

void Expander::Known::add(const Known& child, std::int64_t place) {
  lb = runs.empty() ? place + child.lb : std::min(lb, place + child.lb);
  ub = runs.empty() ? place + child.ub : std::max(ub, place + child.ub);
  for (const Run& run : child.runs) {
    const std::int64_t at = place + run.place;
    if (!runs.empty() && runs.back().place + runs.back().bytes == at) {
      runs.back().bytes += run.bytes;
    } else {
      runs.push_back({at, run.bytes});
    }
  }
}

Expander::Type Expander::keep(Known known) {
  known_.push_back(std::move(known));
  return known_.size() - 1;
}

Expansion Expander::expansion(Type type, std::int64_t count) const {
  return {known_[type].runs, known_[type].extent(), count};
}

Expander::Type Expander::basic(Basic basic) {
  Known known;
  known.runs = {{0, size_of(basic)}};
  known.ub = size_of(basic);
  return keep(std::move(known));
}

Expander::Type Expander::contiguous(std::int64_t count, Type child) {
  return vector(count, 1, known_[child].extent(), child);
}

Expander::Type Expander::vector(std::int64_t count, std::int64_t blocklength, std::int64_t stride,
                                Type child) {
  Known known;
  const std::int64_t extent = known_[child].extent();
  for (std::int64_t i = 0; i < count; ++i) {
    for (std::int64_t j = 0; j < blocklength; ++j) {
      known.add(known_[child], i * stride + j * extent);
    }
  }
  return keep(std::move(known));
}

Expander::Type Expander::indexed(const std::vector<int>& lengths, const Places& places,
                                 Type child) {
  return structure(lengths, places, std::vector<Type>(lengths.size(), child));
}

Expander::Type Expander::indexed_block(int length, const Places& places, Type child) {
  return indexed(std::vector<int>(places.size(), length), places, child);
}

Expander::Type Expander::structure(const std::vector<int>& lengths, const Places& places,
                                   const std::vector<Type>& children) {
  Known known;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const Known& child = known_[children[i]];
    for (int j = 0; j < lengths[i]; ++j) known.add(child, places[i] + j * child.extent());
  }
  return keep(std::move(known));
}

Expander::Type Expander::resized(std::int64_t lb, std::int64_t extent, Type child) {
  Known known = known_[child];
  known.lb = lb;
  known.ub = lb + extent;
  return keep(std::move(known));
}

// Every element of the array in C order is asked whether it is within.
Expander::Type Expander::subarray(const std::vector<int>& sizes, const std::vector<int>& subsizes,
                                  const std::vector<int>& starts, Type child) {
  Known known;
  const std::size_t dimensions = sizes.size();
  const std::int64_t extent = known_[child].extent();
  std::vector<int> index(starts);
  std::int64_t elements = 1;
  for (const int size : sizes) elements *= size;
  for (bool more = true; more;) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < dimensions; ++d) place = place * sizes[d] + index[d];
    known.add(known_[child], place * extent);
    more = false;
    for (std::size_t d = dimensions; d-- > 0 && !more;) {
      more = ++index[d] < starts[d] + subsizes[d];
      if (!more) index[d] = starts[d];
    }
  }
  known.lb = 0;
  known.ub = elements * extent;
  return keep(std::move(known));
}

Expander::Type Expander::darray(const BlockCyclic& share, Type child) {
  Known known;
  const std::int64_t extent = known_[child].extent();
  const std::array<int, 2> mine = {share.rank / share.grid[1], share.rank % share.grid[1]};
  for (std::int64_t row = 0; row < share.sizes[0]; ++row) {
    if (row / share.blocks[0] % share.grid[0] != mine[0]) continue;
    for (std::int64_t column = 0; column < share.sizes[1]; ++column) {
      if (column / share.blocks[1] % share.grid[1] != mine[1]) continue;
      known.add(known_[child], (row * share.sizes[1] + column) * extent);
    }
  }
  known.lb = 0;
  known.ub = std::int64_t{share.sizes[0]} * share.sizes[1] * extent;
  return keep(std::move(known));
}

}  // namespace micro
