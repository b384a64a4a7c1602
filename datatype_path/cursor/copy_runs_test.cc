// Every length around the kernels' limits, both copy directions, with guards around each run.
#include "datatype_path/cursor/copy_runs.h"

#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::byte kGuard{0xee};

std::byte value_at(std::size_t run, std::size_t i) {
  return static_cast<std::byte>((run * 131 + i * 7 + 1) % 238);  // never the guard
}

std::uint64_t address(std::vector<std::byte>& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}

// Copies 5 runs that stand `from_gap` apart to places `to_gap` apart, forwards or backwards.
void check(std::size_t length, std::size_t from_gap, std::size_t to_gap, bool backwards) {
  constexpr std::size_t kRuns = 5;
  const std::size_t from_step = length + from_gap, to_step = length + to_gap;
  std::vector<std::byte> from(kRuns * from_step), to(1 + kRuns * to_step + 1, kGuard);
  for (std::size_t run = 0; run < kRuns; ++run) {
    for (std::size_t i = 0; i < length; ++i) from[run * from_step + i] = value_at(run, i);
  }
  std::byte* const first = to.data() + 1;
  const auto stride = static_cast<std::int64_t>(to_step);
  copy_runs({backwards ? first + (kRuns - 1) * to_step : first, backwards ? -stride : stride,
             from.data(), static_cast<std::int64_t>(from_step), kRuns, length});
  std::vector<std::byte> expected(to.size(), kGuard);
  for (std::size_t run = 0; run < kRuns; ++run) {
    const std::size_t place = backwards ? kRuns - 1 - run : run;
    for (std::size_t i = 0; i < length; ++i) {
      expected[1 + place * to_step + i] = value_at(run, i);
    }
  }
  ASSERT_EQ(to, expected) << length << " " << from_gap << " " << to_gap << " " << backwards;
}

TEST(CopyRuns, of_every_length) {
  for (std::size_t length = 1; length <= 300; ++length) {
    for (const std::size_t gap : {0u, 1u, 13u}) {
      check(length, 0, gap, false);
      check(length, gap, 0, false);
      check(length, gap, 3, true);
    }
  }
}

TEST(CopyRuns, copies_none) {
  std::byte one{1};
  copy_runs({&one, 1, nullptr, 1, 0, 8});
  EXPECT_EQ(one, std::byte{1});
}

TEST(CopyRuns, to_one_place_leaves_the_last) {
  std::vector<std::byte> from(30);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i);
  std::vector<std::byte> to(10);
  copy_runs({to.data(), 0, from.data(), 10, 3, 10});
  EXPECT_EQ(to, std::vector<std::byte>(from.begin() + 20, from.end()));
}

TEST(CopyListedRuns, of_every_length) {
  const std::vector<std::int64_t> places = {700, 0, 1500, 350, 1100};
  for (std::size_t length = 1; length <= 300; ++length) {
    std::vector<std::byte> layout(1900), stream(places.size() * length);
    for (std::size_t i = 0; i < layout.size(); ++i) layout[i] = value_at(0, i * i);
    copy_listed_runs<Direction::kPack>(stream.data(), address(layout), places.data(), places.size(),
                                       length);
    for (std::size_t run = 0; run < places.size(); ++run) {
      for (std::size_t i = 0; i < length; ++i) {
        ASSERT_EQ(stream[run * length + i], layout[static_cast<std::size_t>(places[run]) + i])
            << length;
      }
    }
    std::vector<std::byte> other(layout.size(), kGuard), expected = other;
    copy_listed_runs<Direction::kUnpack>(stream.data(), address(other), places.data(),
                                         places.size(), length);
    for (const std::int64_t place : places) {
      for (std::size_t i = 0; i < length; ++i) {
        expected[static_cast<std::size_t>(place) + i] = layout[static_cast<std::size_t>(place) + i];
      }
    }
    ASSERT_EQ(other, expected) << length;
  }
}

TEST(CopyRun, of_every_length) {
  for (std::size_t length = 0; length <= 300; ++length) {
    std::vector<std::byte> from(length), to(length + 2, kGuard);
    for (std::size_t i = 0; i < length; ++i) from[i] = value_at(1, i);
    copy_run(to.data() + 1, from.data(), length);
    ASSERT_EQ(std::vector<std::byte>(to.begin() + 1, to.end() - 1), from);
    ASSERT_EQ(to.front(), kGuard);
    ASSERT_EQ(to.back(), kGuard);
  }
}

}  // namespace
}  // namespace mad
