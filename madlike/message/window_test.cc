#include "madlike/message/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace mad {
namespace {

/// Runs in memory that nobody touches: their places are all that counts.
class Runs final : public ScatteredMemory {
 public:
  struct Run {
    std::uintptr_t place;
    std::size_t bytes;
  };
  explicit Runs(std::vector<Run> runs) : runs_(std::move(runs)) {}

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Run& run : runs_) sum += run.bytes;
    return sum;
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t capacity) override {
    std::size_t count = 0;
    for (const Run& run : runs_) {
      if (offset >= run.bytes) {
        offset -= run.bytes;
        continue;
      }
      if (size == 0 || count == capacity) break;
      const std::size_t bytes = std::min<std::uint64_t>(run.bytes - offset, size);
      out[count++] = {reinterpret_cast<void*>(run.place + offset), bytes};
      size -= bytes;
      offset = 0;
    }
    return count;
  }
  /// Where byte `offset` stands.
  std::uintptr_t at(std::uint64_t offset) {
    Segment run;
    EXPECT_EQ(runs(offset, 1, &run, 1), 1u);
    return reinterpret_cast<std::uintptr_t>(run.data);
  }

 private:
  std::vector<Run> runs_;
};

Runs rows(std::size_t count, std::size_t bytes, std::size_t stride) {
  std::vector<Runs::Run> runs;
  for (std::size_t i = 0; i < count; ++i) runs.push_back({100000 + i * stride, bytes});
  return Runs(runs);
}

TEST(Window, OneRunIsTheSamePlace) {
  const Window window;
  EXPECT_TRUE(window.valid());
  EXPECT_EQ(window.place(0).offset, 0u);
  EXPECT_EQ(window.place(12345).offset, 12345u);
  EXPECT_EQ(window.place(12345).bytes, std::numeric_limits<std::uint64_t>::max());
}

TEST(Window, OverlappingRunsAreNone) {
  Window window;
  window.run = 100;
  window.stride = 99;
  EXPECT_FALSE(window.valid());
  window.stride = 100;
  EXPECT_TRUE(window.valid());
  window.lead = 100;
  EXPECT_FALSE(window.valid());
  window.lead = 99;
  EXPECT_TRUE(window.valid());
  window.run = 0;
  EXPECT_FALSE(window.valid());
  window.stride = 0;
  EXPECT_FALSE(window.valid()) << "one run has no part before it";
  window.lead = 0;
  EXPECT_TRUE(window.valid());
}

// Every first byte and every end, so that either end of the rest is cut anywhere.
TEST(Window, EveryByteOfRunsAlikeIsFound) {
  for (const std::size_t count : {2u, 3u, 5u, 70u}) {
    Runs memory = rows(count, 8, 11);
    for (std::uint64_t first = 0; first < 9; ++first) {
      for (std::uint64_t cut = 0; cut < 9; ++cut) {
        const std::uint64_t size = memory.bytes() - first - cut;
        Segment one[3];
        const std::size_t runs = memory.runs(first, size, one, 3);
        const auto found = strided_memory(memory, first, size, 1);
        EXPECT_EQ(found.has_value(), runs > 1) << count << ' ' << first << ' ' << cut;
        if (!found) continue;
        EXPECT_TRUE(found->window.valid());
        const auto start = reinterpret_cast<std::uintptr_t>(found->span.data);
        EXPECT_EQ(start, memory.at(first));
        EXPECT_EQ(start + found->span.size, memory.at(first + size - 1) + 1);
        for (std::uint64_t i = 0; i < size; ++i) {
          const Window::Place place = found->window.place(i);
          ASSERT_EQ(start + place.offset, memory.at(first + i))
              << count << ' ' << first << ' ' << i;
          ASSERT_GE(place.bytes, 1u);
          const std::uint64_t last = std::min(i + place.bytes, size) - 1;  // of the same run
          ASSERT_EQ(memory.at(first + last), memory.at(first + i) + (last - i));
        }
      }
    }
  }
}

TEST(Window, RunsThatDifferAreNone) {
  const auto found = [](std::vector<Runs::Run> runs) {
    Runs memory(std::move(runs));
    return strided_memory(memory, 0, memory.bytes(), 1).has_value();
  };
  EXPECT_TRUE(found({{100, 10}, {120, 10}, {140, 10}, {160, 10}}));
  EXPECT_TRUE(found({{105, 5}, {120, 10}, {140, 10}, {160, 4}}));
  EXPECT_FALSE(found({{100, 5}, {120, 10}, {140, 10}}));  // cut at its end
  EXPECT_FALSE(found({{100, 10}, {120, 10}, {140, 9}, {160, 10}}));
  EXPECT_FALSE(found({{100, 10}, {120, 10}, {141, 10}, {160, 10}}));
  EXPECT_FALSE(found({{100, 10}, {120, 10}, {140, 10}, {160, 11}}));
  EXPECT_FALSE(found({{160, 10}, {140, 10}, {120, 10}}));  // descending
  EXPECT_FALSE(found({{100, 10}, {105, 10}, {110, 10}}));  // overlapping
  EXPECT_FALSE(found({{100, 10}}));
  EXPECT_FALSE(found({}));
}

// Of more runs than are looked at together, the last one differs.
TEST(Window, EveryRunIsLookedAt) {
  std::vector<Runs::Run> runs;
  for (std::size_t i = 0; i < 100; ++i) runs.push_back({1000 + i * 20, 10});
  EXPECT_TRUE([&] {
    Runs memory(runs);
    return strided_memory(memory, 0, memory.bytes(), 10).has_value();
  }());
  runs.back().place += 1;
  Runs memory(runs);
  EXPECT_FALSE(strided_memory(memory, 0, memory.bytes(), 10).has_value());
}

TEST(Window, ShortRunsAreNotWorthIt) {
  Runs memory = rows(10, 100, 200);
  EXPECT_TRUE(strided_memory(memory, 0, 1000, 100).has_value());
  EXPECT_FALSE(strided_memory(memory, 0, 1000, 101).has_value());
}

}  // namespace
}  // namespace mad
