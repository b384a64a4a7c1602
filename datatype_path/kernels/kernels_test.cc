// Lists of runs of every length around the kernels' limits, with every instruction set that this
// processor has, in both directions; what is not of a run must stay as it was.
#include "datatype_path/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "datatype_path/kernels/kernel_tables.h"
#include "datatype_path/kernels/spaced_stores.h"
#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::byte kGuard{0xee};

std::uint64_t address(std::vector<std::byte>& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}

TEST(MovesOfRun, cover_the_run_and_no_more) {
  for (std::uint64_t length = 1; length <= kLongestShortRun; ++length) {
    const RunMoves moves = moves_of_run(length);
    const std::uint64_t first = std::uint64_t{1} << (moves.first - 1);
    ASSERT_LE(first, length);
    ASSERT_GE(moves.first, moves.second) << length;
    if (moves.second == 0) {
      ASSERT_EQ(first, length);
      continue;
    }
    const std::uint64_t second = std::uint64_t{1} << (moves.second - 1);
    ASSERT_EQ(moves.second_at + second, length);
    ASSERT_LE(moves.second_at, first) << length << ": a hole between the moves";
  }
}

TEST(KernelTables, have_a_kernel_for_one_and_two_moves_of_any_sizes) {
  std::set<std::string> names;
  for (const KernelTable* table : runnable_kernels()) {
    EXPECT_TRUE(names.insert(table->name).second) << table->name;
    for (const Direction way : {Direction::kPack, Direction::kUnpack}) {
      const auto at = static_cast<std::size_t>(way);
      ASSERT_NE(table->long_run[at], nullptr);
      for (std::uint8_t a = 0; a < KernelTable::kSizes; ++a) {
        for (std::uint8_t b = 0; b <= a; ++b) {
          ASSERT_NE(table->narrow_lists[at][a * 8 + b], nullptr);
          ASSERT_NE(table->wide_lists[at][a * 8 + b], nullptr);
          const std::uint8_t sizes[] = {a, b};
          if (b > 0) {
            ASSERT_NE(find_trips_kernel(*table, way, sizes, 2), nullptr);
          }
          if (a > 0) {
            ASSERT_NE(find_trips_kernel(*table, way, sizes, 1), nullptr);
          }
        }
      }
    }
  }
}

TEST(KernelTables, have_one_for_the_members_of_structures) {
  const auto has = [](std::vector<std::uint8_t> sizes) {
    return find_trips_kernel(portable_kernels(), Direction::kPack, sizes.data(), sizes.size()) !=
           nullptr;
  };
  EXPECT_TRUE(has({5, 4, 1}));
  EXPECT_TRUE(has({4, 3, 3, 1}));
  EXPECT_TRUE(has({4, 4, 4, 4}));
  EXPECT_FALSE(has({6, 4, 1})) << "32 bytes";
  EXPECT_FALSE(has({4, 3, 2, 1})) << "2 bytes";
  EXPECT_FALSE(has({5, 4, 3, 1})) << "16 bytes among four";
}

TEST(KernelTables, of_the_best_is_one_that_runs_here) {
  const std::vector<const KernelTable*> tables = runnable_kernels();
  EXPECT_EQ(&best_kernels(), tables.back());
}

TEST(TripsKernels, take_a_place_anywhere_in_64_bits) {
  const std::uint8_t words[] = {4};  // a move of 8 bytes
  std::vector<std::byte> layout(32);
  for (std::size_t i = 0; i < layout.size(); ++i) layout[i] = static_cast<std::byte>(i);
  for (const KernelTable* table : runnable_kernels()) {
    for (const std::int64_t place : {INT64_MIN, INT64_MAX}) {
      TripsStep step;
      step.layout[0] = place;
      step.body_bytes = 8;
      const std::uint64_t start = address(layout) - static_cast<std::uint64_t>(place);
      std::vector<std::byte> stream(16), other(layout.size());
      find_trips_kernel(*table, Direction::kPack, words, 1)(step, stream.data(), start, 24, 2);
      EXPECT_TRUE(std::equal(stream.begin(), stream.begin() + 8, layout.begin())) << table->name;
      EXPECT_TRUE(std::equal(stream.begin() + 8, stream.end(), layout.begin() + 24));
      const std::uint64_t to = address(other) - static_cast<std::uint64_t>(place);
      find_trips_kernel(*table, Direction::kUnpack, words, 1)(step, stream.data(), to, 24, 2);
      EXPECT_TRUE(std::equal(stream.begin(), stream.begin() + 8, other.begin())) << table->name;
      EXPECT_TRUE(std::equal(stream.begin() + 8, stream.end(), other.begin() + 24));
    }
  }
}

// Runs of 8 and 24 bytes, as far apart as the rows of matrices are.
TEST(TripsKernels, unpack_columns_of_every_pitch_and_height) {
  constexpr std::uint64_t kMostRows = 100, kMostPitch = 8192;
  std::vector<std::byte> stream(kMostRows * 24);
  for (std::size_t i = 0; i < stream.size(); ++i) stream[i] = static_cast<std::byte>(i % 237);
  std::vector<std::byte> layout((kMostRows + 1) * kMostPitch, kGuard);
  for (const KernelTable* table : runnable_kernels()) {
    for (const std::vector<std::uint8_t>& sizes : {std::vector<std::uint8_t>{4}, {5, 4}}) {
      TripsStep step;
      step.body_bytes = sizes.size() == 1 ? 8 : 24;
      step.stream[1] = step.layout[1] = 16;
      for (const std::int64_t pitch :
           {64, 512, 576, 1024, 2048, 4096, 8192, -512, -1024, -2048, -4096}) {
        for (std::uint64_t rows = 0; rows <= kMostRows; rows += rows < 20 ? 1 : 20) {
          std::byte* const first = layout.data() + (pitch < 0 ? rows * kMostPitch : 0);
          find_trips_kernel(*table, Direction::kUnpack, sizes.data(), sizes.size())(
              step, stream.data(), reinterpret_cast<std::uintptr_t>(first), pitch, rows);
          for (std::uint64_t row = 0; row < rows; ++row) {
            std::byte* const run = first + static_cast<std::int64_t>(row) * pitch;
            const auto packed = stream.begin() + static_cast<std::ptrdiff_t>(row * step.body_bytes);
            ASSERT_TRUE(std::equal(run, run + step.body_bytes, packed)) << pitch << " " << row;
            std::fill(run, run + step.body_bytes, kGuard);
          }
        }
      }
    }
  }
  EXPECT_EQ(std::count(layout.begin(), layout.end(), kGuard),
            static_cast<std::ptrdiff_t>(layout.size()));
}

// Longer runs, and short ones of many rows.
TEST(TripsKernels, unpack_wide_and_high_columns) {
  struct Column {
    std::uint64_t length;
    std::int64_t pitch;
    std::uint64_t rows;
  };
  for (const KernelTable* table : runnable_kernels()) {
    for (const Column& column : {Column{200, 4096, 40}, Column{200, -4096, 40},
                                 Column{300, 8192, 40}, Column{8, 512, 700}}) {
      const auto reach = static_cast<std::uint64_t>(std::abs(column.pitch));
      std::vector<std::byte> stream(column.rows * column.length);
      for (std::size_t i = 0; i < stream.size(); ++i) stream[i] = static_cast<std::byte>(i % 237);
      std::vector<std::byte> layout((column.rows + 1) * reach, kGuard);
      std::byte* const first = layout.data() + (column.pitch < 0 ? column.rows * reach : 0);
      TripsStep step;
      step.body_bytes = step.length = column.length;
      const std::uint8_t word[] = {4};
      const TripsKernel kernel = column.length > kLongestShortRun
                                     ? table->long_run[1]
                                     : find_trips_kernel(*table, Direction::kUnpack, word, 1);
      kernel(step, stream.data(), reinterpret_cast<std::uintptr_t>(first), column.pitch,
             column.rows);
      std::uint64_t others = layout.size();
      for (std::uint64_t row = 0; row < column.rows; ++row) {
        const std::byte* const run = first + static_cast<std::int64_t>(row) * column.pitch;
        const auto packed = stream.begin() + static_cast<std::ptrdiff_t>(row * column.length);
        ASSERT_TRUE(std::equal(run, run + column.length, packed)) << column.pitch << " " << row;
        others -= column.length;
      }
      EXPECT_EQ(std::count(layout.begin(), layout.end(), kGuard),
                static_cast<std::ptrdiff_t>(others));
    }
  }
}

TEST(SpacedStores, are_made_few_at_a_time_where_they_crowd_a_set) {
  const auto minus = [](std::uint64_t stride) { return 0 - stride; };
  for (const std::uint64_t stride : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{256},
                                     std::uint64_t{576}, std::uint64_t{4096 + 64}}) {
    EXPECT_EQ(stores_at_once(stride, 8, 1000), 1000u) << stride;
    EXPECT_EQ(stores_at_once(minus(stride), 8, 1000), 1000u) << stride;
  }
  for (const std::uint64_t stride :
       {std::uint64_t{1024}, std::uint64_t{3072}, std::uint64_t{4096}, std::uint64_t{40960}}) {
    EXPECT_LT(stores_at_once(stride, 8, 65), 65u) << stride;
    EXPECT_LT(stores_at_once(minus(stride), 64, 65), 65u) << stride;
    EXPECT_EQ(stores_at_once(stride, 8, 16), 16u) << stride;
    EXPECT_EQ(stores_at_once(stride, 512, 100), 100u) << "long runs";
  }
  EXPECT_LT(stores_at_once(4096, 200, 1000), 1000u);
  EXPECT_EQ(stores_at_once(4096, 200, 2000), 2000u) << "they come from memory";
  EXPECT_EQ(stores_at_once(512, 8, 500), 500u) << "they are found in the second-level cache";
  EXPECT_LT(stores_at_once(512, 8, 600), 600u);
  EXPECT_EQ(stores_at_once(512, 24, 600), 600u);
}

// Packs runs of `length` bytes from `places` of a layout, and unpacks them to another one.
template <typename Offset>
void check_list(const KernelTable& table, std::uint64_t length, const std::vector<Offset>& places) {
  const RunMoves moves = length <= kLongestShortRun ? moves_of_run(length) : RunMoves{};
  const std::size_t index = moves.first * KernelTable::kSizes + moves.second;
  const auto& lists = sizeof(Offset) == 4 ? table.narrow_lists : table.wide_lists;
  std::vector<std::byte> layout(2300), stream(places.size() * length + 2, kGuard);
  for (std::size_t i = 0; i < layout.size(); ++i) {
    layout[i] = static_cast<std::byte>((i * i + i / 7) % 238);  // never the guard
  }
  lists[0][index](stream.data() + 1, address(layout) + 400, places.data(), places.size(), length);
  std::vector<std::byte> packed{kGuard}, expected(layout.size(), kGuard);
  for (const Offset place : places) {
    const auto first = layout.begin() + 400 + place;
    packed.insert(packed.end(), first, first + static_cast<std::ptrdiff_t>(length));
    std::copy(first, first + static_cast<std::ptrdiff_t>(length), expected.begin() + 400 + place);
  }
  packed.push_back(kGuard);
  ASSERT_EQ(stream, packed) << table.name << " " << length;
  std::vector<std::byte> other(layout.size(), kGuard);
  lists[1][index](stream.data() + 1, address(other) + 400, places.data(), places.size(), length);
  ASSERT_EQ(other, expected) << table.name << " " << length;
}

TEST(ListKernels, copy_runs_of_every_length) {
  for (const KernelTable* table : runnable_kernels()) {
    for (std::uint64_t length = 1; length <= 300; ++length) {
      check_list<std::int32_t>(*table, length, {700, 0, 1500, 350, -400, 1100});
      check_list<std::int64_t>(*table, length, {700, 0, 1500, 350, -400, 1100});
      check_list<std::int32_t>(*table, length, {});
    }
  }
}

}  // namespace
}  // namespace mad
