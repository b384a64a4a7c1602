// Layouts cut out of arrays: faces in each orientation, distributed arrays, HPL's panels, the
// halos of a weather code and of lattice QCD.
#include <algorithm>
#include <array>
#include <utility>

#include "perf/micro/layouts.h"

namespace micro {
namespace {

using Type = TypeBuilder::Type;
using Ints = std::vector<int>;

constexpr std::int64_t kDouble = sizeof(double);

// The factors of the greatest power of two that `n` holds, as equal as can be, greatest first.
template <std::size_t kFactors>
std::array<int, kFactors> split(std::int64_t n) {
  std::array<int, kFactors> factors;
  factors.fill(1);
  for (std::size_t i = 0; n > 1; n /= 2) factors[i++ % kFactors] *= 2;
  return factors;
}

// Strides in elements, the last dimension's (1) too, and the place of `starts`.
LoopArguments walk(const Ints& sizes, const Ints& subsizes, const Ints& starts) {
  LoopArguments a;
  std::int64_t stride = 1;
  for (std::size_t d = sizes.size(); d-- > 0; stride *= sizes[d]) {
    a.counts[d] = subsizes[d];
    a.strides[d] = stride;
    a.first += starts[d] * stride;
  }
  return a;
}

Layout face(const Ints& sizes, const Ints& subsizes, const Loop& loop) {
  const Ints starts(sizes.size(), 1);
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.subarray(sizes, subsizes, starts, t.basic(Basic::kDouble));
  };
  layout.loop = loop;
  layout.arguments = walk(sizes, subsizes, starts);
  return layout;
}

// Faces two cells deep of arrays with a border of one cell; an array is 8 cells deep where the face
// cuts it, so that memory stays within reason.
Layout face2d(std::int64_t payload, int depth_dimension) {
  Ints sizes(2), subsizes(2);
  subsizes[depth_dimension] = 2;
  sizes[depth_dimension] = 8;
  subsizes[1 - depth_dimension] = static_cast<int>(payload / (2 * kDouble));
  sizes[1 - depth_dimension] = subsizes[1 - depth_dimension] + 2;
  return face(sizes, subsizes, kRows1Double);
}

Layout face3d(std::int64_t payload, int depth_dimension) {
  const auto sides = split<2>(payload / (2 * kDouble));
  Ints sizes, subsizes;
  for (int d = 0, side = 0; d < 3; ++d) {
    subsizes.push_back(d == depth_dimension ? 2 : sides[side++]);
    sizes.push_back(d == depth_dimension ? 8 : subsizes.back() + 2);
  }
  return face(sizes, subsizes, kRows2Double);
}

// A matrix in blocks of 4 x 4 doubles over 2 x 2 processes; the second one's share.
Layout block_cyclic(std::int64_t payload) {
  constexpr int kBlock = 4;
  const auto mine = split<2>(payload / kDouble);
  const int rows = mine[1], columns = mine[0];
  const BlockCyclic share = {1, {2, 2}, {2 * rows, 2 * columns}, {kBlock, kBlock}};
  Layout layout;
  layout.build = [share](TypeBuilder& t) { return t.darray(share, t.basic(Basic::kDouble)); };
  layout.loop = kRows3Double;
  const std::int64_t line = 2 * columns;
  layout.arguments.first = kBlock;
  const std::int64_t counts[] = {rows / kBlock, kBlock, columns / kBlock, kBlock};
  const std::int64_t strides[] = {2 * kBlock * line, line, 2 * kBlock};
  std::copy(std::begin(counts), std::end(counts), layout.arguments.counts);
  std::copy(std::begin(strides), std::end(strides), layout.arguments.strides);
  return layout;
}

// WRF: the same halo of four 3D fields in one type, 3 floats deep where memory is dense.
Layout weather(std::int64_t payload) {
  constexpr int kArrays = 4, kDeep = 3, kLine = 16;
  const std::int64_t lines = payload / (kArrays * kDeep * 4);
  const int levels = static_cast<int>(std::clamp<std::int64_t>(lines / 4, 1, 32));
  const int rows = static_cast<int>(lines / levels);
  const Ints sizes = {rows + 6, levels + 1, kLine}, subsizes = {rows, levels, kDeep};
  const Ints starts = {3, 0, kDeep};
  auto lists = std::make_shared<Lists>();
  Places places;
  for (int f = 0; f < kArrays; ++f) {
    lists->places.push_back(f * (sizes[0] * sizes[1] * sizes[2] + 16 * f));
    places.push_back(std::int64_t{lists->places.back()} * 4);
  }
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    const Type field = t.subarray(sizes, subsizes, starts, t.basic(Basic::kFloat));
    return t.structure(Ints(kArrays, 1), places, std::vector<Type>(kArrays, field));
  };
  layout.loop = kFields;
  const LoopArguments one = walk(sizes, subsizes, starts);
  layout.arguments.first = one.first;
  layout.arguments.counts[0] = kArrays;
  for (int d = 0; d < 3; ++d) {
    layout.arguments.counts[d + 1] = one.counts[d];
    layout.arguments.strides[d + 1] = one.strides[d];
  }
  layout.arguments.places = lists->places.data();
  layout.lists = std::move(lists);
  return layout;
}

// Lattice QCD: a face of a 4D lattice (t, z, y, x) of elements of `doubles` doubles.
Layout lattice(const Ints& sizes, const Ints& subsizes, int doubles, const Loop& loop) {
  const Ints starts(4, 0);
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.subarray(sizes, subsizes, starts, t.contiguous(doubles, t.basic(Basic::kDouble)));
  };
  layout.loop = loop;
  layout.arguments = walk(sizes, subsizes, starts);
  return layout;
}

Layout lattice_x(std::int64_t payload) {
  const auto n = split<3>(payload / static_cast<std::int64_t>(sizeof(Su3Vector)));
  return lattice({n[0], n[1], n[2], 4}, {n[0], n[1], n[2], 1}, 6, kGrid3Su3);
}

Layout lattice_y(std::int64_t payload) {
  constexpr int kX = 8;
  const auto n =
      split<2>(std::max<std::int64_t>(1, payload / static_cast<std::int64_t>(sizeof(Vec24)) / kX));
  Layout layout = lattice({n[0], n[1], 4, kX}, {n[0], n[1], 1, kX}, 3, kRows2Vec24);
  layout.arguments.counts[2] = kX;  // the loop leaves out y, which is one line
  return layout;
}

// HPL: a matrix by columns; `n` columns of `length` doubles of it, `leading` apart.
Layout panel(std::int64_t n, std::int64_t length, std::int64_t leading) {
  Layout layout;
  layout.build = [=](TypeBuilder& t) {
    return t.vector(n, length, leading * kDouble, t.basic(Basic::kDouble));
  };
  layout.loop = kRows1Double;
  layout.arguments.counts[0] = n;
  layout.arguments.counts[1] = length;
  layout.arguments.strides[0] = leading;
  return layout;
}

constexpr std::int64_t kPanel = 128;  // HPL's NB

Layout panel_columns(std::int64_t payload) {
  const std::int64_t all = payload / kDouble, n = std::min(kPanel, all / 8), length = all / n;
  return panel(n, length, 2 * length);
}

Layout panel_rows(std::int64_t payload) {
  const std::int64_t all = payload / kDouble, length = std::min(kPanel, all / 4);
  return panel(all / length, length, 4 * kPanel);
}

}  // namespace

std::vector<LayoutKind> array_kinds() {
  return {
      {"face2d-row", "2 rows of a 2D array", [](auto p) { return face2d(p, 0); }},
      {"face2d-column", "2 columns of a 2D array", [](auto p) { return face2d(p, 1); }},
      {"face3d-z", "2 planes of a 3D array", [](auto p) { return face3d(p, 0); }},
      {"face3d-y", "2 rows of each plane", [](auto p) { return face3d(p, 1); }},
      {"face3d-x", "2 cells of each row", [](auto p) { return face3d(p, 2); }},
      {"darray", "block-cyclic share of a matrix, 4 x 4 doubles", block_cyclic},
      {"hpl-columns", "HPL: 128 columns of a panel", panel_columns},
      {"hpl-rows", "HPL: 128 rows of all columns", panel_rows},
      {"weather", "WRF-like: halo of 4 fields, rows of 3 floats", weather},
      {"lattice-x", "lattice QCD: x face, elements of 48 bytes", lattice_x},
      {"lattice-y", "lattice QCD: y face, 8 elements of 24 bytes", lattice_y},
  };
}

}  // namespace micro
