#include <cstdint>
#include <memory>
#include <vector>

#include "datatype_path/program/block_program.h"
#include "gtest/gtest.h"

namespace mad {
namespace {

std::shared_ptr<const BlockProgram> compile(Result<TypeDescPtr> type) {
  return BlockProgram::compile(**type).value();
}

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

// Blocks of 8 and of 80 bytes in turn, at places that no stride describes.
std::shared_ptr<const BlockProgram> list(std::size_t blocks, std::int64_t last) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < blocks; ++i) {
    lengths.push_back(i % 2 == 0 ? 1 : 10);
    places.push_back(static_cast<std::int64_t>(i * 200 + i * i * 8));
  }
  places.back() = last;
  return compile(TypeDesc::indexed(lengths, places, bytes(8)));
}

const LoopNode& list_node(const BlockProgram& program) { return program.entry(); }

TEST(Lists, are_narrow_where_they_fit) {
  const auto program = list(20, 100000);
  const LoopNode& node = list_node(*program);
  ASSERT_EQ(node.parts, 20u);
  EXPECT_NE(node.narrow_offsets, nullptr);
  EXPECT_NE(node.narrow_ends, nullptr);
  EXPECT_EQ(node.offsets, nullptr);
  EXPECT_EQ(node.offset(19) - node.offset(0), 100000);
  EXPECT_EQ(node.part_end(19), 10u * 8 + 10 * 80);
}

TEST(Lists, are_wide_where_a_place_needs_it) {
  const std::int64_t far = std::int64_t{1} << 40;
  const auto program = list(20, far);
  const LoopNode& node = list_node(*program);
  EXPECT_EQ(node.narrow_offsets, nullptr);
  EXPECT_NE(node.narrow_ends, nullptr);
  EXPECT_EQ(node.offset(19) - node.offset(0), far);
}

TEST(Bodies, of_few_runs_have_steps) {
  const auto program = list(5, 10000);
  EXPECT_GT(program->entry().step_count, 0u);
  EXPECT_EQ(program->entry().narrow_offsets, nullptr);
  EXPECT_EQ(program->entry().row, nullptr) << "the runs differ";
}

TEST(Bodies, of_equal_runs_at_one_stride_are_rows) {
  const auto program = compile(TypeDesc::vector(6, 1, 24, bytes(8)));
  const LoopNode& node = program->entry();
  ASSERT_EQ(node.parts, 6u) << "written out";
  ASSERT_NE(node.row, nullptr);
  EXPECT_EQ(node.row_stride, 24);
}

TEST(Lists, of_uneven_short_runs_have_chunks) {
  const auto program = list(200, 5'000'000);
  EXPECT_NE(list_node(*program).chunks, nullptr);
  EXPECT_EQ(list_node(*list(60, 5'000'000)).chunks, nullptr) << "not one whole chunk";
  EXPECT_EQ(list_node(*list(200, std::int64_t{1} << 40)).chunks, nullptr) << "wide offsets";
}

TEST(Lists, of_runs_of_few_equal_pieces_are_cut) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 100; ++i) {
    lengths.push_back(i % 3 == 0 ? 2 : 1);
    places.push_back(40 * i + i * i % 7);
  }
  const auto program = compile(TypeDesc::indexed(lengths, places, bytes(12)));
  const LoopNode& node = list_node(*program);
  ASSERT_EQ(node.parts, 100u) << "the program keeps its runs";
  EXPECT_EQ(program->shape().runs, 100u);
  ASSERT_EQ(node.piece_bytes, 12u);
  EXPECT_EQ(node.pieces[0], 0);
  EXPECT_EQ(node.pieces[1], 12) << "of the first run";
  EXPECT_EQ(node.pieces[2], node.offset(1)) << "the second run";
  EXPECT_EQ(node.chunks, nullptr);
  EXPECT_EQ(list_node(*list(200, 5'000'000)).pieces, nullptr) << "5.5 pieces a run";
}

// `step` bytes from column to column, `stride` from row to row.
std::shared_ptr<const BlockProgram> matrix(std::int64_t step, std::int64_t stride) {
  return compile(TypeDesc::resized(0, step, TypeDesc::vector(100, 1, stride, bytes(4)).value()));
}

TEST(Tiles, are_for_columns_that_share_lines) {
  EXPECT_EQ(matrix(8, 800)->top().tile_trips, 8u);
  EXPECT_EQ(matrix(-16, 800)->top().tile_trips, 4u);
  EXPECT_EQ(matrix(64, 800)->top().tile_trips, 0u) << "a line each";
  EXPECT_EQ(matrix(8, 32)->top().tile_trips, 0u) << "rows share lines themselves";
}

TEST(Tiles, are_no_higher_than_the_cache_holds) {
  EXPECT_EQ(matrix(8, 4096)->top().tile_rows, 8u) << "all lines at one place";
  EXPECT_EQ(matrix(8, 1024)->top().tile_rows, 32u) << "four places";
  EXPECT_EQ(matrix(8, 800)->top().tile_rows, 64u);
}

TEST(Entry, is_the_loop_that_an_element_consists_of) {
  const auto program = compile(TypeDesc::vector(1000, 1, 24, bytes(8)));
  EXPECT_EQ(program->entry().count, 1000u);
  EXPECT_EQ(program->entry().stride, 24);
  EXPECT_EQ(program->entry_offset(), 0);
  const auto two = compile(TypeDesc::structure({1, 1}, {64, 100000},
                                               {TypeDesc::vector(50, 1, 24, bytes(8)).value(),
                                                TypeDesc::vector(50, 1, 32, bytes(8)).value()}));
  EXPECT_EQ(&two->entry(), &two->top()) << "it holds two loops";
}

}  // namespace
}  // namespace mad
