#include "madlike/message/packet_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

namespace mad {
namespace {

TEST(PacketPool, HasAFixedNumberOfPackets) {
  PacketPool pool(1000, 6);
  std::set<OutgoingPacket*> taken;
  for (int i = 0; i < 6; ++i) taken.insert(pool.take());
  EXPECT_EQ(taken.size(), 6u);
  EXPECT_EQ(taken.count(nullptr), 0u);
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_EQ(pool.in_use(), 6u);
  pool.give_back(*taken.begin());
  EXPECT_EQ(pool.take(), *taken.begin());
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(PacketPool, MemoryIsAlignedAndNobodyElses) {
  PacketPool pool(1000, 9);
  std::vector<OutgoingPacket*> taken;
  for (int i = 0; i < 9; ++i) {
    OutgoingPacket* const p = pool.take();
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
  OutgoingPacket* const a = pool.take();
  OutgoingPacket* const b = pool.take();
  b->use = OutgoingPacket::Use::kWrite;
  b->endpoint = reinterpret_cast<Endpoint*>(&pool);
  pool.give_back(a);
  pool.give_back(b);
  EXPECT_EQ(pool.take(), b);
  EXPECT_EQ(b->use, OutgoingPacket::Use::kFirst);
  EXPECT_EQ(b->endpoint, nullptr);
  EXPECT_EQ(pool.take(), a);
}

}  // namespace
}  // namespace mad
