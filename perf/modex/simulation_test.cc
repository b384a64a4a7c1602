#include "perf/modex/simulation.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

TEST(Simulation, AProcessCostsAtMost20Bytes) {
  const auto costs = simulate({640, 64});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  EXPECT_EQ(costs->nodes, 10U);
  EXPECT_GT(costs->process_bytes, 9);
  EXPECT_LE(costs->process_bytes, 20);
  EXPECT_EQ(costs->fences, 2U);
  EXPECT_LE(costs->agreement_gets, 2 * 4 * costs->node_puts);
  EXPECT_DOUBLE_EQ(static_cast<double>(costs->contact_gets), costs->node_puts);
}

TEST(Simulation, OneNodeAsksNobody) {
  const auto costs = simulate({8, 8});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  EXPECT_EQ(costs->node_puts, 0);
  EXPECT_EQ(costs->fences + costs->agreement_gets + costs->contact_gets, 0U);
}

TEST(Simulation, AJobHasRanks) {
  EXPECT_FALSE(simulate({0, 1}).ok());
  EXPECT_FALSE(simulate({1, 0}).ok());
}

}  // namespace
}  // namespace mad
