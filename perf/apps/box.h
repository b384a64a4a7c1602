// Box: a rank's part of a periodic grid, with one layer of its neighbours' cells around it.
#ifndef PERF_APPS_BOX_H_
#define PERF_APPS_BOX_H_

#include <array>
#include <cstdint>
#include <vector>

#include "perf/apps/application.h"

namespace apps {

using Triple = std::array<int, 3>;  // x, y, z; x lies together

/// The ranks' grid of so many dimensions: as MPI_Dims_create() has it for up to 4.
Triple dims_of(int ranks, int dimensions);

struct Box {
  int dimensions;  // 2 or 3; of 2 the third has one cell and no layer
  Triple ranks;    // along each dimension
  Triple place;    // of this rank among them
  Triple cells;    // of this rank
  Element element;

  int layer(int dimension) const { return dimension < dimensions ? 1 : 0; }
  std::int64_t pitch() const { return cells[0] + 2; }  // cells of a row
  std::int64_t plane() const { return pitch() * (cells[1] + 2); }
  std::int64_t bytes() const { return plane() * (cells[2] + 2 * layer(2)) * size_of(element); }
  /// Of the first inner cell of a row, in cells.
  std::int64_t row(int y, int z) const { return (z + layer(2)) * plane() + (y + 1) * pitch() + 1; }
  /// Of this rank's first cell in the whole grid.
  int first(int dimension) const {
    const auto d = static_cast<std::size_t>(dimension);
    return place[d] * cells[d];
  }
  int rank_at(const Triple& direction) const;
};

/// A rank's part of a grid of `ranks` ranks.
Box box_of(int dimensions, int ranks, int rank, const Triple& cells, Element element);
/// The grid as one part.
Box whole_of(const Box& box);

/// The messages to the neighbours in these directions (-1, 0 and 1 along each dimension).
std::vector<Route> halo(const Box& box, const std::vector<Triple>& directions);

}  // namespace apps

#endif  // PERF_APPS_BOX_H_
