// How much memory there is, and what it is used for.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

// Bytes of a lane.
constexpr std::size_t kLeast = kShmPieceLimit + kShmLaneHeadBytes;
constexpr std::size_t kWaiting = kShmWaitingLimit + kShmLaneHeadBytes;

TEST(ShmMemoryLimit, ThePeerThatThereIsNoRoomForIsNotConnected) {
  ShmOptions little;
  little.memory_limit = 2 * kLeast;
  ShmEngine a(little), b, c, d;
  const std::vector<ShmEngine*> all{&a, &b, &c, &d};
  const ConnectionId to_b = a.connect(b), to_c = a.connect(c), to_d = a.connect(d);
  const Status why = end_of(a, to_d, all);
  EXPECT_EQ(why.code(), StatusCode::kNoMemory);
  EXPECT_NE(why.message().find("MAD_SHM_LIMIT"), std::string_view::npos) << why.message();
  EXPECT_TRUE(pump(
      all, [&] { return a.station.connected.count(to_b) + a.station.connected.count(to_c) == 2; }));
  // Who calls it hears that it may pass, and it passes.
  const ConnectionId d_to_a = d.connect(a);
  EXPECT_EQ(end_of(d, d_to_a, all).code(), StatusCode::kAgain);
  a.driver->disconnect(to_b);
  const ConnectionId later = d.connect(a);
  EXPECT_TRUE(pump(all, [&] { return d.station.connected.count(later) == 1; }));
}

/// Sends packets of so many bytes that nobody reads until there is no room; how many.
std::size_t fill(Met& met, std::size_t bytes) {
  std::size_t count = 0;
  for (;; ++count) {
    Bytes packet = pattern(bytes, static_cast<unsigned>(count));
    const Segment segment{packet.data(), packet.size()};
    if (!met.a.driver->post_send(met.to_b, {&segment, 1}, nullptr).ok()) return count;
  }
}

TEST(ShmMemoryLimit, LanesGrowWithTrafficAndShrinkAgain) {
  Met met;
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  const std::size_t count = fill(met, kShmPieceBytes);
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
  // While it is unread it stays, also when the lane would shrink.
  const auto until = Clock::now() + milliseconds(4500);
  ASSERT_TRUE(pump({&met.a}, [&] { return Clock::now() > until; }));
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.shm().charged() == kLeast; }));
  ASSERT_EQ(met.b.station.received.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(met.b.station.received[i].bytes, pattern(kShmPieceBytes, static_cast<unsigned>(i)))
        << i;
  }
  met.b.station.received.clear();
  Bytes bytes(kShmPieceBytes, std::byte{1});
  ASSERT_FALSE(send(met.a, met.to_b, bytes, {&met.a, &met.b}).error());
  EXPECT_TRUE(pump({&met.a, &met.b}, [&] { return met.b.station.received.size() == 1; }));
  EXPECT_EQ(met.b.station.received[0].bytes, bytes);
}

TEST(ShmMemoryLimit, ShortPacketsNeedLittleHoweverManyWait) {
  Met met;
  EXPECT_GT(fill(met, 1000), 20u);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  EXPECT_GT(fill(met, 4000), 20u);
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
}

TEST(ShmMemoryLimit, LongPacketsNeedLittleIfTheyAreReadAtOnce) {
  Met met;
  Bytes bytes(kShmPieceBytes, std::byte{1});
  for (std::size_t i = 1; i <= 50; ++i) {
    ASSERT_FALSE(send(met.a, met.to_b, bytes, {&met.a, &met.b}).error());
    ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.b.station.received.size() == i; }));
    ASSERT_EQ(met.a.shm().charged(), kLeast) << i;
  }
}

// So many bytes make a lane large; what was sent between two looks counts half.
constexpr std::size_t kALot = std::size_t{8} << 20;
// So many make it as large as one that waits for a slow reader.
constexpr std::size_t kMany = std::size_t{1} << 20, kShort = 500;

/// Sends packets that are read at once, short ones some at a time, so many bytes of them.
void stream(Met& met, std::size_t bytes, std::size_t each = kShmPieceBytes) {
  const std::size_t at_a_time = each > kShort ? 1 : 8;
  Bytes packet = pattern(each, 1);
  for (std::size_t sent = 0; sent < bytes; sent += at_a_time * packet.size()) {
    std::vector<Station::Received>& received = met.b.station.received;
    received.clear();
    for (std::size_t i = 0; i < at_a_time; ++i) {
      ASSERT_FALSE(send(met.a, met.to_b, packet, {&met.a, &met.b}).error());
    }
    ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return received.size() == at_a_time; }));
    for (const auto& one : received) ASSERT_EQ(one.bytes, packet) << sent;
  }
}

/// Sends packets that are read at once until the lane is large, at most twice as much as that
/// takes where a look comes between.
void stream_until_large(Met& met, std::size_t each = kShmPieceBytes) {
  for (std::size_t sent = 0; sent < 4 * kALot && met.a.shm().charged() <= kWaiting;
       sent += kALot / 8)
    ASSERT_NO_FATAL_FAILURE(stream(met, kALot / 8, each));
  ASSERT_GT(met.a.shm().charged(), kWaiting);
}

// The first look comes a whole period after a lane began to grow, whatever time it is.
TEST(ShmMemoryLimit, WhatIsSentCountsWholeUntilTheFirstLook) {
  Met met;
  const auto begun = Clock::now();
  stream(met, kALot - kALot / 8);
  const auto pause = Clock::now() + milliseconds(50);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return Clock::now() > pause; }));
  stream(met, kALot / 4);
  if (Clock::now() - begun < milliseconds(1900)) {
    EXPECT_GT(met.a.shm().charged(), kWaiting);
  }
}

TEST(ShmMemoryLimit, ALapIsLongerThanACoresCacheOrAQuarterOfALargeOne) {
  constexpr std::size_t kKiB = 1024;
  const auto kib = [](std::size_t cache) {
    return (shm_sustained_limit(cache) + kShmLaneHeadBytes) / kKiB;
  };
  EXPECT_EQ(kib(0), 2048u) << "that nobody knows";
  EXPECT_EQ(kib(64 * kKiB), 256u) << "never less than for a slow reader";
  EXPECT_EQ(kib(512 * kKiB), 1024u);
  EXPECT_EQ(kib(1024 * kKiB), 2048u);
  EXPECT_EQ(kib(2044 * kKiB), 4088u);
  EXPECT_EQ(kib(2048 * kKiB), 512u);
  EXPECT_EQ(kib(4096 * kKiB), 1024u);
  EXPECT_EQ(kib(1024 * kKiB * kKiB), kShmPlaceBytes / kKiB) << "as long as there is room";
}

TEST(ShmMemoryLimit, WhereALotIsSentALapIsLonger) {
  Met met;
  stream(met, kALot - kALot / 8);
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
  stream_until_large(met);
  const std::size_t most = met.a.shm().charged();
  const auto cache = static_cast<std::size_t>(std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE)));
  EXPECT_EQ(most, shm_sustained_limit(cache) + kShmLaneHeadBytes);
  stream(met, 2 * most);
  EXPECT_EQ(met.a.shm().charged(), most);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.shm().charged() == kLeast; }));
  stream(met, kALot / 2);
  EXPECT_EQ(met.a.shm().charged(), kWaiting) << "it begins anew";
}

TEST(ShmMemoryLimit, WhereThereAreManyShortOnesALapIsLongerThanTheNearestCache) {
  Met met;
  stream(met, kMany / 2, kShort);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  for (int i = 0; i < 8 && met.a.shm().charged() == kLeast; ++i) stream(met, kMany, kShort);
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return met.a.shm().charged() == kLeast; }));
}

TEST(ShmMemoryLimit, ShortOnesOfALongTimeAreNotMany) {
  Met met;
  stream(met, kMany / 2, kShort);
  const auto until = Clock::now() + milliseconds(4000);  // twice as long as it remembers
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return Clock::now() > until; }));
  stream(met, kMany / 2, kShort);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
}

TEST(ShmMemoryLimit, ALotMayBeSentInPacketsOfAPage) {
  Met met;
  stream_until_large(met, 4000);
}

TEST(ShmMemoryLimit, ALotMayBeSentInShortPackets) {
  Met met;
  ASSERT_NO_FATAL_FAILURE(stream_until_large(met, kShort));
  bool in_time = true;
  for (const auto until = Clock::now() + milliseconds(4500); Clock::now() < until;) {
    const auto begun = Clock::now();
    ASSERT_NO_FATAL_FAILURE(stream(met, kALot / 8, kShort));
    in_time = in_time && Clock::now() - begun < milliseconds(200);
    if (in_time) {
      ASSERT_GT(met.a.shm().charged(), kWaiting) << "it stays as long as a lot is sent";
    }
  }
}

TEST(ShmMemoryLimit, AStreamThatMayNotHaveMoreKeepsWhatItHas) {
  ShmOptions little;
  little.memory_limit = 9 * kWaiting;  // of which an eighth is for speed
  Met met(little);
  const std::size_t& lately = met.a.shm().connection(met.to_b)->lately;
  bool refused = false;
  for (std::size_t sent = 0; sent < 4 * kALot && !refused; sent += kMany / 4) {
    const std::size_t before = lately;
    ASSERT_NO_FATAL_FAILURE(stream(met, kMany / 4, kShort));
    refused = lately < before && before > kALot - kMany / 2;
  }
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
  const auto until = Clock::now() + milliseconds(4500);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return Clock::now() > until; }));
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
}

/// The two send each other a short packet in turns, so many bytes of them.
void take_turns(Met& met, std::size_t bytes) {
  Bytes packet = pattern(kShort, 1);
  const std::vector<ShmEngine*> both{&met.a, &met.b};
  for (std::size_t sent = 0; sent < bytes; sent += packet.size()) {
    for (const auto& [from, connection, to] :
         {std::tuple(&met.a, met.to_b, &met.b), std::tuple(&met.b, met.to_a, &met.a)}) {
      to->station.received.clear();
      ASSERT_FALSE(send(*from, connection, packet, both).error());
      ASSERT_TRUE(pump(both, [&, to = to] { return to->station.received.size() == 1; }));
      ASSERT_EQ(to->station.received[0].bytes, packet) << sent;
    }
  }
}

TEST(ShmMemoryLimit, ShortPacketsSentInTurnsNeedLittleHoweverMany) {
  Met met;
  take_turns(met, 4 * kMany);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  EXPECT_EQ(met.b.shm().charged(), kLeast);
}

// Short ones have their laps where the memory stays.
TEST(ShmMemoryLimit, ALaneShrinksWhileShortPacketsAreSentInTurns) {
  Met met;
  ASSERT_NO_FATAL_FAILURE(stream_until_large(met));
  const auto until = Clock::now() + milliseconds(15000);
  while (met.a.shm().charged() != kLeast && Clock::now() < until) {
    ASSERT_NO_FATAL_FAILURE(take_turns(met, kShort));
  }
  EXPECT_EQ(met.a.shm().charged(), kLeast);
}

// What finds no room is not sent, however often it is tried.
TEST(ShmMemoryLimit, WhoWaitsForASlowReaderSendsNotALot) {
  Met met;
  fill(met, kShmPieceBytes);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(fill(met, kShmPieceBytes), 0u);
  EXPECT_EQ(met.a.shm().charged(), kWaiting);
}

// Of the memory that there may be, lanes take an eighth for speed alone.
TEST(ShmMemoryLimit, SpeedIsNotWorthAllMemory) {
  ShmOptions little;
  little.memory_limit = std::size_t{1} << 20;
  Met met(little);
  stream(met, std::size_t{20} << 20);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  fill(met, kShmPieceBytes);
  EXPECT_EQ(met.a.shm().charged(), kWaiting) << "for a slow reader it is";
}

/// A packet of so many bytes, none of which is worth writing.
class LongPacket : public PacketWriter {
 public:
  using PacketWriter::PacketWriter;

 private:
  void write_next(Segment) override {}
};

TEST(ShmMemoryLimit, APacketIsNoLongerThanARecordCanSay) {
  Met met;
  LongPacket longest(RingMark::kMostLeft + 1), longer(RingMark::kMostLeft + 2);
  EXPECT_EQ(met.a.driver->post_lent(met.to_b, longer).code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(met.a.driver->post_lent(met.to_b, longest).ok());
  EXPECT_LT(longest.left(), RingMark::kMostLeft + 1);
}

}  // namespace
}  // namespace mad
