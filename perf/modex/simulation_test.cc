#include "perf/modex/simulation.h"

#include <gtest/gtest.h>

#include <numeric>

namespace mad {
namespace {

TEST(Simulation, AProcessCostsAtMost20Characters) {
  const auto costs = simulate({640, 64});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  ASSERT_EQ(costs->nodes.size(), 10U);
  for (const NodeCosts& node : costs->nodes) {
    EXPECT_GT(node.process_bytes, 64U * 9);
    EXPECT_LE(node.process_bytes * 8, 64U * 20 * 6);  // 6 bits a character
    EXPECT_LE(node.puts, 4U);
  }
  EXPECT_EQ(costs->fences, 2U);
  EXPECT_EQ(costs->contact_gets, costs->nodes[0].puts);
}

TEST(Simulation, GroupsOfNodesAgree) {
  const auto costs = simulate({40, 4});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  // Nodes 0, 4 and 8 read their groups' data, of one value each; all 10 read what those told.
  EXPECT_EQ(costs->agreement_puts, 3U);
  EXPECT_EQ(costs->agreement_gets, 3U + 3 + 1 + 10 * 3);
  EXPECT_EQ(costs->most_agreement_gets, 3U + 3);
}

TEST(Simulation, OneNodeAsksNobody) {
  const auto costs = simulate({8, 8});
  ASSERT_TRUE(costs.ok()) << costs.status().message();
  EXPECT_EQ(costs->nodes[0].puts, 0U);
  EXPECT_EQ(costs->fences + costs->agreement_gets + costs->contact_gets, 0U);
}

// Where the second byte of a node's process ids does not differ, it is there once.
TEST(Simulation, ProcessIdsCostWhatDiffers) {
  SimulatedJob job{64, 32, "host"};
  job.process_ids.resize(64);
  std::iota(job.process_ids.begin(), job.process_ids.end(), 0x1000);
  const auto alike = simulate(job);
  std::iota(job.process_ids.begin(), job.process_ids.end(), 0x10f0);
  const auto differing = simulate(job);
  ASSERT_TRUE(alike.ok() && differing.ok());
  const std::size_t more = differing->nodes[0].process_bytes - alike->nodes[0].process_bytes;
  EXPECT_TRUE(more == 32 || more == 0) << more;  // 0: no fabric here is shm
  EXPECT_EQ(differing->nodes[1].process_bytes, alike->nodes[1].process_bytes);
}

TEST(Simulation, AJobHasRanks) {
  EXPECT_FALSE(simulate({0, 1}).ok());
  EXPECT_FALSE(simulate({1, 0}).ok());
  EXPECT_FALSE(simulate({2, 1, "host", {1}}).ok());
}

}  // namespace
}  // namespace mad
