#include "perf/apps/grids.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "perf/apps/ranks.h"

namespace apps {
namespace {

std::int64_t wrapped(std::int64_t at, std::int64_t length) { return (at + length) % length; }

TEST(Life, FollowsConwaysRule) {
  Ranks one;
  const Box box = box_of(2, 1, 0, {16, 8, 1}, Element::kByte);
  one.add(std::make_unique<Life>(box));
  const auto cell = [&](std::int64_t x, std::int64_t y) {
    const auto place = box.row(static_cast<int>(wrapped(y, 8)), 0) + wrapped(x, 16);
    return static_cast<int>(one.memories[0][static_cast<std::size_t>(place)]);
  };
  for (int step = 0; step < 4; ++step) {
    std::vector<int> should;
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 16; ++x) {
        int around = -cell(x, y);
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) around += cell(x + dx, y + dy);
        }
        should.push_back(around == 3 || (around == 2 && cell(x, y) == 1) ? 1 : 0);
      }
    }
    one.step();
    for (int i = 0; i < 16 * 8; ++i) {
      ASSERT_EQ(cell(i % 16, i / 16), should[static_cast<std::size_t>(i)]) << step << ": " << i;
    }
  }
}

TEST(Jacobi, IsTheMeanOfTheNeighbours) {
  for (const int dimensions : {2, 3}) {
    const Triple cells = {8, 4, dimensions == 2 ? 1 : 6};
    const Box box = box_of(dimensions, 1, 0, cells, Element::kDouble);
    Ranks one;
    one.add(std::make_unique<Jacobi>(box));
    const auto at = [&](int x, int y, int z) {
      const auto place =
          box.row(static_cast<int>(wrapped(y, cells[1])), static_cast<int>(wrapped(z, cells[2]))) +
          wrapped(x, cells[0]);
      double value;
      std::memcpy(&value, &one.memories[0][static_cast<std::size_t>(place) * 8], sizeof(value));
      return value;
    };
    std::vector<double> should;
    for (int z = 0; z < cells[2]; ++z) {
      for (int y = 0; y < cells[1]; ++y) {
        for (int x = 0; x < cells[0]; ++x) {
          double sum = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z);
          if (dimensions == 3) sum += at(x, y, z - 1) + at(x, y, z + 1);
          should.push_back(sum / (2 * dimensions));
        }
      }
    }
    one.step();
    const double* next = should.data();
    for (int z = 0; z < cells[2]; ++z) {
      for (int y = 0; y < cells[1]; ++y) {
        for (int x = 0; x < cells[0]; ++x) EXPECT_NEAR(at(x, y, z), *next++, 1e-15);
      }
    }
  }
}

}  // namespace
}  // namespace apps
