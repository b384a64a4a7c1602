// What is registered, and what is copied.
#include "madlike/driver/memory/registering.h"

#include <array>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(Registering, TheSpanIsFromTheFirstByteToTheLast) {
  std::array<std::byte, 100> memory{};
  const std::array<Segment, 4> segments{Segment{&memory[50], 10}, Segment{&memory[20], 5},
                                        Segment{nullptr, 0}, Segment{&memory[30], 10}};
  const Segment span = span_of({segments.data(), segments.size()});
  EXPECT_EQ(span.data, &memory[20]);
  EXPECT_EQ(span.size, 40u);
  EXPECT_EQ(span_of({segments.data() + 2, 1}).size, 0u);
}

TEST(Registering, PaysForMuchThatLiesTogether) {
  constexpr std::size_t kHalf = kRegisteredFrom / 2;
  std::vector<std::byte> memory(kMostSpan * kRegisteredFrom + 1);
  std::byte* const end = memory.data() + memory.size();
  const auto of = [](Segment one, Segment other) {
    const std::array<Segment, 2> segments{one, other};
    return is_worth_registering({segments.data(), segments.size()}, kRegisteredFrom);
  };
  EXPECT_TRUE(of({memory.data(), kHalf}, {memory.data() + kHalf, kHalf}));
  EXPECT_FALSE(of({memory.data(), kHalf}, {memory.data() + kHalf, kHalf - 1}));
  EXPECT_TRUE(of({memory.data() + 1, kHalf}, {end - kHalf, kHalf}));
  EXPECT_FALSE(of({memory.data(), kHalf}, {end - kHalf, kHalf}));
}

TEST(Registering, WhatIsCutInPiecesTooShortForItIsNotWritten) {
  EXPECT_EQ(written_whole_from(1000, 1000), 1000u);
  EXPECT_EQ(written_whole_from(1001, 1000), SIZE_MAX);
  EXPECT_EQ(written_whole_from(SIZE_MAX, 1000), SIZE_MAX);
}

}  // namespace
}  // namespace mad
