// Copies that are joined, against the same copies made at once, run by run.
#include "datatype_path/cursor/joined_copies.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

constexpr std::size_t kBytes = 1 << 20;

std::vector<std::byte> numbered(std::uint64_t seed) {
  std::vector<std::byte> all(kBytes);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<std::byte>(((i + seed) * 0x9E3779B97F4A7C15U) >> 40);
  }
  return all;
}

// A column: `rows` runs, `pitch` bytes from one to the next, from byte `at` on.
struct Column {
  std::size_t at = 0;
  std::uint64_t run = 0;
  std::uint64_t rows = 0;
  std::int64_t pitch = 0;

  std::uint64_t bytes() const { return run * rows; }
  RunLoops loops(const std::vector<std::byte>& memory) const {
    RunLoops out;
    out.address = reinterpret_cast<std::uintptr_t>(memory.data() + at);
    out.run = run;
    if (rows > 1) out.loops[out.count++] = {rows, pitch};
    return out;
  }
};

// Copies from one memory into another, some joined and others not, and what comes of them.
class Copies {
 public:
  // Returns whether it was taken.
  bool add(const Column& from, const Column& to) {
    for (std::uint64_t b = 0; b < from.bytes(); ++b) {
      expected_[place(to, b)] = source_[place(from, b)];
    }
    if (joined_.add(from.loops(source_), to.loops(memory_), from.bytes())) return true;
    for (std::uint64_t b = 0; b < from.bytes(); ++b) {
      memory_[place(to, b)] = source_[place(from, b)];
    }
    return false;
  }
  void finish() { joined_.finish(); }
  bool as_expected() const { return memory_ == expected_; }
  bool untouched() const { return memory_ == numbered(2); }

 private:
  static std::size_t place(const Column& column, std::uint64_t byte) {
    return column.at + byte / column.run * static_cast<std::uint64_t>(column.pitch) +
           byte % column.run;
  }

  const std::vector<std::byte> source_ = numbered(1);
  std::vector<std::byte> memory_ = numbered(2);
  std::vector<std::byte> expected_ = memory_;
  JoinedCopies joined_;
};

TEST(JoinedCopies, of_columns_side_by_side_wait_until_they_are_finished) {
  Copies copies;
  for (std::size_t c = 0; c < 64; ++c) {
    EXPECT_TRUE(copies.add({16 * c, 16, 200, 1024}, {4096 + 16 * c, 16, 200, 1024}));
  }
  EXPECT_TRUE(copies.untouched());
  copies.finish();
  EXPECT_TRUE(copies.as_expected());
}

TEST(JoinedCopies, are_made_in_whatever_order_columns_come) {
  for (const std::int64_t step : {16, -16, 32, -48}) {
    for (const std::int64_t pitch : {512, 1024, 1040, 4096}) {
      Copies copies;
      for (int c = 0; c < 10; ++c) {
        const auto at = static_cast<std::size_t>(480 + c * step);
        copies.add({at, 16, 100, pitch}, {at + 4096 * 16, 16, 100, pitch});
      }
      copies.finish();
      EXPECT_TRUE(copies.as_expected()) << "step " << step << " pitch " << pitch;
    }
  }
}

TEST(JoinedCopies, between_rows_and_columns) {
  Copies put, got;
  for (std::size_t c = 0; c < 20; ++c) {
    const Column row{c * 1600, 1600, 1, 0}, column{16 * c, 16, 100, 2048};
    EXPECT_TRUE(put.add(row, column));
    EXPECT_TRUE(got.add(column, row));
  }
  put.finish();
  got.finish();
  EXPECT_TRUE(put.as_expected());
  EXPECT_TRUE(got.as_expected());
}

TEST(JoinedCopies, take_neither_long_runs_nor_single_ones) {
  Copies copies;
  EXPECT_FALSE(copies.add({0, 64, 100, 512}, {0, 64, 100, 512}));
  EXPECT_FALSE(copies.add({0, 1000, 1, 0}, {0, 1000, 1, 0}));
  EXPECT_FALSE(copies.add({0, 16, 1, 0}, {0, 16, 1, 0}));
  EXPECT_TRUE(copies.as_expected());
}

TEST(JoinedCopies, are_made_before_one_that_is_not_alike_is_taken) {
  Copies copies;
  const auto expect_made = [&](const Column& from, const Column& to) {
    copies.add({8, 8, 50, 256}, {8, 8, 50, 256});
    copies.add({16, 8, 50, 256}, {16, 8, 50, 256});
    copies.add(from, to);
    copies.finish();
    EXPECT_TRUE(copies.as_expected());
  };
  expect_made({24, 8, 51, 256}, {24, 8, 51, 256});         // longer
  expect_made({24, 8, 50, 512}, {24, 8, 50, 256});         // other rows
  expect_made({24, 4, 50, 256}, {24, 4, 50, 256});         // shorter runs
  expect_made({32, 8, 50, 256}, {32, 8, 50, 256});         // a column further
  expect_made({8000, 8, 50, 256}, {24, 8, 50, 256});       // from elsewhere
  expect_made({400'000, 100, 9, 500}, {24, 100, 9, 500});  // not to be joined at all
}

// Else they would be copied as far as they are alike, or not as one grid.
TEST(JoinedCopies, take_neither_a_part_nor_too_many_loops) {
  const std::vector<std::byte> source = numbered(1);
  std::vector<std::byte> memory = numbered(2);
  JoinedCopies joined;
  RunLoops loops = Column{0, 8, 50, 256}.loops(source);
  EXPECT_FALSE(joined.add(loops, Column{0, 8, 50, 256}.loops(memory), 8 * 51)) << "more follows";
  EXPECT_FALSE(joined.add(loops, Column{0, 12, 50, 256}.loops(memory), 8 * 50)) << "no multiple";
  RunLoops deep = loops;
  deep.count = RunLoops::kMost;
  for (std::size_t i = 0; i < deep.count; ++i) deep.loops[i] = {2, std::int64_t{100} << i};
  RunLoops other = deep;
  other.address = reinterpret_cast<std::uintptr_t>(memory.data());
  EXPECT_FALSE(joined.add(deep, other, 8 << RunLoops::kMost));
  joined.finish();
  EXPECT_EQ(memory, numbered(2));
}

// A line apart they share none, so that nothing is gained.
TEST(JoinedCopies, further_apart_are_made_one_by_one) {
  Copies copies;
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(copies.untouched(), c <= 1);
    copies.add({64 * c, 16, 100, 1024}, {64 * c, 16, 100, 1024});
  }
  copies.finish();
  EXPECT_TRUE(copies.as_expected());
}

// The later of two whose same runs overlap comes after the first.
TEST(JoinedCopies, to_the_same_place_are_made_one_after_the_other) {
  Copies copies;
  copies.add({0, 16, 100, 1024}, {0, 16, 100, 1024});
  copies.add({16, 16, 100, 1024}, {0, 16, 100, 1024});
  copies.finish();
  EXPECT_TRUE(copies.as_expected());
  copies.add({32, 16, 100, 16}, {8, 16, 100, 16});
  copies.add({32, 16, 100, 16}, {16, 16, 100, 16});
  copies.finish();
  EXPECT_TRUE(copies.as_expected());
}

TEST(JoinedCopies, of_random_columns) {
  std::mt19937_64 random(test::seed_from_environment(481));
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  Copies copies;
  for (int n = 0; n < 300; ++n) {
    const auto run = static_cast<std::uint64_t>(between(1, 70));
    const auto rows = static_cast<std::uint64_t>(between(1, 60));
    const std::int64_t pitch = between(0, 1) == 0 ? 1024 : between(71, 2000);
    const std::int64_t from_step = between(-90, 90);
    // No two of them write the same.
    const std::int64_t to_step = static_cast<std::int64_t>(run) * (between(0, 1) == 0 ? 1 : -1);
    const std::int64_t many = between(1, std::max<std::int64_t>(1, pitch / 71));
    for (std::int64_t c = 0; c < many; ++c) {
      copies.add({static_cast<std::size_t>(200'000 + c * from_step), run, rows, pitch},
                 {static_cast<std::size_t>(300'000 + c * to_step), run, rows, pitch});
    }
    if (between(0, 2) == 0) {
      copies.finish();
      ASSERT_TRUE(copies.as_expected()) << n;
    }
  }
  copies.finish();
  EXPECT_TRUE(copies.as_expected());
}

}  // namespace
}  // namespace mad
