// The oracle on types small enough to be expanded by hand.
#include "perf/micro/expansion.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace micro {
namespace {

using Type = TypeBuilder::Type;
using Runs = std::vector<std::pair<std::int64_t, std::int64_t>>;  // place, bytes

Runs runs(const Expander& types, Type type, std::int64_t count = 1) {
  Runs runs;
  types.expansion(type, count).for_each_run([&](auto place, auto packed, auto bytes) {
    std::int64_t before = 0;
    for (const auto& run : runs) before += run.second;
    EXPECT_EQ(packed, before);
    runs.emplace_back(place, bytes);
  });
  return runs;
}

TEST(Expansion, Basics) {
  Expander types;
  EXPECT_EQ(runs(types, types.basic(Basic::kByte)), (Runs{{0, 1}}));
  EXPECT_EQ(runs(types, types.basic(Basic::kInt)), (Runs{{0, 4}}));
  EXPECT_EQ(runs(types, types.basic(Basic::kFloat)), (Runs{{0, 4}}));
  EXPECT_EQ(runs(types, types.basic(Basic::kDouble), 2), (Runs{{0, 8}, {8, 8}}));
}

TEST(Expansion, BlocksThatTouchAreOne) {
  Expander types;
  const Type word = types.basic(Basic::kFloat);
  EXPECT_EQ(runs(types, types.contiguous(3, word)), (Runs{{0, 12}}));
  EXPECT_EQ(runs(types, types.vector(2, 2, 8, word)), (Runs{{0, 16}}));
}

TEST(Expansion, VectorsOfEitherSign) {
  Expander types;
  const Type word = types.basic(Basic::kFloat);
  EXPECT_EQ(runs(types, types.vector(2, 2, 12, word)), (Runs{{0, 8}, {12, 8}}));
  const Type back = types.vector(2, 1, -12, word);
  EXPECT_EQ(runs(types, back), (Runs{{0, 4}, {-12, 4}}));
  EXPECT_EQ(types.expansion(back, 1).low(), -12);
  EXPECT_EQ(types.expansion(back, 1).high(), 4);
  EXPECT_EQ(types.expansion(back, 2).extent, 16);
  EXPECT_EQ(types.expansion(back, 2).high(), 20);
}

TEST(Expansion, Lists) {
  Expander types;
  const Type word = types.basic(Basic::kFloat), real = types.basic(Basic::kDouble);
  EXPECT_EQ(runs(types, types.indexed({1, 2}, {20, 0}, word)), (Runs{{20, 4}, {0, 8}}));
  EXPECT_EQ(runs(types, types.indexed_block(2, {20, 0}, word)), (Runs{{20, 8}, {0, 8}}));
  EXPECT_EQ(runs(types, types.structure({1, 1}, {0, 8}, {word, real})), (Runs{{0, 4}, {8, 8}}));
}

TEST(Expansion, ResizedIsWhatTheNextElementStandsBy) {
  Expander types;
  const Type column = types.resized(0, 4, types.vector(2, 1, 16, types.basic(Basic::kFloat)));
  EXPECT_EQ(runs(types, column, 2), (Runs{{0, 4}, {16, 4}, {4, 4}, {20, 4}}));
  EXPECT_EQ(types.expansion(column, 2).bytes(), 16);
}

TEST(Expansion, Subarray) {
  Expander types;
  const Type part = types.subarray({3, 4}, {2, 2}, {1, 1}, types.basic(Basic::kFloat));
  EXPECT_EQ(runs(types, part), (Runs{{20, 8}, {36, 8}}));
  EXPECT_EQ(types.expansion(part, 1).extent, 48);
  const Type corner = types.subarray({2, 2, 2}, {1, 2, 1}, {1, 0, 1}, types.basic(Basic::kByte));
  EXPECT_EQ(runs(types, corner), (Runs{{5, 1}, {7, 1}}));
}

TEST(Expansion, BlockCyclicShares) {
  Expander types;
  const Type byte = types.basic(Basic::kByte);
  // Columns 0 1 | 2 | 0 1: blocks of 2 of 5 columns over 2 processes; rows one by one over 2.
  EXPECT_EQ(runs(types, types.darray({1, {2, 2}, {3, 5}, {1, 2}}, byte)), (Runs{{2, 2}, {12, 2}}));
  EXPECT_EQ(runs(types, types.darray({2, {2, 2}, {3, 5}, {1, 2}}, byte)), (Runs{{5, 2}, {9, 1}}));
}

}  // namespace
}  // namespace micro
