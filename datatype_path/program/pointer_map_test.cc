#include "datatype_path/program/pointer_map.h"

#include <memory_resource>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(PointerMap, finds_what_was_inserted_and_nothing_else) {
  PointerMap<int, std::size_t> map(std::pmr::get_default_resource());
  const std::vector<int> keys(1000);
  EXPECT_EQ(map.find(&keys[0]), nullptr);
  for (std::size_t i = 0; i < keys.size(); i += 2) {
    const auto [value, made] = map.insert(&keys[i], i);
    EXPECT_TRUE(made);
    EXPECT_EQ(*value, i);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::size_t* const value = map.find(&keys[i]);
    EXPECT_EQ(value != nullptr, i % 2 == 0);
    EXPECT_EQ(value == nullptr ? i : *value, i);
  }
}

TEST(PointerMap, keeps_the_first_value) {
  PointerMap<int, int> map(std::pmr::get_default_resource());
  const int key = 0;
  map.insert(&key, 1);
  const auto [value, made] = map.insert(&key, 2);
  EXPECT_FALSE(made);
  EXPECT_EQ(*value, 1);
  *value = 3;
  EXPECT_EQ(*map.find(&key), 3);
}

}  // namespace
}  // namespace mad
