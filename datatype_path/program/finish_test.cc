// How each loop is copied, on both sides of every limit: the choice itself, and what it copies
// against the type map.
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "datatype_path/kernels/stream_out.h"
#include "datatype_path/program/block_program.h"
#include "gtest/gtest.h"
#include "tests/support/copies.h"

namespace mad {
namespace {

using ProgramPtr = std::shared_ptr<const BlockProgram>;

constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMin32 = std::numeric_limits<std::int32_t>::min();

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

TypeDescPtr resized(std::int64_t extent, const TypeDescPtr& type) {
  return TypeDesc::resized(0, extent, type).value();
}

ProgramPtr compile(const TypeDescPtr& type) { return BlockProgram::compile(*type).value(); }

// Compiles, and compares one element and many, more than any step takes at once.
ProgramPtr copied(const TypeDescPtr& type) {
  test::RandomTypes random(306);
  for (const std::uint64_t count : {1, 67}) test::expect_copied(*type, count, random);
  return compile(type);
}

// Runs of the lengths, at places that no stride describes; two elements have no byte twice.
TypeDescPtr list_of(const std::vector<std::uint64_t>& lengths) {
  std::vector<std::int64_t> places;
  std::int64_t place = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    places.push_back(place);
    place += static_cast<std::int64_t>(lengths[i] + 1 + i * i % 7);
  }
  return resized(place, TypeDesc::indexed(lengths, places, bytes(1)).value());
}

// `runs` of 7 bytes, but every second one of `other`.
TypeDescPtr uneven(std::size_t runs, std::uint64_t other) {
  std::vector<std::uint64_t> lengths(runs, 7);
  for (std::size_t i = 1; i < runs; i += 2) lengths[i] = other;
  return list_of(lengths);
}

// 20 runs of 8 and of `long_run` bytes, the last one at `last`: only to be looked at.
ProgramPtr list_to(std::int64_t last, std::uint64_t long_run) {
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 20; ++i) {
    lengths.push_back(i % 2 == 0 ? 8 : long_run);
    places.push_back(i * 200 + i * i * 8);
  }
  places.back() = last;
  return compile(TypeDesc::indexed(lengths, places, bytes(1)).value());
}

TEST(Lists, are_those_of_more_runs_than_a_short_body) {
  for (const std::size_t runs : {15, 16}) {
    const ProgramPtr program = copied(list_of(std::vector<std::uint64_t>(runs, 8)));
    EXPECT_EQ(program->entry().parts, runs);
    EXPECT_GT(program->entry().step_count, 0u);
    EXPECT_EQ(program->entry().narrow_offsets, nullptr);
  }
  const ProgramPtr program = copied(list_of(std::vector<std::uint64_t>(17, 8)));
  EXPECT_EQ(program->entry().step_count, 0u);
  EXPECT_EQ(program->entry().steps, nullptr);
  EXPECT_NE(program->entry().narrow_offsets, nullptr);
  EXPECT_NE(copied(uneven(17, 150))->entry().narrow_ends, nullptr);
  EXPECT_EQ(copied(uneven(16, 150))->entry().narrow_ends, nullptr);
}

TEST(Lists, keep_offsets_in_32_bits_where_all_fit) {
  for (const std::int64_t last : {kMin32, kMin32 + 1, kMax32 - 1, kMax32}) {
    const ProgramPtr program = list_to(last, 150);
    EXPECT_NE(program->entry().narrow_offsets, nullptr) << last;
    EXPECT_EQ(program->entry().offsets, nullptr);
    EXPECT_EQ(program->entry().offset(19), last);
  }
  for (const std::int64_t last : {kMin32 - 1, kMax32 + 1}) {
    const ProgramPtr program = list_to(last, 150);
    EXPECT_EQ(program->entry().narrow_offsets, nullptr) << last;
    EXPECT_EQ(program->entry().offset(19), last);
    EXPECT_NE(program->entry().narrow_ends, nullptr) << "which are looked at on their own";
  }
}

TEST(Lists, keep_ends_in_32_bits_where_the_last_fits) {
  constexpr std::uint64_t kLong = std::uint64_t{1} << 28, kMost = UINT32_MAX;
  for (const std::uint64_t size : {kMost - 1, kMost, kMost + 1}) {
    std::vector<std::uint64_t> lengths(15, kLong);
    lengths.push_back(kLong - 3);
    lengths.push_back(size - 16 * kLong + 3);
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < 17; ++i) places.push_back(i * i * 8);
    const ProgramPtr program = compile(TypeDesc::indexed(lengths, places, bytes(1)).value());
    const LoopNode& node = program->entry();
    EXPECT_EQ(node.narrow_ends != nullptr, size <= kMost) << size;
    EXPECT_NE(node.narrow_offsets, nullptr);
    EXPECT_EQ(node.part_end(16), size);
    EXPECT_EQ(node.find_part(size - 1), 16u);
    EXPECT_EQ(node.find_part(node.part_end(15) - 1), 15u);
  }
}

TEST(Lists, have_the_kernels_of_their_runs) {
  const KernelTable& table = portable_kernels();
  const auto program = [&table](std::uint64_t length, std::int64_t last) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < 20; ++i) places.push_back(i * 200 + i * i * 8);
    places.back() = last;
    return BlockProgram::compile(*TypeDesc::indexed_block(length, places, bytes(1)).value(), table)
        .value();
  };
  const auto index = [](std::uint64_t length) {
    const RunMoves moves = moves_of_run(length);
    return moves.first * KernelTable::kSizes + moves.second;
  };
  for (const std::size_t way : {0, 1}) {
    EXPECT_EQ(program(12, 90'000)->entry().list[way], table.narrow_lists[way][index(12)]);
    EXPECT_EQ(program(12, kMax32 + 1)->entry().list[way], table.wide_lists[way][index(12)]);
    EXPECT_EQ(program(127, 90'000)->entry().list[way], table.narrow_lists[way][index(127)]);
    EXPECT_EQ(program(128, 90'000)->entry().list[way], table.narrow_lists[way][index(128)]);
    EXPECT_EQ(program(129, 90'000)->entry().list[way], table.narrow_lists[way][0]) << "memcpy";
  }
  for (const std::uint64_t length : {127, 128, 129}) {
    copied(list_of(std::vector<std::uint64_t>(20, length)));
  }
}

TEST(Bodies, copy_as_many_trips_at_once_as_the_cache_holds) {
  // 15 bytes in moves of four sizes, which no kernel makes together.
  const TypeDescPtr body = TypeDesc::indexed({8, 4, 2, 1}, {0, 16, 32, 48}, bytes(1)).value();
  const auto trips = [&body](std::int64_t stride) {
    const ProgramPtr program = copied(resized(stride, body));
    EXPECT_GT(program->top().step_count, 1u);
    return program->top().trips_at_once;
  };
  EXPECT_EQ(trips(250), 64u);
  EXPECT_EQ(trips(256), 64u);
  EXPECT_EQ(trips(257), 63u);
  EXPECT_EQ(trips(-257), 63u);
  EXPECT_EQ(trips(3276), 5u);
  EXPECT_EQ(trips(3277), 4u);
  EXPECT_EQ(trips(4096), 4u);
  EXPECT_EQ(trips(5462), 4u) << "never fewer";
  // What a trip takes of the stream counts too, where elements overlap.
  const auto packed = [](std::uint64_t length) {
    return compile(resized(8, TypeDesc::indexed({length, 1}, {0, 4000}, bytes(1)).value()));
  };
  EXPECT_EQ(packed(255)->top().trips_at_once, 64u);
  EXPECT_EQ(packed(256)->top().trips_at_once, 63u);
  EXPECT_EQ(compile(resized(0, body))->top().trips_at_once, 64u);
}

TEST(Bodies, of_equal_runs_at_one_stride_are_rows) {
  const auto row = [](const std::vector<std::uint64_t>& lengths,
                      const std::vector<std::int64_t>& places) {
    const auto type = TypeDesc::indexed(lengths, places, bytes(1)).value();
    const ProgramPtr program = copied(resized(1300, type));
    EXPECT_EQ(program->top().parts, lengths.size()) << program->to_string();
    EXPECT_EQ(program->top().row != nullptr, program->top().row_stride != 0);
    return program->top().row_stride;
  };
  EXPECT_EQ(row({8}, {0}), 0) << "one run is none";
  EXPECT_EQ(row({8, 8}, {0, 24}), 24);
  EXPECT_EQ(row({8, 8, 8}, {48, 24, 0}), -24);
  EXPECT_EQ(row({8, 8, 8}, {0, 24, 49}), 0) << "the last is farther";
  EXPECT_EQ(row({8, 8, 9}, {0, 24, 48}), 0) << "the last is longer";
  EXPECT_EQ(row(std::vector<std::uint64_t>(8, 150), {0, 160, 320, 480, 640, 800, 960, 1120}), 160);
}

TEST(UnevenLists, of_mostly_short_runs_have_chunks) {
  EXPECT_EQ(copied(uneven(64, 30))->entry().chunks, nullptr) << "not one whole chunk";
  EXPECT_NE(copied(uneven(65, 30))->entry().chunks, nullptr);
  EXPECT_NE(copied(uneven(66, 30))->entry().chunks, nullptr);
  EXPECT_NE(copied(uneven(129, 30))->entry().chunks, nullptr);
  EXPECT_NE(copied(uneven(66, 127))->entry().chunks, nullptr);
  EXPECT_NE(copied(uneven(66, 128))->entry().chunks, nullptr);
  const auto of = [](std::uint64_t even, std::uint64_t odd) {
    std::vector<std::uint64_t> lengths(66, even);
    for (std::size_t i = 1; i < lengths.size(); i += 2) lengths[i] = odd;
    return copied(list_of(lengths))->entry().chunks;
  };
  EXPECT_NE(of(5, 251), nullptr) << "some may be long";
  EXPECT_NE(of(127, 129), nullptr);
  EXPECT_EQ(of(127, 131), nullptr) << "most long runs are for memcpy";
  EXPECT_EQ(copied(list_of(std::vector<std::uint64_t>(66, 7)))->entry().chunks, nullptr)
      << "runs that are alike";
}

TEST(UnevenLists, have_chunks_where_offsets_are_narrow) {
  const auto chunks = [](std::int64_t last) {
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < 66; ++i) {
      lengths.push_back(i % 2 == 0 ? 7 : 30);
      places.push_back(i * 200 + i * i * 8);
    }
    places.back() = last;
    return compile(TypeDesc::indexed(lengths, places, bytes(1)).value())->entry().chunks;
  };
  EXPECT_NE(chunks(kMax32), nullptr);
  EXPECT_EQ(chunks(kMax32 + 1), nullptr);
}

// `lengths` in words of `word` bytes.
ProgramPtr words(std::vector<std::uint64_t> lengths, std::uint64_t word) {
  for (std::uint64_t& length : lengths) length *= word;
  return copied(list_of(lengths));
}

TEST(UnevenLists, are_cut_into_pieces_of_four_bytes_or_more) {
  std::vector<std::uint64_t> lengths(20, 1);
  for (std::size_t i = 0; i < 20; i += 3) lengths[i] = 2;
  for (const std::uint64_t word : {1, 2, 3}) {
    EXPECT_EQ(words(lengths, word)->entry().pieces, nullptr) << word;
  }
  for (const std::uint64_t word : {4, 5, 12, 64, 95}) {
    const ProgramPtr program = words(lengths, word);
    const LoopNode& node = program->entry();
    ASSERT_EQ(node.parts, 20u) << "the program keeps its runs";
    EXPECT_EQ(program->shape().runs, 20u);
    ASSERT_EQ(node.piece_bytes, word);
    EXPECT_EQ(node.piece_count, 27u);
    EXPECT_EQ(node.pieces[0], 0);
    EXPECT_EQ(node.pieces[1], static_cast<std::int32_t>(word)) << "of the first run";
    EXPECT_EQ(node.pieces[2], node.offset(1)) << "the second run";
    EXPECT_EQ(node.chunks, nullptr);
  }
  EXPECT_EQ(words(lengths, 96)->entry().pieces, nullptr) << "129 bytes a run";
  lengths.assign(20, 1);
  lengths[7] = 20;
  EXPECT_EQ(words(lengths, 16)->entry().piece_count, 39u) << "one long run among short ones";
}

TEST(UnevenLists, are_cut_into_two_pieces_a_run_at_most) {
  std::vector<std::uint64_t> lengths(20, 1);
  for (std::size_t i = 0; i < 20; i += 2) lengths[i] = 3;
  EXPECT_EQ(words(lengths, 8)->entry().piece_count, 40u);
  lengths[1] = 2;
  EXPECT_EQ(words(lengths, 8)->entry().pieces, nullptr) << "41";
  lengths[3] = 2;
  lengths[0] = lengths[2] = lengths[4] = 2;
  EXPECT_EQ(words(lengths, 8)->entry().piece_count, 39u);
  // Long ones that are not, in chunks instead.
  lengths.assign(100, 1);
  for (std::size_t i = 0; i < 100; i += 2) lengths[i] = 3;
  EXPECT_EQ(words(lengths, 8)->entry().piece_count, 200u);
  lengths[1] = 2;
  const ProgramPtr program = words(lengths, 8);
  EXPECT_EQ(program->entry().pieces, nullptr);
  EXPECT_NE(program->entry().chunks, nullptr);
  // A short body as well, which is copied so where it has one trip.
  EXPECT_EQ(words({1, 2}, 8)->top().piece_count, 3u);
  EXPECT_EQ(words({1, 3}, 8)->top().piece_count, 4u);
  EXPECT_EQ(words({1, 4}, 8)->top().pieces, nullptr);
}

TEST(UnevenLists, are_cut_where_their_last_piece_is_narrow) {
  const auto cut = [](std::int64_t last) { return list_to(last, 16)->entry().pieces != nullptr; };
  EXPECT_TRUE(cut(kMin32));
  EXPECT_FALSE(cut(kMin32 - 1));
  EXPECT_TRUE(cut(kMax32 - 16));
  EXPECT_FALSE(cut(kMax32 - 16 + 1));
}

// 30 columns of `cell`, `step` bytes apart; `rows` rows, `stride` bytes apart.
ProgramPtr matrix(std::int64_t step, std::int64_t stride, std::uint64_t rows,
                  const TypeDescPtr& cell) {
  const TypeDescPtr column = TypeDesc::vector(rows, 1, stride, cell).value();
  test::RandomTypes random(306);
  test::expect_copied(*TypeDesc::resized(column->lb(), step, column).value(), 30, random);
  return compile(TypeDesc::resized(column->lb(), step, column).value());
}

ProgramPtr matrix(std::int64_t step, std::int64_t stride) {
  return matrix(step, stride, 80, bytes(1));
}

TEST(Tiles, are_for_columns_that_share_lines) {
  EXPECT_EQ(matrix(1, 800)->top().tile_trips, 64u);
  EXPECT_EQ(matrix(8, 800)->top().tile_trips, 8u);
  EXPECT_EQ(matrix(-16, 800)->top().tile_trips, 4u);
  EXPECT_EQ(matrix(31, 1000)->top().tile_trips, 2u);
  EXPECT_EQ(matrix(32, 1000)->top().tile_trips, 2u);
  EXPECT_EQ(matrix(33, 1000)->top().tile_trips, 0u) << "a line each, nearly";
  EXPECT_EQ(matrix(-33, 1000)->top().tile_trips, 0u);
  const TypeDescPtr column = TypeDesc::vector(80, 1, 800, bytes(1)).value();
  EXPECT_EQ(compile(resized(0, column))->top().tile_trips, 0u) << "one column, again and again";
}

TEST(Tiles, are_for_rows_of_lines_of_their_own) {
  // Columns of elements that are 2 bytes apart, in the gaps of one another.
  EXPECT_EQ(matrix(2, 63)->top().tile_trips, 0u);
  EXPECT_EQ(matrix(2, 64)->top().tile_trips, 32u);
  EXPECT_EQ(matrix(2, -63)->top().tile_trips, 0u);
  EXPECT_EQ(matrix(2, -65)->top().tile_trips, 32u);
}

TEST(Tiles, are_no_higher_than_the_caches_hold) {
  using Rows = std::array<std::uint32_t, 2>;   // packed, unpacked
  const auto rows = [](std::int64_t stride) {  // of two runs
    const TypeDescPtr cell = TypeDesc::indexed_block(1, {0, 2}, bytes(1)).value();
    return matrix(8, stride, 80, cell)->top().tile_rows;
  };
  EXPECT_EQ(rows(4096), (Rows{32, 8})) << "all lines at one place";
  EXPECT_EQ(rows(8192), (Rows{32, 8}));
  EXPECT_EQ(rows(-2048), (Rows{64, 16}));
  EXPECT_EQ(rows(1024), (Rows{64, 32})) << "four places";
  EXPECT_EQ(rows(512), (Rows{64, 64}));
  EXPECT_EQ(rows(256), (Rows{64, 64})) << "never more";
  EXPECT_EQ(rows(800), (Rows{64, 64}));
  EXPECT_EQ(matrix(8, 4096)->top().tile_rows, (Rows{0, 0})) << "of one run: by whole lines";
}

TEST(Tiles, are_of_columns_of_short_bodies_and_nothing_else) {
  EXPECT_EQ(matrix(8, 800, 9, bytes(4))->top().tile_trips, 8u);
  EXPECT_TRUE(matrix(8, 800, 8, bytes(4))->top().leaf()) << "written out";
  const auto cell = [](std::int64_t runs) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < runs; ++i) places.push_back(400 * i + 8 * (i * i % 7));
    return TypeDesc::indexed_block(4, places, bytes(1)).value();
  };
  EXPECT_EQ(matrix(8, 9000, 20, cell(16))->top().tile_trips, 8u);
  EXPECT_EQ(matrix(8, 9000, 20, cell(17))->top().tile_trips, 0u) << "a list";
  const TypeDescPtr column = TypeDesc::vector(20, 1, 800, bytes(4)).value();
  const TypeDescPtr and_more = TypeDesc::structure({1, 1}, {0, 20'000}, {column, bytes(4)}).value();
  test::RandomTypes random(306);
  test::expect_copied(*resized(8, and_more), 30, random);
  EXPECT_EQ(compile(resized(8, and_more))->top().tile_trips, 0u);
  EXPECT_EQ(matrix(8, 20'000, 12, column)->top().tile_trips, 0u) << "columns of columns";
}

TEST(StreamsOut, what_is_neither_a_list_of_short_runs_nor_in_tiles) {
  const auto list = [](std::int64_t runs, std::int64_t length) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < runs; ++i) places.push_back(400 * i + 8 * (i * i % 7));
    return TypeDesc::indexed_block(length, places, bytes(1)).value();
  };
  EXPECT_EQ(compile(list(16, 128))->streams_out(), kStreamsOut);
  EXPECT_FALSE(compile(list(17, 128))->streams_out());
  EXPECT_EQ(compile(list(17, 129))->streams_out(), kStreamsOut);
  EXPECT_FALSE(compile(TypeDesc::vector(9, 1, 100'000, list(17, 8)).value())->streams_out());
  EXPECT_EQ(matrix(33, 1000)->streams_out(), kStreamsOut);
  EXPECT_FALSE(matrix(32, 1000)->streams_out());
}

TEST(Entry, is_the_loop_that_an_element_consists_of) {
  const auto program = compile(TypeDesc::vector(1000, 1, 24, bytes(8)).value());
  EXPECT_EQ(program->entry().count, 1000u);
  EXPECT_EQ(program->entry().stride, 24);
  EXPECT_EQ(program->entry_offset(), 0);
  const TypeDescPtr rows = TypeDesc::vector(50, 1, 24, bytes(8)).value();
  const auto moved = compile(TypeDesc::indexed({1}, {-64}, rows).value());
  EXPECT_EQ(moved->entry().count, 50u);
  EXPECT_EQ(moved->entry_offset(), -64);
  const auto nest = compile(TypeDesc::vector(20, 1, 5000, rows).value());
  EXPECT_EQ(nest->entry().count, 20u) << "and not the loop of 50, which it repeats";
  const auto two =
      compile(TypeDesc::structure({1, 1}, {64, 100000},
                                  {rows, TypeDesc::vector(50, 1, 32, bytes(8)).value()})
                  .value());
  EXPECT_EQ(&two->entry(), &two->top()) << "it holds two loops";
}

}  // namespace
}  // namespace mad
