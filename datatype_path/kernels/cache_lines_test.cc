#include "datatype_path/kernels/cache_lines.h"

#include <cstdint>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(CacheLines, of_a_power_of_two_share_few_places) {
  EXPECT_EQ(lines_in_cache(8192), 8u);
  EXPECT_EQ(lines_in_cache(4096), 8u);
  EXPECT_EQ(lines_in_cache(2048), 16u);
  EXPECT_EQ(lines_in_cache(4096 + 64), 512u);
  EXPECT_EQ(lines_in_cache(1), 512u);
}

TEST(Magnitude, is_of_any_stride) {
  EXPECT_EQ(magnitude(-5), 5u);
  EXPECT_EQ(magnitude(5), 5u);
  EXPECT_EQ(magnitude(INT64_MIN), std::uint64_t{1} << 63);
}

}  // namespace
}  // namespace mad
