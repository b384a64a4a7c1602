#include "tests/strict/disorder.h"

#include <gtest/gtest.h>

#include <vector>

namespace mad::strict {
namespace {

TEST(Disorder, EveryMessageComesOnceAndSomeLate) {
  Disorder<int> disorder;
  std::vector<int> come;
  for (int i = 0; i < 30; ++i) {
    if (!disorder.keeps(i)) come.push_back(i);
    while (const auto late = disorder.next(false)) come.push_back(*late);
  }
  while (const auto late = disorder.next(true)) come.push_back(*late);
  ASSERT_EQ(come.size(), 30u);
  std::vector<bool> seen(30);
  std::size_t overtaken = 0;
  for (std::size_t i = 0; i < come.size(); ++i) {
    EXPECT_FALSE(seen[static_cast<std::size_t>(come[i])]);
    seen[static_cast<std::size_t>(come[i])] = true;
    if (i > 0 && come[i] < come[i - 1]) ++overtaken;
  }
  EXPECT_GE(overtaken, 5u);
}

}  // namespace
}  // namespace mad::strict
