#include "madlike/driver/ucx/memory.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/ucx/side.h"

namespace mad {
namespace {

constexpr std::size_t kChunks = 20;

Segment bytes_of(std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

TEST(UcxReceivedMemory, ALanesBuffersAreKeptAndGivenBack) {
  Side a(UcxTransport::kPosix), b(UcxTransport::kPosix);
  a.wire(b);
  b.wire(a);
  b.keep = true;
  std::vector<std::byte> packet(2048, std::byte{7});
  const Segment segment{packet.data(), packet.size()};
  ASSERT_EQ(a.lane->send(a.endpoint.get(), UcxMessage::kPacket, {}, {&segment, 1}, packet.size(),
                         nullptr),
            UCS_OK);
  ASSERT_TRUE(pump(a, b, [&] { return b.kept.size() == 1; }));
  EXPECT_TRUE(b.lane->keeps_any());
  ReceivedMemory memory(kChunks);
  memory.release(b.kept[0]);
  EXPECT_FALSE(b.lane->keeps_any());
}

TEST(UcxReceivedMemory, CopiesAreAlignedAndStayUntilReleased) {
  ReceivedMemory memory(kChunks);
  std::vector<ReceivedMemory::Kept> kept;
  std::vector<std::vector<std::byte>> packets;
  for (std::size_t size : {1u, 7u, 8u, 9u, 1000u, 65528u, 40000u, 40000u, 3u}) {
    packets.emplace_back(size, static_cast<std::byte>(size * 31));
    kept.push_back(memory.copy(bytes_of(packets.back())));
    packets.push_back(packets.back());
    kept.push_back(memory.copy(bytes_of(packets.back())));
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    ASSERT_NE(kept[i].buffer, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(kept[i].bytes.data) % 8, 0u);
    ASSERT_EQ(kept[i].bytes.size, packets[i].size());
    EXPECT_EQ(std::memcmp(kept[i].bytes.data, packets[i].data(), packets[i].size()), 0) << i;
    memory.release(kept[i].buffer);
  }
}

TEST(UcxReceivedMemory, WithRoomEverythingUcxBringsFits) {
  // The worst: every message a little longer than half a chunk.
  ReceivedMemory memory(kChunks);
  std::vector<std::byte> packet(33 * 1024);
  std::vector<void*> kept;
  int full = 0;
  for (int round = 0; round < 100; ++round) {
    if (!memory.has_room()) {
      ++full;
      memory.release(kept.back());
      kept.pop_back();
      continue;
    }
    for (std::size_t brought = 0; brought < UcxLane::kSocketsAtOnce * UcxLane::kSocketBytes;
         brought += packet.size()) {
      const auto copied = memory.copy(bytes_of(packet));
      ASSERT_NE(copied.buffer, nullptr);
      kept.push_back(copied.buffer);
    }
  }
  EXPECT_GT(full, 10);
}

// Nothing is brought, else, to an engine that has as little as it may have.
TEST(UcxReceivedMemory, RoomForTwiceWhatUcxBringsAndTheChunkBegunIsEnough) {
  constexpr std::size_t kEnough =
      2 * UcxLane::kSocketsAtOnce * UcxLane::kSocketBytes / (64 * 1024) + 1;
  EXPECT_TRUE(ReceivedMemory(kEnough).has_room());
  EXPECT_FALSE(ReceivedMemory(kEnough - 1).has_room());
}

TEST(UcxReceivedMemory, PacketsFillAChunkToItsEnd) {
  ReceivedMemory memory(kChunks);
  std::vector<std::byte> packet(32 * 1024);
  std::vector<void*> kept;
  for (std::size_t i = 0; i < 2 * kChunks; ++i) {
    kept.push_back(memory.copy(bytes_of(packet)).buffer);
    ASSERT_NE(kept.back(), nullptr) << i;
  }
  EXPECT_EQ(memory.copy(bytes_of(packet)).buffer, nullptr);
  for (void* buffer : kept) memory.release(buffer);
}

TEST(UcxReceivedMemory, WhatIsReleasedLeavesTheRoomItTook) {
  std::size_t chunks = 1;
  while (!ReceivedMemory(chunks).has_room()) ++chunks;
  ReceivedMemory memory(chunks);
  std::vector<std::byte> packet(100);
  const auto copied = memory.copy(bytes_of(packet));
  EXPECT_FALSE(memory.has_room());
  memory.release(copied.buffer);
  EXPECT_TRUE(memory.has_room());
}

TEST(UcxReceivedMemory, WhatIsReleasedAtOnceCostsOneChunk) {
  ReceivedMemory memory(kChunks);
  std::vector<std::byte> packet(5000);
  const void* first = nullptr;
  for (int i = 0; i < 1000; ++i) {
    const auto copied = memory.copy(bytes_of(packet));
    ASSERT_NE(copied.buffer, nullptr);
    if (first == nullptr) first = copied.bytes.data;
    EXPECT_EQ(copied.bytes.data, first) << "warm";
    memory.release(copied.buffer);
  }
}

}  // namespace
}  // namespace mad
