#include "perf/apps/particles.h"

#include <memory>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "perf/apps/ranks.h"

namespace apps {
namespace {

TEST(Particles, AsManyLeaveEachWayInEachStep) {
  constexpr int kLeaving = 5;
  Ranks ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks.add(std::make_unique<Particles>(3, rank, kLeaving, 1));
  }
  std::set<std::vector<int>> lists;
  for (int step = 0; step < 20; ++step) {
    for (const auto& rank : ranks.owned) {
      EXPECT_TRUE(rank->changes());
      ASSERT_EQ(rank->routes().size(), 2U);
      for (const Route& route : rank->routes()) {
        EXPECT_EQ(route.out.elements(), kLeaving);
        EXPECT_EQ(route.in.elements(), kLeaving);
        lists.insert(route.out.list);
      }
    }
    ranks.step();
  }
  EXPECT_GT(lists.size(), 50U);  // others in each step
}

TEST(Particles, WhoeverComesWrongNoMoreLeaveThanHaveRoom) {
  Ranks ranks;
  ranks.add(std::make_unique<Particles>(2, 0, 5, 1));
  for (int step = 0; step < 20; ++step) {
    ranks.owned[0]->compute();  // what came before comes again
    for (const Route& route : ranks.owned[0]->routes()) EXPECT_LE(route.out.elements(), 5);
  }
}

}  // namespace
}  // namespace apps
