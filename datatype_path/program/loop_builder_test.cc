// The passes, one by one.
#include "datatype_path/program/loop_builder.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

Part at(std::int64_t offset, const Part& part) { return part.moved(offset); }

TEST(Repeat, folds_dense_runs) {
  LoopBuilder b;
  const Part run = b.repeat(at(16, LoopBuilder::run(8)), 10, 8);
  EXPECT_TRUE(run.is_run());
  EXPECT_EQ(run.offset, 16);
  EXPECT_EQ(run.size, 80u);
  EXPECT_TRUE(b.loops().empty());
}

TEST(Repeat, of_nothing_or_once_is_what_it_was) {
  LoopBuilder b;
  EXPECT_EQ(b.repeat(LoopBuilder::run(8), 0, 8).size, 0u);
  EXPECT_EQ(b.repeat(Part{}, 5, 8).size, 0u);
  EXPECT_EQ(b.repeat(at(3, LoopBuilder::run(8)), 1, 99), at(3, LoopBuilder::run(8)));
}

TEST(Repeat, makes_a_loop_with_its_first_byte_at_its_offset) {
  LoopBuilder b;
  const Part loop = b.repeat(at(16, LoopBuilder::run(8)), 10, -24);
  ASSERT_FALSE(loop.is_run());
  EXPECT_EQ(loop.offset, 16);
  EXPECT_EQ(loop.size, 80u);
  EXPECT_EQ(loop.loop->count, 10u);
  EXPECT_EQ(loop.loop->stride, -24);
  ASSERT_EQ(loop.loop->parts.size(), 1u);
  EXPECT_EQ(loop.loop->parts[0], LoopBuilder::run(8));
  EXPECT_EQ(loop.loop->height, 1u);
}

TEST(Repeat, goes_on_where_the_inner_loop_ended) {
  LoopBuilder b;
  const Part inner = b.repeat(LoopBuilder::run(8), 10, 24);
  const Part outer = b.repeat(inner, 7, 240);
  EXPECT_EQ(outer.loop->count, 70u);
  EXPECT_EQ(outer.loop->stride, 24);
  EXPECT_EQ(outer.loop->height, 1u);
  const Part apart = b.repeat(inner, 7, 241);
  EXPECT_EQ(apart.loop->height, 2u);
  EXPECT_EQ(apart.size, 560u);
}

TEST(Repeat, writes_small_nests_out) {
  LoopBuilder b;
  const Part inner = b.repeat(LoopBuilder::run(8), 3, 24);
  const Part outer = b.repeat(inner, 100, 1000);
  EXPECT_EQ(outer.loop->height, 1u);
  EXPECT_EQ(outer.loop->parts.size(), 3u);
  EXPECT_EQ(outer.loop->parts[2], at(48, LoopBuilder::run(8)));
}

TEST(Repeat, merges_runs_that_touch_once_written_out) {
  LoopBuilder b;
  // 0..4 and 8..12, and again 12 bytes further: 8..16 is one run.
  const Part pair = b.sequence({LoopBuilder::run(4), at(8, LoopBuilder::run(4))});
  const Part outer = b.repeat(b.repeat(pair, 2, 12), 100, 1000);
  ASSERT_EQ(outer.loop->parts.size(), 3u);
  EXPECT_EQ(outer.loop->parts[1], at(8, LoopBuilder::run(8)));
  EXPECT_EQ(outer.size, 1600u);
}

TEST(Sequence, drops_nothing_and_merges_what_touches) {
  LoopBuilder b;
  const Part run = b.sequence({LoopBuilder::run(8), Part{}, at(8, LoopBuilder::run(4)), Part{},
                               at(12, LoopBuilder::run(1))});
  EXPECT_EQ(run, LoopBuilder::run(13));
  EXPECT_EQ(b.sequence({}).size, 0u);
  EXPECT_EQ(b.sequence({Part{}, Part{}}).size, 0u);
}

TEST(Sequence, keeps_packed_order) {
  LoopBuilder b;
  // Touching in memory, but the later one comes first.
  const Part list = b.sequence({at(8, LoopBuilder::run(8)), LoopBuilder::run(8)});
  ASSERT_FALSE(list.is_run());
  EXPECT_EQ(list.offset, 8);
  EXPECT_EQ(list.size, 16u);
  EXPECT_EQ(list.loop->count * list.loop->parts.size(), 2u);
}

TEST(Sequence, finds_the_period_of_a_list) {
  LoopBuilder b;
  std::pmr::vector<Part> parts;
  for (int i = 0; i < 50; ++i) {
    parts.push_back(at(100 * i, LoopBuilder::run(8)));
    parts.push_back(at(100 * i + 20, LoopBuilder::run(4)));
  }
  const Part loop = b.sequence(parts);
  EXPECT_EQ(loop.loop->count, 50u);
  EXPECT_EQ(loop.loop->stride, 100);
  EXPECT_EQ(loop.loop->parts.size(), 2u);
  EXPECT_EQ(loop.size, 600u);
}

TEST(Sequence, finds_long_stretches) {
  LoopBuilder b;
  std::pmr::vector<Part> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(at(16 * i, LoopBuilder::run(8)));
  parts.push_back(at(-100, LoopBuilder::run(5)));
  const Part list = b.sequence(parts);
  ASSERT_EQ(list.loop->parts.size(), 2u);
  EXPECT_EQ(list.loop->parts[0].loop->count, 100u);
  EXPECT_TRUE(list.loop->parts[1].is_run());
  EXPECT_EQ(list.size, 805u);
}

TEST(Sequence, leaves_irregular_lists_alone) {
  LoopBuilder b;
  std::pmr::vector<Part> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(at(i * i * 16, LoopBuilder::run(8)));
  const Part list = b.sequence(parts);
  EXPECT_EQ(list.loop->count, 1u);
  EXPECT_EQ(list.loop->parts.size(), 100u);
  EXPECT_EQ(list.loop->height, 1u);
}

// Runs of 8 bytes, no two of them touching, at places that no stride describes.
std::pmr::vector<Part> irregular(std::size_t parts) {
  std::pmr::vector<Part> out;
  for (std::size_t i = 0; i < parts; ++i) {
    out.push_back(at(static_cast<std::int64_t>(16 * i * i), LoopBuilder::run(8)));
  }
  return out;
}

TEST(SmallNests, have_eight_parts_at_most) {
  LoopBuilder b;
  const Part pair = b.sequence({LoopBuilder::run(8), at(20, LoopBuilder::run(4))});
  const Part three = b.sequence(irregular(3));
  struct {
    Part inner;
    std::size_t parts;
  } const nests[] = {
      {b.repeat(LoopBuilder::run(8), 7, 24), 7},
      {b.repeat(LoopBuilder::run(8), 8, 24), 8},
      {b.repeat(LoopBuilder::run(8), 9, 24), 1},
      {b.repeat(pair, 4, 100), 8},
      {b.repeat(pair, 5, 100), 1},
      {b.repeat(three, 2, 100), 6},
      {b.repeat(three, 3, 100), 1},
  };
  for (const auto& nest : nests) {
    const bool written_out = nest.parts > 1;
    const Part outer = b.repeat(nest.inner, 100, 10'000);
    EXPECT_EQ(outer.loop->parts.size(), nest.parts);
    EXPECT_EQ(outer.loop->height, written_out ? 1u : 2u);
    const Part list = b.sequence({at(-900, LoopBuilder::run(3)), nest.inner});
    EXPECT_EQ(list.loop->parts.size(), 1 + nest.parts);
    EXPECT_EQ(list.loop->height, written_out ? 1u : 2u);
    EXPECT_EQ(list.size, 3 + nest.inner.size);
  }
}

TEST(Sequence, finds_periods_of_64_parts_at_most) {
  LoopBuilder b;
  for (const std::size_t parts : {63, 64, 65}) {
    std::pmr::vector<Part> twice = irregular(parts);
    for (const Part& part : irregular(parts)) twice.push_back(at(1'000'000, part));
    const Part list = b.sequence(twice);
    EXPECT_EQ(list.loop->count, parts <= 64 ? 2u : 1u);
    EXPECT_EQ(list.loop->parts.size(), parts <= 64 ? parts : 2 * parts);
    EXPECT_EQ(list.size, 2 * parts * 8);
  }
}

TEST(Repeat, refers_to_lists_of_more_than_64_parts) {
  LoopBuilder b;
  for (const std::size_t parts : {63, 64, 65}) {
    const Part list = b.sequence(irregular(parts));
    const Part loop = b.repeat(list, 10, 1'000'000);
    EXPECT_EQ(loop.loop->parts.size(), parts <= 64 ? parts : 1);
    EXPECT_EQ(loop.loop->height, parts <= 64 ? 1u : 2u);
    EXPECT_EQ(loop.size, 10 * list.size);
  }
}

TEST(Sequence, makes_loops_of_stretches_of_more_than_eight) {
  LoopBuilder b;
  for (const std::int64_t length : {7, 8, 9}) {
    std::pmr::vector<Part> parts;
    for (std::int64_t i = 0; i < length; ++i) parts.push_back(at(24 * i, LoopBuilder::run(8)));
    for (std::int64_t i = 0; i < length; ++i) parts.push_back(at(900 + 32 * i, parts[0]));
    const Part list = b.sequence(parts);
    EXPECT_EQ(list.loop->parts.size(), length > 8 ? 2 : parts.size());
    EXPECT_EQ(list.loop->height, length > 8 ? 2u : 1u);
  }
}

TEST(Sequence, makes_loops_where_a_quarter_of_the_list_is_left) {
  LoopBuilder b;
  for (const std::int64_t length : {12, 13, 14}) {
    std::pmr::vector<Part> parts;
    for (std::int64_t i = 0; i < length; ++i) parts.push_back(at(24 * i, LoopBuilder::run(8)));
    for (const std::uint64_t other : {1, 2, 3}) parts.push_back(at(-900, LoopBuilder::run(other)));
    const Part list = b.sequence(parts);  // 4 of 15, of 16, of 17
    EXPECT_EQ(list.loop->parts.size(), length < 13 ? parts.size() : 4);
    EXPECT_EQ(list.size, 8 * static_cast<std::uint64_t>(length) + 6);
  }
}

TEST(Loops, that_are_equal_are_stored_once) {
  LoopBuilder b;
  const Part one = b.repeat(LoopBuilder::run(8), 10, 24);
  const Part same = b.repeat(at(400, LoopBuilder::run(8)), 10, 24);
  EXPECT_EQ(one.loop, same.loop);
  EXPECT_EQ(same.offset, 400);
  EXPECT_NE(b.repeat(LoopBuilder::run(8), 10, 25).loop, one.loop);
  EXPECT_EQ(b.loops().size(), 2u);
}

TEST(Loops, of_long_lists_differ_in_any_part) {
  LoopBuilder b;
  const std::pmr::vector<Part> parts = irregular(1000);
  const Part list = b.sequence(parts);
  EXPECT_EQ(b.sequence(parts).loop, list.loop);
  for (const std::size_t other : {1u, 2u, 3u, 4u, 999u}) {
    std::pmr::vector<Part> changed = parts;
    changed[other] = at(4, changed[other]);
    EXPECT_NE(b.sequence(changed).loop, list.loop) << other;
  }
}

// Lists of one hash are compared one by one: a type of many would take the square of their number.
TEST(Loops, have_another_hash_where_any_part_differs) {
  for (const std::size_t parts : {16, 64, 1000}) {
    LoopBuilder b;
    const std::pmr::vector<Part> list = irregular(parts);
    std::set<std::uint64_t> hashes{b.sequence(list).loop->hash()};
    for (std::size_t other = 0; other < parts; ++other) {
      std::pmr::vector<Part> moved = list, longer = list;
      moved[other] = at(4, moved[other]);
      longer[other].size += 4;
      hashes.insert(b.sequence(moved).loop->hash());
      hashes.insert(b.sequence(longer).loop->hash());
    }
    EXPECT_EQ(hashes.size(), 1 + 2 * parts);
    EXPECT_EQ(b.loops().size(), hashes.size());
  }
}

}  // namespace
}  // namespace mad
