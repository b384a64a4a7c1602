#include "madlike/driver/ucx/memory.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/ucx/lane.h"

namespace mad {
namespace {

constexpr std::size_t kChunks = 20;

/// A buffer as UCX hands it out: before it stands who takes it back.
struct UcxBuffer {
  UcxBuffer() {
    taker.cb = [](uct_recv_desc_t* self, void*) { ++reinterpret_cast<UcxBuffer*>(self)->returned; };
  }
  uct_recv_desc_t taker{};  // first, see the callback
  int returned = 0;
  alignas(8) uct_recv_desc_t* before = &taker;
  std::byte message[64]{};
};

Segment bytes_of(std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

TEST(UcxReceivedMemory, UcxsBuffersAreKeptAndGivenBack) {
  ReceivedMemory memory(kChunks);
  UcxBuffer buffer;
  const auto kept = memory.keep(buffer.message, {buffer.message + 8, 56});
  EXPECT_EQ(kept.bytes.data, buffer.message + 8);
  EXPECT_EQ(buffer.returned, 0);
  memory.release(kept.buffer);
  EXPECT_EQ(buffer.returned, 1);
}

TEST(UcxReceivedMemory, OfUcxsBuffersThereAreOnlySoMany) {
  ReceivedMemory memory(kChunks);
  std::vector<UcxBuffer> buffers(UcxLane::kMostKept - UcxLane::kMessagesAtOnce + 1);
  std::vector<void*> kept;
  for (UcxBuffer& buffer : buffers) {
    EXPECT_TRUE(memory.has_room());
    kept.push_back(memory.keep(buffer.message, {buffer.message, 8}).buffer);
  }
  EXPECT_FALSE(memory.has_room()) << "the next progress could bring more than UCX has";
  memory.release(kept.back());
  EXPECT_TRUE(memory.has_room());
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
