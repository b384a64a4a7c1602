#include "madlike/message/connection_map.h"

#include <malloc.h>

#include "gtest/gtest.h"
#include "madlike/message/endpoint.h"

namespace mad {
namespace {

Endpoint make() { return Endpoint({{0, {}}}, nullptr); }

TEST(ConnectionMap, FindsWhatWasBoundAndWhatWasFreed) {
  Endpoint freed = make(), one = make(), two = make();
  ConnectionMap map(&freed);
  EXPECT_EQ(map.find(0), nullptr);
  EXPECT_EQ(map.find(100000), nullptr);
  map.bind(3, one);
  map.bind(1000, two);
  EXPECT_EQ(map.find(3), &one);
  EXPECT_EQ(map.find(1000), &two);
  EXPECT_EQ(map.find(2), nullptr);
  EXPECT_EQ(map.find(999), nullptr);
  map.free(3);
  map.free(4);
  EXPECT_EQ(map.find(3), &freed);
  EXPECT_EQ(map.find(4), &freed);
  EXPECT_EQ(map.find(5), nullptr);
}

TEST(ConnectionMap, DoesNotGrowWithThoseThatWereFreed) {
  constexpr ConnectionId kMany = 100000;
  Endpoint freed = make(), passing = make(), staying = make();
  ConnectionMap map(&freed);
  map.bind(0, staying);
  const std::size_t before = mallinfo2().uordblks;
  for (ConnectionId id = 1; id < kMany; ++id) {
    map.bind(id, passing);
    map.free(id);
  }
  EXPECT_LT(mallinfo2().uordblks, before + kMany / 4) << "a quarter of a byte each";
  EXPECT_EQ(map.find(0), &staying);
  EXPECT_EQ(map.find(1), &freed);
  EXPECT_EQ(map.find(kMany / 2), &freed);
  EXPECT_EQ(map.find(kMany), nullptr);
}

}  // namespace
}  // namespace mad
