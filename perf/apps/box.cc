#include "perf/apps/box.h"

#include <cstddef>

namespace apps {
namespace {

/// The cells of a layer: the last inner ones in a direction, or those beyond it.
Face face_of(const Box& box, const Triple& direction, bool beyond) {
  Triple begin, extent;
  for (std::size_t d = 0; d < 3; ++d) {
    const int layer = box.layer(static_cast<int>(d)), last = box.cells[d] - 1 + layer;
    extent[d] = direction[d] == 0 ? box.cells[d] : 1;
    begin[d] = direction[d] > 0 ? last + (beyond ? 1 : 0) : layer - (beyond && direction[d] < 0);
  }
  const std::int64_t size = size_of(box.element);
  const std::array<std::int64_t, 3> strides = {size, box.pitch() * size, box.plane() * size};
  Face face;
  face.element = box.element;
  for (std::size_t d = 0; d < 3; ++d) face.offset += begin[d] * strides[d];
  // Two dimensions at most are longer than one cell.
  const std::size_t row = extent[2] > 1 ? 2 : 1, column = extent[0] > 1 ? 0 : row == 2 ? 1 : 0;
  face.rows = extent[row];
  face.row_stride = strides[row];
  face.columns = extent[column];
  face.column_stride = strides[column];
  return face;
}

Triple opposite(const Triple& direction) { return {-direction[0], -direction[1], -direction[2]}; }

}  // namespace

Triple dims_of(int ranks, int dimensions) {
  if (dimensions > 1 && ranks % 2 == 0 && ranks > 2) return {ranks / 2, 2, 1};
  return {ranks, 1, 1};
}

int Box::rank_at(const Triple& direction) const {
  Triple at;
  for (std::size_t d = 0; d < 3; ++d) at[d] = (place[d] + direction[d] + ranks[d]) % ranks[d];
  return (at[2] * ranks[1] + at[1]) * ranks[0] + at[0];
}

Box box_of(int dimensions, int ranks, int rank, const Triple& cells, Element element) {
  const Triple dims = dims_of(ranks, dimensions);
  const Triple place = {rank % dims[0], rank / dims[0] % dims[1], rank / (dims[0] * dims[1])};
  return {dimensions, dims, place, cells, element};
}

Box whole_of(const Box& box) {
  Box whole = box;
  for (std::size_t d = 0; d < 3; ++d) {
    whole.cells[d] *= box.ranks[d];
    whole.ranks[d] = 1;
    whole.place[d] = 0;
  }
  return whole;
}

std::vector<Route> halo(const Box& box, const std::vector<Triple>& directions) {
  std::vector<Route> routes;
  for (const Triple& direction : directions) {
    const Face in = face_of(box, opposite(direction), true);
    routes.push_back({box.rank_at(direction), box.rank_at(opposite(direction)),
                      face_of(box, direction, false), in, in});
  }
  return routes;
}

}  // namespace apps
