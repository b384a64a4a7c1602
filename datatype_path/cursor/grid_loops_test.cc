// What two layouts have in common, and every order in which it is copied.
#include "datatype_path/cursor/grid_loops.h"

#include <cstdint>
#include <vector>

#include "datatype_path/kernels/kernel_tables.h"
#include "gtest/gtest.h"

namespace mad {
namespace {

RunLoops runs(std::uint64_t run, std::vector<RunLoops::Loop> loops) {
  RunLoops out;
  out.address = 0;
  out.run = run;
  for (const RunLoops::Loop& loop : loops) out.loops[out.count++] = loop;
  return out;
}

void expect_loop(const Grid::Loop& loop, std::uint64_t trips, std::int64_t from, std::int64_t to) {
  EXPECT_EQ(loop.trips, trips);
  EXPECT_EQ(loop.from, from);
  EXPECT_EQ(loop.to, to);
}

TEST(CommonLoops, of_equal_runs_are_the_shorter_loop) {
  const GridLoops grid = common_loops(runs(8, {{10, 16}}), runs(8, {{6, 24}}), SIZE_MAX);
  ASSERT_EQ(grid.count, 1u);
  expect_loop(grid.loops[0], 6, 16, 24);
  EXPECT_EQ(grid.bytes, 48u);
}

TEST(CommonLoops, of_rows_and_columns_are_both) {
  // 5 rows of 3 elements of 16 bytes, as 5 columns of 3.
  const GridLoops grid =
      common_loops(runs(48, {{5, 1000}}), runs(16, {{3, 2000}, {5, 16}}), SIZE_MAX);
  ASSERT_EQ(grid.count, 2u);
  EXPECT_EQ(grid.run, 16u);
  expect_loop(grid.loops[0], 3, 16, 2000);
  expect_loop(grid.loops[1], 5, 1000, 16);
  EXPECT_EQ(grid.bytes, 240u);
}

TEST(CommonLoops, split_a_loop_that_is_a_multiple) {
  const GridLoops grid =
      common_loops(runs(8, {{12, 10}}), runs(8, {{4, 100}, {7, 1000}}), SIZE_MAX);
  ASSERT_EQ(grid.count, 2u);
  expect_loop(grid.loops[0], 4, 10, 100);
  expect_loop(grid.loops[1], 3, 40, 1000);
}

TEST(CommonLoops, are_cut_to_the_size) {
  const RunLoops rows = runs(8, {{4, 10}, {9, 100}});
  EXPECT_EQ(common_loops(rows, rows, 8 * 4 * 5 + 9).bytes, 8u * 4 * 5);
  EXPECT_EQ(common_loops(rows, rows, 8 * 4 + 7).bytes, 8u * 4);
  EXPECT_EQ(common_loops(rows, rows, 25).bytes, 24u);
  EXPECT_EQ(common_loops(rows, rows, 8).bytes, 8u);
  EXPECT_EQ(common_loops(rows, rows, 7).bytes, 0u);
}

TEST(CommonLoops, are_none_of_runs_that_are_no_multiples) {
  EXPECT_EQ(common_loops(runs(24, {{9, 30}}), runs(16, {{9, 30}}), SIZE_MAX).bytes, 0u);
}

// Every order of two and three loops on either side, and strides of less and more than a line.
TEST(CopyLoops, copies_every_run_once_in_whatever_order) {
  constexpr std::uint64_t kTrips[] = {5, 9, 3};
  constexpr std::int64_t kOrders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                         {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const KernelTable* table : runnable_kernels()) {
    for (const std::uint64_t run : {1u, 4u, 16u, 24u, 70u, 200u}) {
      for (const auto& from_order : kOrders) {
        for (const auto& to_order : kOrders) {
          GridLoops grid;
          grid.run = run;
          grid.count = 3;
          std::int64_t from_span = static_cast<std::int64_t>(run), to_span = from_span + 3;
          for (std::size_t d = 0; d < 3; ++d) {
            Grid::Loop& read = grid.loops[static_cast<std::size_t>(from_order[d])];
            Grid::Loop& written = grid.loops[static_cast<std::size_t>(to_order[d])];
            read.from = from_span;
            written.to = to_span;
            from_span *= static_cast<std::int64_t>(kTrips[from_order[d]]);
            to_span *= static_cast<std::int64_t>(kTrips[to_order[d]]);
          }
          for (std::size_t d = 0; d < 3; ++d) grid.loops[d].trips = kTrips[d];
          std::vector<std::byte> from(static_cast<std::size_t>(from_span));
          std::vector<std::byte> to(static_cast<std::size_t>(to_span)), expected = to;
          for (std::size_t i = 0; i < from.size(); ++i)
            from[i] = static_cast<std::byte>(1 + i % 251);
          grid.from = reinterpret_cast<std::uintptr_t>(from.data());
          grid.to = reinterpret_cast<std::uintptr_t>(to.data());
          for (std::uint64_t i = 0; i < kTrips[0] * kTrips[1] * kTrips[2]; ++i) {
            const std::uint64_t at[] = {i % kTrips[0], i / kTrips[0] % kTrips[1],
                                        i / kTrips[0] / kTrips[1]};
            std::uint64_t read = 0, written = 0;
            for (std::size_t d = 0; d < 3; ++d) {
              read += at[d] * static_cast<std::uint64_t>(grid.loops[d].from);
              written += at[d] * static_cast<std::uint64_t>(grid.loops[d].to);
            }
            for (std::uint64_t b = 0; b < run; ++b) expected[written + b] = from[read + b];
          }
          copy_loops(grid, *table);
          ASSERT_EQ(to, expected) << table->name << " run " << run;
        }
      }
    }
  }
}

// Columns at the same place of their pages go by a buffer, more of them than it holds at once, and
// in loops around them.
TEST(CopyLoops, of_columns_that_collide) {
  constexpr std::uint64_t kPage = 4096, kRows = 300, kPlanes = 3, kBoxes = 2;
  for (const std::uint64_t run : {1u, 16u, 63u}) {
    for (const std::uint64_t pitch : {512u, 1024u, 4096u}) {
      for (const std::uint64_t ahead : {std::uint64_t{0}, run - 1, pitch - run + 1, pitch / 2}) {
        const std::uint64_t plane = kRows * pitch, box = kPlanes * plane;
        const std::uint64_t span = kBoxes * box + 3 * kPage;
        std::vector<std::byte> from(span), to(span, std::byte{0xA5}), expected = to;
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i * 31 >> 3);
        const auto page = [](const std::vector<std::byte>& memory) {
          const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
          return (address + kPage - 1) / kPage * kPage - address;
        };
        const std::uint64_t read = page(from), written = page(to) + ahead % kPage;
        GridLoops grid;
        grid.from = reinterpret_cast<std::uintptr_t>(from.data()) + read;
        grid.to = reinterpret_cast<std::uintptr_t>(to.data()) + written;
        grid.run = run;
        grid.count = 3;
        const std::uint64_t strides[] = {pitch, plane, box}, trips[] = {kRows, kPlanes, kBoxes};
        for (std::size_t d = 0; d < grid.count; ++d) {
          const auto stride = static_cast<std::int64_t>(strides[d]);
          grid.loops[d] = {trips[d], stride, stride};
        }
        for (std::uint64_t row = 0; row < kRows * kPlanes * kBoxes; ++row) {
          for (std::uint64_t b = 0; b < run; ++b) {
            const std::uint64_t at = row * pitch + b;
            expected[written + at] = from[read + at];
          }
        }
        copy_loops(grid, best_kernels());
        ASSERT_EQ(to, expected) << "run " << run << " pitch " << pitch << " ahead " << ahead;
      }
    }
  }
}

TEST(CopyLoops, reads_the_same_again_where_a_stride_is_0) {
  const std::vector<std::byte> from{std::byte{1}, std::byte{2}, std::byte{3}};
  std::vector<std::byte> to(3 * 2), expected;
  for (const std::byte b : from) expected.insert(expected.end(), 2, b);
  GridLoops grid;
  grid.from = reinterpret_cast<std::uintptr_t>(from.data());
  grid.to = reinterpret_cast<std::uintptr_t>(to.data());
  grid.run = 1;
  grid.count = 2;
  grid.loops[0] = {2, 0, 1};
  grid.loops[1] = {3, 1, 2};
  copy_loops(grid, portable_kernels());
  EXPECT_EQ(to, expected);
  grid.loops[0].to = 3;  // what is read is shared along one loop, what is written along the other
  grid.loops[1].to = 1;
  copy_loops(grid, portable_kernels());
  EXPECT_EQ(to, (std::vector<std::byte>{from[0], from[1], from[2], from[0], from[1], from[2]}));
}

TEST(CopyLoops, of_no_loop_is_one_run) {
  const std::vector<std::byte> from{std::byte{1}, std::byte{2}, std::byte{3}};
  std::vector<std::byte> to(4);
  GridLoops grid;
  grid.from = reinterpret_cast<std::uintptr_t>(from.data());
  grid.to = reinterpret_cast<std::uintptr_t>(to.data());
  grid.run = 3;
  copy_loops(grid, portable_kernels());
  EXPECT_EQ(to, (std::vector<std::byte>{from[0], from[1], from[2], std::byte{0}}));
}

}  // namespace
}  // namespace mad
