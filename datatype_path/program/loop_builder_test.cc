// The passes, one by one.
#include "datatype_path/program/loop_builder.h"

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
  std::vector<Part> parts;
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
  std::vector<Part> parts;
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
  std::vector<Part> parts;
  for (int i = 0; i < 100; ++i) parts.push_back(at(i * i * 16, LoopBuilder::run(8)));
  const Part list = b.sequence(parts);
  EXPECT_EQ(list.loop->count, 1u);
  EXPECT_EQ(list.loop->parts.size(), 100u);
  EXPECT_EQ(list.loop->height, 1u);
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

}  // namespace
}  // namespace mad
