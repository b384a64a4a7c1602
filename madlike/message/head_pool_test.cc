#include "madlike/message/head_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace mad {
namespace {

TEST(HeadPool, AHeadHasTheMemoryOfAnEarlierOneOfItsSize) {
  if (HeadPool::kMostIdle == 0) GTEST_SKIP() << "AddressSanitizer sees more where none is kept";
  HeadPool pool;
  KeptHead head = pool.take(5000);
  std::memset(head.get(), 1, 5000);
  const std::byte* const before = head.get();
  head.reset();
  EXPECT_EQ(pool.idle_bytes(), 8192u);
  EXPECT_NE(pool.take(4096).get(), before) << "of another size";
  KeptHead again = pool.take(8192);
  EXPECT_EQ(again.get(), before);
  EXPECT_NE(pool.take(8192).get(), before) << "it is in use";
}

TEST(HeadPool, AllSizesHaveTheirBytes) {
  HeadPool pool;
  for (int round = 0; round < 2; ++round) {
    std::vector<KeptHead> heads;
    for (const std::size_t bytes :
         {std::size_t{1}, HeadPool::kShortest - 1, HeadPool::kShortest, HeadPool::kShortest + 1,
          std::size_t{100000}, HeadPool::kLongest, HeadPool::kLongest + 1}) {
      heads.push_back(pool.take(bytes));
      ASSERT_NE(heads.back(), nullptr);
      std::memset(heads.back().get(), round, bytes);
    }
  }
}

TEST(HeadPool, WhatIsKeptForLaterOnesIsBounded) {
  HeadPool pool;
  std::vector<KeptHead> heads;
  for (int i = 0; i < 100; ++i) heads.push_back(pool.take(100000));
  heads.clear();
  EXPECT_LE(pool.idle_bytes(), HeadPool::kMostIdle);
  EXPECT_GE(pool.idle_bytes() + (128u << 10), HeadPool::kMostIdle);
  pool.take(10).reset();
  pool.take(HeadPool::kLongest + 1).reset();
  EXPECT_LE(pool.idle_bytes(), HeadPool::kMostIdle) << "neither is kept";
}

}  // namespace
}  // namespace mad
