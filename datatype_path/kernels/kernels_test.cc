// Lists of runs of every length around the kernels' limits, with every instruction set that this
// processor has, in both directions; what is not of a run must stay as it was.
#include "datatype_path/kernels/kernels.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "datatype_path/kernels/kernel_tables.h"
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

TEST(KernelTables, have_a_kernel_for_all_moves_the_largest_first) {
  std::set<std::string> names;
  for (const KernelTable* table : runnable_kernels()) {
    EXPECT_TRUE(names.insert(table->name).second) << table->name;
    for (std::size_t way = 0; way < 2; ++way) {
      ASSERT_NE(table->long_run[way], nullptr);
      for (std::size_t a = 0; a < 8; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          ASSERT_NE(table->narrow_lists[way][a * 8 + b], nullptr);
          ASSERT_NE(table->wide_lists[way][a * 8 + b], nullptr);
          for (std::size_t c = 0; c <= b && a > 0; ++c) {
            const bool too_large = c > 0 && a > KernelTable::kLargestOfThree;
            ASSERT_EQ(table->trips[way][(a * 8 + b) * 8 + c] == nullptr, too_large);
          }
        }
      }
    }
  }
}

TEST(KernelTables, of_the_best_is_one_that_runs_here) {
  const std::vector<const KernelTable*> tables = runnable_kernels();
  EXPECT_EQ(&best_kernels(), tables.back());
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
