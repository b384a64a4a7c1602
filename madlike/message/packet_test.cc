#include "madlike/message/packet.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace mad {
namespace {

class PacketTest : public ::testing::Test {
 protected:
  Packet packet(std::size_t max_segments, std::size_t max_bytes) {
    return Packet({memory_, sizeof(memory_)}, max_segments, max_bytes);
  }
  void stage(Packet& p, const char* text) {
    const std::size_t size = std::strlen(text);
    ASSERT_GE(p.staging_room().size, size);
    std::memcpy(p.staging_room().data, text, size);
    p.stage(size);
  }
  static std::string content(const Packet& p) {
    std::string out;
    for (const Segment& s : p.segments()) out.append(static_cast<const char*>(s.data), s.size);
    return out;
  }
  std::byte memory_[64];
  char user_[200] = "user memory that stays where it is";
};

TEST_F(PacketTest, StagedBytesShareASegment) {
  Packet p = packet(4, 1000);
  stage(p, "ab");
  stage(p, "cd");
  EXPECT_EQ(p.segments().count, 1u);
  EXPECT_EQ(p.reference({user_, 4}), 4u);
  stage(p, "ef");
  stage(p, "gh");
  EXPECT_EQ(p.segments().count, 3u);
  EXPECT_EQ(content(p), "abcduserefgh");
  EXPECT_EQ(p.bytes(), 12u);
  EXPECT_EQ(p.staged_bytes(), 8u);
  EXPECT_EQ(p.referenced_bytes(), 4u);
  EXPECT_EQ(p.segments().first[1].data, user_);
}

TEST_F(PacketTest, SegmentsRunOut) {
  Packet p = packet(2, 1000);
  stage(p, "ab");
  EXPECT_TRUE(p.can_reference());
  EXPECT_EQ(p.reference({user_, 5}), 5u);
  EXPECT_FALSE(p.can_reference());
  EXPECT_EQ(p.reference({user_, 5}), 0u);
  EXPECT_EQ(p.staging_room().size, 0u);  // would need a third segment
  EXPECT_EQ(content(p), "abuser ");
}

TEST_F(PacketTest, TheLastSegmentStillGrows) {
  Packet p = packet(1, 1000);
  stage(p, "ab");
  EXPECT_FALSE(p.can_reference());
  EXPECT_EQ(p.staging_room().size, sizeof(memory_) - 2);
  stage(p, "cd");
  EXPECT_EQ(content(p), "abcd");
}

TEST_F(PacketTest, BytesRunOut) {
  Packet p = packet(8, 10);
  stage(p, "abcd");
  EXPECT_EQ(p.staging_room().size, 6u);
  EXPECT_EQ(p.bytes_room(), 6u);
  EXPECT_EQ(p.reference({user_, 100}), 6u);
  EXPECT_EQ(p.bytes_room(), 0u);
  EXPECT_FALSE(p.can_reference());
  EXPECT_EQ(p.staging_room().size, 0u);
}

TEST_F(PacketTest, StagingMemoryRunsOutBeforeReferences) {
  Packet p = packet(8, 1000);
  p.stage(p.staging_room().size);
  EXPECT_EQ(p.bytes(), sizeof(memory_));
  EXPECT_EQ(p.staging_room().size, 0u);
  EXPECT_TRUE(p.can_reference());
  EXPECT_EQ(p.reference({user_, 200}), 200u);
}

TEST_F(PacketTest, NothingAppendedIsNoSegment) {
  Packet p = packet(2, 1000);
  p.stage(0);
  EXPECT_EQ(p.reference({user_, 0}), 0u);
  EXPECT_EQ(p.segments().count, 0u);
}

TEST_F(PacketTest, SegmentsAreListedInPlace) {
  Packet p = packet(3, 100);
  stage(p, "ab");
  EXPECT_EQ(p.list_room(), 2u);
  p.listed(0, 0);
  stage(p, "cd");
  EXPECT_EQ(p.segments().count, 1u);
  p.list()[0] = {user_, 3};
  p.list()[1] = {user_ + 8, 4};
  p.listed(2, 7);
  EXPECT_EQ(p.segments().count, 3u);
  EXPECT_EQ(p.bytes(), 11u);
  EXPECT_EQ(p.referenced_bytes(), 7u);
  EXPECT_FALSE(p.can_reference());
  EXPECT_EQ(p.staging_room().size, 0u);
}

TEST_F(PacketTest, ResetEmptiesIt) {
  Packet p = packet(2, 10);
  stage(p, "ab");
  p.reference({user_, 8});
  p.reset(3, 100);
  EXPECT_EQ(p.bytes(), 0u);
  EXPECT_EQ(p.staged_bytes(), 0u);
  EXPECT_EQ(p.segments().count, 0u);
  EXPECT_EQ(p.staging_room().size, sizeof(memory_));
  EXPECT_TRUE(p.can_reference());
  p.reset(1000, 1000);  // more segments than any packet holds
  for (std::size_t i = 0; i < Packet::kMaxSegments; ++i) EXPECT_EQ(p.reference({user_, 1}), 1u);
  EXPECT_FALSE(p.can_reference());
}

TEST_F(PacketTest, LentMemoryTakesCopiesOfWhatIsReferenced) {
  Packet p = packet(4, 1000);
  stage(p, "before");
  EXPECT_EQ(p.reference({user_, 4}), 4u);
  EXPECT_FALSE(p.lent());
  alignas(8) std::byte lent[16];
  p.lend({lent, sizeof(lent)});
  EXPECT_TRUE(p.lent());
  EXPECT_EQ(p.bytes(), 0u);
  EXPECT_EQ(p.bytes_room(), 16u);
  EXPECT_EQ(p.staging_room().data, lent);
  EXPECT_TRUE(p.can_reference());
  EXPECT_EQ(p.list_room(), 0u);
  char run[] = "ABCDEFGH";
  stage(p, "0123");
  EXPECT_EQ(p.reference({run, 3}), 3u);
  std::memcpy(p.staging_room().data, "xy", 2);
  p.stage(2);
  stage(p, "456");
  EXPECT_EQ(p.reference({run, 8}), 4u);
  std::memset(run, 0, sizeof(run));
  EXPECT_EQ(p.staging_room().size, 0u);
  EXPECT_FALSE(p.can_reference());
  EXPECT_EQ(content(p), "0123ABCxy456ABCD");
  EXPECT_EQ(p.segments().count, 1u);
  EXPECT_EQ(p.staged_bytes(), 16u) << "copied is copied";
  EXPECT_EQ(p.referenced_bytes(), 0u);
  p.lend({lent, 5});
  EXPECT_EQ(p.bytes_room(), 5u);
  EXPECT_EQ(p.bytes(), 0u);
}

}  // namespace
}  // namespace mad
