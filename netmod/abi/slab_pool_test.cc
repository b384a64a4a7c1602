#include "netmod/abi/slab_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

namespace mad {
namespace {

struct Counted {
  explicit Counted(int* alive) : alive(alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST(SlabPool, GivesDistinctObjectsAndReusesThem) {
  int alive = 0;
  SlabPool<Counted, 4> pool;
  std::set<Counted*> first;
  for (int i = 0; i < 10; ++i) first.insert(pool.acquire(&alive));
  EXPECT_EQ(first.size(), 10u);
  EXPECT_EQ(alive, 10);
  for (Counted* object : first) pool.release(object);
  EXPECT_EQ(alive, 0);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first.count(pool.acquire(&alive)), 1u) << i;
}

TEST(SlabPool, DestroysWhatIsStillAcquired) {
  int alive = 0;
  {
    SlabPool<Counted, 4> pool;
    Counted* const released = pool.acquire(&alive);
    pool.acquire(&alive);
    pool.release(released);
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(SlabPool, ForEachSeesLiveObjectsAndMayReleaseThem) {
  int alive = 0;
  SlabPool<Counted, 4> pool;
  std::vector<Counted*> objects;
  for (int i = 0; i < 6; ++i) objects.push_back(pool.acquire(&alive));
  pool.release(objects[2]);
  int seen = 0;
  pool.for_each([&](Counted& object) {
    EXPECT_NE(&object, objects[2]);
    ++seen;
    pool.release(&object);
  });
  EXPECT_EQ(seen, 5);
  EXPECT_EQ(alive, 0);
}

TEST(SlabPool, ThrowingConstructorLosesNothing) {
  struct Thrower {
    explicit Thrower(bool refuse) {
      if (refuse) throw std::runtime_error("no");
    }
  };
  SlabPool<Thrower, 1> pool;
  Thrower* const before = pool.acquire(false);
  pool.release(before);
  EXPECT_THROW(pool.acquire(true), std::runtime_error);
  EXPECT_EQ(pool.acquire(false), before);
}

}  // namespace
}  // namespace mad
