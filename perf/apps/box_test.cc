#include "perf/apps/box.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace apps {
namespace {

TEST(Box, RanksStandInAGrid) {
  EXPECT_EQ(dims_of(1, 2), (Triple{1, 1, 1}));
  EXPECT_EQ(dims_of(3, 3), (Triple{3, 1, 1}));
  EXPECT_EQ(dims_of(4, 2), (Triple{2, 2, 1}));
  const Box box = box_of(2, 4, 3, {8, 16, 1}, Element::kByte);
  EXPECT_EQ(box.place, (Triple{1, 1, 0}));
  EXPECT_EQ(box.first(0), 8);
  EXPECT_EQ(box.first(1), 16);
  EXPECT_EQ(box.rank_at({1, 0, 0}), 2);
  EXPECT_EQ(box.rank_at({-1, -1, 0}), 0);
  EXPECT_EQ(whole_of(box).cells, (Triple{16, 32, 1}));
}

TEST(Box, ColumnsAreElementsApartAndRowsAreOneRun) {
  const Box box = box_of(2, 1, 0, {8, 16, 1}, Element::kDouble);
  const std::vector<Route> routes = halo(box, {{1, 0, 0}, {0, -1, 0}, {1, 1, 0}});
  EXPECT_EQ(routes[0].out.elements(), 16);
  EXPECT_EQ(routes[0].out.row_stride, 10 * 8);
  EXPECT_EQ(routes[0].out.offset, box.row(0, 0) * 8 + 7 * 8);  // the last column
  EXPECT_EQ(routes[0].in.offset, box.row(0, 0) * 8 - 8);       // before the first
  EXPECT_EQ(routes[1].out.offset, box.row(0, 0) * 8);
  EXPECT_EQ(routes[1].in.offset, box.row(16, 0) * 8);
  EXPECT_TRUE(routes[1].out.one_run());
  EXPECT_EQ(routes[2].out.elements(), 1);
  EXPECT_EQ(routes[2].in.offset, 0);
}

TEST(Box, FacesOfThreeDimensionsAreRowsOfColumns) {
  const Box box = box_of(3, 1, 0, {2, 4, 6}, Element::kDouble);
  for (const Route& route : halo(box, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})) {
    EXPECT_EQ(route.out.elements(), route.in.elements());
    EXPECT_LT(std::max(route.out.offset, route.in.offset), box.bytes());
  }
  const Route side = halo(box, {{-1, 0, 0}})[0];
  EXPECT_EQ(side.out.elements(), 4 * 6);
  EXPECT_EQ(side.out.row_stride, box.plane() * 8);
  EXPECT_EQ(side.out.column_stride, box.pitch() * 8);
}

}  // namespace
}  // namespace apps
