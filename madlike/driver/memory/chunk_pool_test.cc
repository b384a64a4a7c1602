#include "madlike/driver/memory/chunk_pool.h"

#include <cstddef>

#include "gtest/gtest.h"

// The sanitizers' allocators end the process by default where the system's returns null.
extern "C" const char* __asan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}
extern "C" const char* __tsan_default_options();   // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __tsan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "allocator_may_return_null=1";
}

namespace mad {
namespace {

TEST(ChunkPool, GivesAsManyAsAreAllowed) {
  ChunkPool pool(2, 4096);
  Chunk* const a = pool.take();
  Chunk* const b = pool.take();
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->bytes, b->bytes);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.available(), 0u);
  pool.allow_one_more();
  EXPECT_EQ(pool.available(), 1u);
  Chunk* const c = pool.take();
  ASSERT_TRUE(c);
  pool.allow_one_less();
  pool.drop_user(*a);
  EXPECT_EQ(pool.take(), nullptr) << "two are in use, and no more are allowed";
  pool.drop_user(*b);
  EXPECT_EQ(pool.take(), b) << "the one used last is warm";
}

TEST(ChunkPool, AChunkIsFreeWhenNobodyUsesIt) {
  ChunkPool pool(1, 4096);
  Chunk* const chunk = pool.take();
  ASSERT_TRUE(chunk);
  pool.add_user(*chunk);
  pool.drop_user(*chunk);
  EXPECT_EQ(pool.take(), nullptr);
  pool.drop_user(*chunk);
  EXPECT_EQ(pool.take(), chunk);
}

TEST(ChunkPool, MemoryThatCannotBeHadIsNoChunk) {
  ChunkPool pool(1, std::size_t{1} << 60);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.available(), 1u) << "it is not in use";
}

}  // namespace
}  // namespace mad
