#include "madlike/message/packet_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace mad {
namespace {

// How many more packets somebody who holds `held` is given.
std::size_t taken_by_one(PacketPool& pool, std::size_t held, std::size_t divisor = 1) {
  const std::size_t before = held;
  while (held < 100 && pool.take(held, divisor) != nullptr) ++held;
  return held - before;
}

TEST(PacketPool, APeerTakesHalfOfWhatOthersLeft) {
  PacketPool pool(1000, 64);
  EXPECT_EQ(taken_by_one(pool, 0), 32u);
  EXPECT_EQ(taken_by_one(pool, 0), 16u);
  EXPECT_EQ(taken_by_one(pool, 0), 8u);
  EXPECT_EQ(pool.in_use(), 56u);
}

TEST(PacketPool, APurposeWithADivisorTakesLess) {
  PacketPool pool(1000, 64);
  EXPECT_EQ(taken_by_one(pool, 0, 7), 8u);
  EXPECT_EQ(taken_by_one(pool, 0, 7), 7u);
}

TEST(PacketPool, EveryPeerIsGrantedOnePacket) {
  PacketPool pool(64, 6);
  std::set<OutgoingPacket*> taken;
  for (int i = 0; i < 20; ++i) taken.insert(pool.take(0));
  EXPECT_EQ(taken.size(), 20u);
  EXPECT_EQ(taken.count(nullptr), 0u);
  EXPECT_EQ(pool.take(1), nullptr) << "more than one, and none is free";
  EXPECT_EQ(pool.in_use(), 20u);
  for (OutgoingPacket* const packet : taken) pool.give_back(packet);
  EXPECT_EQ(taken_by_one(pool, 0), 3u) << "as before";
}

TEST(PacketPool, MemoryIsAlignedAndNobodyElses) {
  PacketPool pool(1000, 9);
  std::vector<OutgoingPacket*> taken;
  for (int i = 0; i < 9; ++i) {
    OutgoingPacket* const p = pool.take(0);
    ASSERT_NE(p, nullptr);
    p->packet.reset(1, 1 << 20);
    const Segment room = p->packet.staging_room();
    EXPECT_GE(room.size, 1000u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data) % 64, 0u);
    std::memset(room.data, i, room.size);
    taken.push_back(p);
  }
  for (int i = 0; i < 9; ++i) {
    const Segment room = taken[i]->packet.staging_room();
    for (std::size_t k = 0; k < room.size; ++k) {
      ASSERT_EQ(room.begin()[k], static_cast<std::byte>(i));
    }
  }
}

TEST(PacketPool, TheLastGivenBackIsTheNextTaken) {
  PacketPool pool(64, 4);
  OutgoingPacket* const a = pool.take(0);
  OutgoingPacket* const b = pool.take(0);
  b->use = OutgoingPacket::Use::kWrite;
  b->endpoint = reinterpret_cast<Endpoint*>(&pool);
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.take(0), b);
  EXPECT_EQ(b->use, OutgoingPacket::Use::kFirst);
  EXPECT_EQ(b->endpoint, nullptr);
  EXPECT_EQ(pool.take(0), a);
}

}  // namespace
}  // namespace mad
