#include "perf/apps/fourier.h"

#include <cmath>
#include <complex>
#include <vector>

#include "gtest/gtest.h"

namespace apps {
namespace {

TEST(RowTransform, IsTheDefinition) {
  for (const int length : {1, 2, 3, 6, 8, 24, 35}) {
    std::vector<std::complex<double>> row;
    for (int i = 0; i < length; ++i) row.emplace_back(std::sin(i * i + 1.0), std::cos(3.0 * i));
    std::vector<std::complex<double>> should;
    for (int k = 0; k < length; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < length; ++i) {
        sum += row[static_cast<std::size_t>(i)] * std::polar(1.0, -2 * M_PI * i * k / length);
      }
      should.push_back(sum);
    }
    RowTransform(length).run(row.data());
    for (std::size_t k = 0; k < row.size(); ++k) {
      EXPECT_LT(std::abs(row[k] - should[k]), 1e-12 * length) << length << ", " << k;
    }
  }
}

TEST(Fourier, EverybodyHasABlockForEverybody) {
  const Fourier mine(3, 1, 2, 4);
  ASSERT_EQ(mine.routes().size(), 3U);
  EXPECT_EQ(mine.routes()[0].to, 1);
  EXPECT_EQ(mine.routes()[1].to, 2);
  EXPECT_EQ(mine.routes()[1].from, 0);
  for (const Route& route : mine.routes()) {
    EXPECT_EQ(route.out.bytes(), 2 * 4 * 16);
    EXPECT_EQ(route.in.bytes(), route.out.bytes());
    // What rank 1 sends stands at the same place of everybody's.
    EXPECT_EQ(route.there.offset, mine.routes()[0].in.offset);
  }
}

}  // namespace
}  // namespace apps
