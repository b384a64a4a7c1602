// Random bodies of short and long runs, over many trips, with every instruction set that this
// processor has, in both directions, against a byte-by-byte copy.
#include "datatype_path/kernels/body_steps.h"

#include <algorithm>
#include <random>

#include "datatype_path/kernels/kernel_tables.h"
#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::byte kGuard{0xee};

struct Body {
  std::vector<BodyRun> runs;
  std::uint64_t bytes = 0;
  std::int64_t span = 0;
};

class BodyStepsTest : public ::testing::Test {
 protected:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  // Runs in random order, no byte twice.
  Body random_body(std::size_t runs, std::uint64_t longest) {
    Body body;
    for (std::size_t i = 0; i < runs; ++i) {
      const std::uint64_t length = 1 + below(longest);
      body.runs.push_back({body.span, length});
      body.bytes += length;
      body.span += static_cast<std::int64_t>(length + below(9));
    }
    std::shuffle(body.runs.begin(), body.runs.end(), random_);
    return body;
  }

  std::mt19937_64 random_{20261121};
};

std::uint64_t address(std::vector<std::byte>& memory, std::int64_t offset) {
  return reinterpret_cast<std::uintptr_t>(memory.data()) + static_cast<std::uint64_t>(offset);
}

void check(const KernelTable& table, const Body& body, std::uint64_t trips,
           std::uint64_t trips_at_once, bool backwards) {
  std::vector<TripsStep> steps;
  append_steps(table, body.runs, &steps);
  const std::int64_t stride = body.span + 3;
  const std::size_t size = static_cast<std::size_t>(stride) * (trips + 1);
  const std::int64_t base = backwards ? stride * static_cast<std::int64_t>(trips) : 0;
  const std::int64_t step = backwards ? -stride : stride;
  std::vector<std::byte> layout(size), stream(trips * body.bytes + 1, kGuard), packed;
  std::vector<std::byte> other(size, kGuard), unpacked = other;
  for (std::size_t i = 0; i < size; ++i) {
    layout[i] = static_cast<std::byte>((i * 31 + i / 256) % 238);  // never the guard
  }
  for (std::uint64_t trip = 0; trip < trips; ++trip) {
    for (const BodyRun& run : body.runs) {
      for (std::uint64_t i = 0; i < run.length; ++i) {
        const auto at = static_cast<std::size_t>(base + step * static_cast<std::int64_t>(trip) +
                                                 run.offset + static_cast<std::int64_t>(i));
        packed.push_back(layout[at]);
        unpacked[at] = layout[at];
      }
    }
  }
  packed.push_back(kGuard);
  copy_trips(steps.data(), steps.size(), trips_at_once, Direction::kPack, stream.data(),
             address(layout, base), step, trips);
  ASSERT_EQ(stream, packed) << table.name;
  copy_trips(steps.data(), steps.size(), trips_at_once, Direction::kUnpack, stream.data(),
             address(other, base), step, trips);
  ASSERT_EQ(other, unpacked) << table.name;
}

TEST_F(BodyStepsTest, copy_one_run_of_every_length) {
  for (const KernelTable* table : runnable_kernels()) {
    for (std::uint64_t length = 1; length <= 2060; ++length) {
      if (length == 300) length = 2040;  // around the longest run that is copied by vectors
      const Body body{{{5, length}}, length, static_cast<std::int64_t>(length) + 5};
      for (const std::uint64_t trips : {0, 1, 2, 3, 4, 5, 17}) {
        check(*table, body, trips, 4, length % 2 == 0);
      }
    }
  }
}

TEST_F(BodyStepsTest, copy_random_bodies) {
  for (int i = 0; i < 400; ++i) {
    const Body body = random_body(1 + below(16), i % 2 == 0 ? 40 : 200);
    const std::uint64_t trips = below(40), at_once = 1 + below(20);
    for (const KernelTable* table : runnable_kernels()) {
      check(*table, body, trips, at_once, i % 3 == 0);
    }
  }
}

TEST_F(BodyStepsTest, take_a_run_of_more_than_128_bytes_by_itself) {
  const KernelTable& table = portable_kernels();
  for (const std::uint64_t length : {127, 128, 129}) {
    std::vector<TripsStep> steps;
    append_steps(table, {{0, length}}, &steps);
    ASSERT_EQ(steps.size(), 1u);
    EXPECT_EQ(steps[0].kernels == table.long_run, length > 128) << length;
    EXPECT_EQ(steps[0].length, length > 128 ? length : 0);
  }
}

TEST_F(BodyStepsTest, take_as_many_moves_as_there_is_a_kernel_for) {
  const auto steps_of = [](const std::vector<BodyRun>& runs) {
    std::vector<TripsStep> steps;
    append_steps(portable_kernels(), runs, &steps);
    return steps.size();
  };
  EXPECT_EQ(steps_of({{0, 8}, {16, 4}, {24, 1}}), 1u);
  EXPECT_EQ(steps_of({{0, 1}, {4, 12}, {24, 4}}), 1u) << "8, 4, 4 and 1 bytes";
  EXPECT_EQ(steps_of({{0, 24}, {32, 24}, {64, 1000}}), 3u) << "16, 16, 8; 8; and a long run";
  EXPECT_EQ(steps_of({{0, 64}, {100, 64}, {200, 64}, {300, 8}}), 2u);
}

}  // namespace
}  // namespace mad
