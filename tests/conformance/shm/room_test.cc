// How much memory there is, and what it is used for.
#include <string>
#include <vector>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

constexpr std::size_t kLeast = kShmPieceLimit + kShmLaneHeadBytes;  // bytes of a lane

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
  EXPECT_EQ(met.a.shm().charged(), kShmPlaceBytes);
  // While it is unread it stays, also when the lane would shrink.
  const auto until = Clock::now() + milliseconds(1100);
  ASSERT_TRUE(pump({&met.a}, [&] { return Clock::now() > until; }));
  EXPECT_EQ(met.a.shm().charged(), kShmPlaceBytes);
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

TEST(ShmMemoryLimit, ShortPacketsNeedLittleHoweverManyThereAre) {
  Met met;
  EXPECT_GT(fill(met, 1000), 20u);
  EXPECT_EQ(met.a.shm().charged(), kLeast);
  EXPECT_GT(fill(met, 4000), 20u);
  EXPECT_EQ(met.a.shm().charged(), kShmPlaceBytes);
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

/// A packet of so many bytes, none of which is worth writing.
class LongPacket : public PacketWriter {
 public:
  explicit LongPacket(std::size_t bytes) : left_(bytes) {}
  std::size_t left() const override { return left_; }
  void write(Segment room) override { left_ -= room.size; }

 private:
  std::size_t left_;
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
