#include "madlike/driver/shm/ring.h"

#include <cstring>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/shm/kept.h"
#include "madlike/driver/shm/memory.h"

namespace mad {
namespace {

/// A lane in ordinary memory.
struct Lane : ShmWaker {
  explicit Lane(std::size_t capacity = kShmRingBytes)
      : memory(2 + capacity / sizeof(ShmLaneHead)),
        words(memory.data(), &page, 5, this),
        out(words, capacity),
        in(words, capacity) {}
  void wake() override { ++woken; }
  std::uint64_t& word(std::size_t offset) {
    return *reinterpret_cast<std::uint64_t*>(words.at(offset));
  }
  void write(std::size_t bytes, unsigned char value) {
    std::memset(words.at(out.content()), value, bytes);
    out.publish({RingMark::Kind::kPacket, static_cast<std::uint32_t>(bytes), value});
  }
  bool read(std::size_t bytes, unsigned char value) {
    RingMark mark;
    RingMark whole;
    if (in.peek(&mark) != ShmRing::Found::kPacket) return false;
    EXPECT_EQ(in.finds_whole(&whole), value == 0);
    EXPECT_EQ(mark.bytes, bytes);
    EXPECT_EQ(mark.left, value);
    const std::byte* const content = words.at(in.content());
    EXPECT_EQ(content[0], std::byte{value});
    EXPECT_EQ(content[bytes - 1], std::byte{value});
    in.advance(mark);
    return true;
  }
  using ShmRing = RingReader<ShmMemory>;
  std::vector<ShmLaneHead> memory;
  ShmFrontPage page{};
  int woken = 0;
  ShmMemory words;
  RingWriter<ShmMemory> out;
  ShmRing in;
};

TEST(RingMark, ComesBack) {
  const RingMark mark{RingMark::Kind::kPacket, RingMark::kMostBytes, RingMark::kMostLeft};
  const RingMark back = RingMark::of(mark.word());
  EXPECT_EQ(back.kind, mark.kind);
  EXPECT_EQ(back.bytes, mark.bytes);
  EXPECT_EQ(back.left, mark.left);
}

TEST(Ring, RandomRecordsInRandomLimits) {
  std::mt19937 random(4711);
  Lane lane;
  std::vector<std::pair<std::size_t, unsigned char>> under_way;
  const std::size_t limits[] = {kShmSmallLimit, kShmPieceLimit, kShmWaitingLimit, kShmRingBytes};
  for (int i = 0; i < 100000; ++i) {
    const std::size_t limit = limits[random() % std::size(limits)];
    const std::size_t most = limit == kShmSmallLimit ? 1900 : kShmPieceBytes;
    const std::size_t bytes = 1 + random() % (random() % 4 == 0 ? most : 100);
    if (random() % 2 == 0 && lane.out.reserve(bytes, limit)) {
      const auto value = static_cast<unsigned char>(random());
      lane.write(bytes, value);
      under_way.emplace_back(bytes, value);
    } else if (!under_way.empty()) {
      ASSERT_TRUE(lane.read(under_way[0].first, under_way[0].second)) << i;
      under_way.erase(under_way.begin());
      lane.in.give_back(lane.in.position());
    }
    ASSERT_FALSE(lane.out.corrupt());
  }
}

TEST(Ring, IsFullAndHasRoomAgain) {
  Lane lane;
  std::size_t count = 0;
  while (lane.out.reserve(kShmPieceBytes, kShmPieceLimit)) lane.write(kShmPieceBytes, 1), ++count;
  EXPECT_EQ(count, 2u);
  ASSERT_TRUE(lane.read(kShmPieceBytes, 1));
  EXPECT_FALSE(lane.out.reserve(kShmPieceBytes, kShmPieceLimit)) << "it is not given back";
  lane.in.give_back(lane.in.position());
  EXPECT_FALSE(lane.out.reserve(kShmPieceBytes, kShmPieceLimit)) << "the next mark's place is not";
  ASSERT_TRUE(lane.read(kShmPieceBytes, 1));
  lane.in.give_back(lane.in.position());
  EXPECT_TRUE(lane.out.reserve(kShmPieceBytes, kShmPieceLimit));
}

TEST(Ring, WhatIsEnoughIsEnoughForEver) {
  std::mt19937 random(4711);
  for (const std::size_t most : {1u, 56u, 57u, 500u}) {
    const std::size_t enough = RingWriter<ShmMemory>::enough_for(most);
    for (const std::size_t capacity : {enough, kShmRingBytes}) {
      Lane lane(capacity);
      for (int i = 0; i < 1000; ++i) {
        const std::size_t bytes = i % 3 == 0 ? most : 1 + random() % most;
        ASSERT_TRUE(lane.out.reserve(bytes, enough)) << most << ' ' << i;
        const auto value = static_cast<unsigned char>(i);
        lane.write(bytes, value);
        ASSERT_TRUE(lane.read(bytes, value));
        lane.in.give_back(lane.in.position());
      }
    }
  }
}

TEST(Ring, FetchesAsManyLinesAsTheLastRecordHad) {
  const std::pair<std::size_t, std::size_t> records[] = {
      {8, 8}, {600, 10}, {1040, 17}, {4000, ShmMemory::kMostFetchedLines}};
  for (const auto& [bytes, lines] : records) {
    Lane lane;
    for (std::size_t line = 0; line < 100; ++line) lane.word(line * RingShape::kLine) = ~0ull;
    ASSERT_TRUE(lane.out.reserve(bytes, kShmRingBytes));
    lane.write(bytes, 1);
    const std::size_t next = lane.out.offset();
    for (std::size_t line = 0; line <= lines; ++line) {
      EXPECT_EQ(lane.word(next + line * RingShape::kLine), 0u) << bytes << ' ' << line;
    }
    EXPECT_NE(lane.word(next + (lines + 1) * RingShape::kLine), 0u) << bytes;
  }
}

TEST(Ring, BeginsAnewOnceNothingUnreadStandsThere) {
  Lane lane;
  EXPECT_FALSE(lane.out.rewind()) << "it has just begun";
  for (unsigned char value = 1; value <= 3; ++value) {
    ASSERT_TRUE(lane.out.reserve(8, kShmRingBytes));
    lane.write(8, value);
  }
  EXPECT_FALSE(lane.out.rewind()) << "its mark would take the place of what is unread";
  ASSERT_TRUE(lane.read(8, 1));
  lane.in.give_back(lane.in.position());
  EXPECT_TRUE(lane.out.rewind());
  EXPECT_EQ(lane.out.offset(), 0u);
  EXPECT_FALSE(lane.out.rewind());
  for (unsigned char value = 2; value <= 3; ++value) ASSERT_TRUE(lane.read(8, value));
  RingMark none;
  EXPECT_EQ(lane.in.peek(&none), Lane::ShmRing::Found::kNothing);
  lane.in.give_back(lane.in.position());
  ASSERT_TRUE(lane.out.reserve(8, kShmRingBytes));
  lane.write(8, 4);
  EXPECT_TRUE(lane.read(8, 4));
}

TEST(Ring, ARecordLeavesALineBehindIt) {
  constexpr std::size_t kMost = kShmWaitingLimit - RingShape::kLine - RingShape::kMarkBytes;
  for (const std::size_t bytes : {kMost, kMost + 1}) {
    Lane lane(kShmWaitingLimit);
    lane.word(0) = RingMark{RingMark::Kind::kPacket, static_cast<std::uint32_t>(bytes), 0}.word();
    RingMark mark;
    const auto found = lane.in.peek(&mark);
    EXPECT_EQ(found,
              bytes == kMost ? Lane::ShmRing::Found::kPacket : Lane::ShmRing::Found::kCorrupt);
    EXPECT_EQ(lane.in.finds_whole(&mark), bytes == kMost);
  }
}

// Whatever stands there.
TEST(Ring, LiesOfTheWriterAreNoRecords) {
  std::mt19937_64 random(4711);
  for (int i = 0; i < 20000; ++i) {
    Lane lane(kShmWaitingLimit);
    lane.word(0) = random() >> random() % 64;
    RingMark mark, whole;
    const bool found = lane.in.peek(&mark) == RingReader<ShmMemory>::Found::kPacket;
    EXPECT_EQ(lane.in.finds_whole(&whole), found && mark.left == 0) << lane.word(0);
    if (!found) continue;
    if (mark.left == 0) {
      EXPECT_EQ(whole.word(), mark.word());
    }
    EXPECT_GT(mark.bytes, 0u);
    EXPECT_LE(lane.in.content() + mark.bytes, kShmWaitingLimit);
    lane.in.advance(mark);
    EXPECT_LE(lane.in.content(), kShmWaitingLimit);
  }
  RingMark mark;
  constexpr auto kNext = static_cast<RingMark::Kind>(4);  // after the last kind there is
  for (const auto kind : {RingMark::Kind::kPacket, RingMark::Kind::kPull, kNext}) {
    Lane lane;
    lane.word(0) = RingMark{kind, kind == kNext ? 8u : 0u, 0}.word();
    EXPECT_EQ(lane.in.peek(&mark), RingReader<ShmMemory>::Found::kCorrupt);
    EXPECT_FALSE(lane.in.finds_whole(&mark));
  }
  Lane lane;
  lane.word(0) = RingMark{RingMark::Kind::kWrap, 0, 0}.word();
  EXPECT_EQ(lane.in.peek(&mark), RingReader<ShmMemory>::Found::kCorrupt) << "for ever";
}

TEST(Ring, LiesOfTheReaderAreNoticed) {
  for (const std::uint64_t tail : {std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{65}}) {
    Lane lane;
    ASSERT_TRUE(lane.out.reserve(8, kShmSmallLimit));
    lane.write(8, 1);
    lane.in.give_back(tail);
    EXPECT_FALSE(lane.out.earlier_laps_read());
    EXPECT_TRUE(lane.out.corrupt());
  }
  Lane lane;
  ASSERT_TRUE(lane.out.reserve(8, kShmSmallLimit));
  lane.write(8, 1);
  lane.in.give_back(64);
  EXPECT_TRUE(lane.out.earlier_laps_read());
  lane.in.give_back(0);
  EXPECT_FALSE(lane.out.earlier_laps_read());
  EXPECT_TRUE(lane.out.corrupt());
}

TEST(Ring, SaysWhetherEarlierLapsAreRead) {
  Lane lane;
  ASSERT_TRUE(lane.out.reserve(8, kShmSmallLimit));
  lane.write(8, 1);
  EXPECT_TRUE(lane.out.earlier_laps_read()) << "there was none";
  EXPECT_TRUE(lane.read(8, 1));
  lane.in.give_back(lane.in.position());
  ASSERT_TRUE(lane.out.reserve(8, kShmSmallLimit));
  lane.write(8, 2);
  ASSERT_TRUE(lane.out.rewind());
  EXPECT_FALSE(lane.out.earlier_laps_read());
  EXPECT_TRUE(lane.read(8, 2));
  EXPECT_FALSE(lane.read(8, 3)) << "the wrap is all there is";
  lane.in.give_back(lane.in.position());
  EXPECT_TRUE(lane.out.earlier_laps_read());
  ASSERT_TRUE(lane.out.reserve(8, kShmSmallLimit));
  lane.write(8, 3);
  EXPECT_TRUE(lane.out.earlier_laps_read()) << "what is unread is of this lap";
}

TEST(Ring, WhoSleepsIsWokenOnce) {
  Lane lane;
  call_reader(lane.words);
  EXPECT_EQ(lane.page.bells[5].load(), 1u);
  EXPECT_EQ(lane.page.news.load(), 1u);
  EXPECT_EQ(lane.woken, 0);
  lane.page.asleep.store(1);
  call_reader(lane.words);
  call_reader(lane.words);
  EXPECT_EQ(lane.woken, 1);
  lane.words.store_attention(Attention::kLooks);
  lane.page.bells[5].store(0);
  call_reader(lane.words);
  EXPECT_EQ(lane.page.bells[5].load(), 0u) << "who looks is not rung";
}

TEST(ShmKept, AreGivenBackInOrder) {
  ShmKeptPool pool;
  ShmKeptRecords records;
  std::vector<ShmKept*> kept;
  for (std::uint64_t i = 0; i < 200; ++i) kept.push_back(records.add(pool, nullptr, i));
  kept[1]->released = kept[2]->released = true;
  records.drop_released(pool);
  EXPECT_EQ(records.oldest().begin, 0u);
  kept[0]->released = true;
  records.drop_released(pool);
  EXPECT_EQ(records.oldest().begin, 3u);
  for (ShmKept* each : kept) each->released = true;
  records.drop_released(pool);
  EXPECT_TRUE(records.empty());
}

}  // namespace
}  // namespace mad
