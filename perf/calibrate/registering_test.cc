#include "perf/calibrate/registering.h"

#include "gtest/gtest.h"
#include "netmod/abi/fabric.h"

namespace calibrate {
namespace {

TEST(Registering, IsMeasuredByTwoEnginesOfAFabricThatExposesMemory) {
  const mad::FabricOptions options{"lo"};
  auto one = mad::open_fabric("ofi:tcp", options), other = mad::open_fabric("ofi:tcp", options);
  ASSERT_TRUE(one.ok() && other.ok());
  mad::Costs costs;
  measure_registering(**one, **other, 3, &costs);
  EXPECT_GT(costs.register_ns, 0);
  EXPECT_GT(costs.register_byte_ns, 0);
  EXPECT_LT(costs.register_ns, 1e9) << "nanoseconds";
}

}  // namespace
}  // namespace calibrate
