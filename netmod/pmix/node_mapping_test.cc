#include "netmod/pmix/node_mapping.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace mad::pmix {
namespace {

// As the notation's readers do it: blocks from the first to the last, and again from the first one
// that begins at node 0.
std::vector<int> read(const std::string& text, std::size_t ranks) {
  struct Block {
    int first, nodes, ranks;
  };
  std::vector<Block> blocks;
  for (std::size_t at = text.find(",("); at != std::string::npos; at = text.find(",(", at + 1)) {
    Block block{};
    EXPECT_EQ(
        std::sscanf(text.c_str() + at, ",(%d,%d,%d)", &block.first, &block.nodes, &block.ranks), 3)
        << text;
    blocks.push_back(block);
  }
  std::vector<int> nodes;
  while (nodes.size() < ranks) {
    for (const Block& block : blocks) {
      for (int node = 0; node < block.nodes; ++node) {
        for (int rank = 0; rank < block.ranks && nodes.size() < ranks; ++rank) {
          nodes.push_back(block.first + node);
        }
      }
    }
    if (blocks.empty()) break;
  }
  return nodes;
}

TEST(NodeMapping, OfOneNode) { EXPECT_EQ(node_mapping({0, 0, 0, 0}), "(vector,(0,1,4))"); }

TEST(NodeMapping, OfNodesFilledOneAfterTheOther) {
  EXPECT_EQ(node_mapping({0, 0, 1, 1, 2, 2}), "(vector,(0,3,2))");
  EXPECT_EQ(node_mapping({0, 0, 0, 1, 1, 2}), "(vector,(0,1,3),(1,1,2),(2,1,1))");
}

TEST(NodeMapping, OfRanksDealtRoundIsWrittenOnce) {
  EXPECT_EQ(node_mapping({0, 1, 2, 0, 1, 2, 0, 1}), "(vector,(0,3,1))");
  EXPECT_EQ(node_mapping({0, 0, 1, 1, 0, 0, 1, 1}), "(vector,(0,2,2))");
}

TEST(NodeMapping, NumbersNodesAsTheRanksComeToThem) {
  EXPECT_EQ(node_mapping({7, 7, 3, 5}), "(vector,(0,1,2),(1,2,1))");
}

TEST(NodeMapping, OfNoRanksHasNoBlocks) { EXPECT_EQ(node_mapping({}), "(vector)"); }

TEST(NodeMapping, ReadsAsWhatWasWritten) {
  std::mt19937 random(20261127);
  for (int trial = 0; trial < 20000; ++trial) {
    const std::size_t ranks = 1 + random() % 24;
    const int most = 1 + static_cast<int>(random() % 5);
    const std::size_t repeated = 1 + random() % ranks;  // often whole patterns again and again
    std::vector<int> nodes;
    int next = 0;  // numbered as the ranks come to them
    while (nodes.size() < ranks) {
      const int node = nodes.size() >= repeated && trial % 2 == 0
                           ? nodes[nodes.size() % repeated]
                           : static_cast<int>(random() % static_cast<unsigned>(most));
      nodes.push_back(std::min(node, next));
      if (nodes.back() == next) ++next;
    }
    ASSERT_EQ(read(node_mapping(nodes), ranks), nodes) << "trial " << trial;
  }
}

}  // namespace
}  // namespace mad::pmix
