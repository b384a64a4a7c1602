#include "datatype_path/describe/children_first.h"

#include <algorithm>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

std::vector<const TypeDesc*> order_of(const TypeDesc& root) {
  std::vector<const TypeDesc*> order;
  std::set<const TypeDesc*> seen;
  children_first(
      root, [&seen](const TypeDesc& type) { return seen.count(&type) != 0; },
      [&](const TypeDesc& type) {
        for (const TypeDescPtr& child : type.children()) EXPECT_EQ(seen.count(child.get()), 1u);
        seen.insert(&type);
        order.push_back(&type);
      });
  return order;
}

TEST(ChildrenFirst, visits_every_node_once) {
  const TypeDescPtr a = TypeDesc::bytes(1).value(), b = TypeDesc::bytes(2).value();
  const TypeDescPtr pair = TypeDesc::structure({1, 0}, {0, 8}, {a, b}).value();
  const TypeDescPtr root = TypeDesc::structure({1, 1, 1}, {0, 8, 16}, {pair, a, pair}).value();
  std::vector<const TypeDesc*> order = order_of(*root);
  ASSERT_EQ(order.size(), 4u);
  EXPECT_EQ(order[2], pair.get());
  EXPECT_EQ(order[3], root.get());
  EXPECT_EQ(order_of(*a), std::vector<const TypeDesc*>{a.get()});
}

TEST(ChildrenFirst, of_random_types) {
  test::RandomTypes random(test::seed_from_environment(62));
  for (int n = 0; n < 300; ++n) {
    const test::RandomType made = random.next();
    const std::vector<const TypeDesc*> order = order_of(*made.type);
    ASSERT_EQ(order.back(), made.type.get());
    ASSERT_EQ(std::set<const TypeDesc*>(order.begin(), order.end()).size(), order.size());
  }
}

TEST(ChildrenFirst, of_doubling_and_of_many_levels) {
  TypeDescPtr doubling = TypeDesc::bytes(0).value(), deep = doubling;
  for (int level = 0; level < 1000; ++level) {
    doubling = TypeDesc::structure({1, 1}, {0, 0}, {doubling, doubling}).value();
  }
  EXPECT_EQ(order_of(*doubling).size(), 1001u);
  for (int level = 0; level < 100'000; ++level) deep = TypeDesc::resized(0, level, deep).value();
  EXPECT_EQ(order_of(*deep).size(), 100'001u);
}

}  // namespace
}  // namespace mad
