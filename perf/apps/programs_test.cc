#include "perf/apps/programs.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "perf/apps/ranks.h"

namespace apps {
namespace {

constexpr int kSteps = 3;

TEST(Programs, PartsAreTheWholeBitByBit) {
  for (const std::string& program : program_names()) {
    for (const int ranks : {1, 2, 3, 4}) {
      Ranks whole, parts;
      whole.add(whole_of(program, 512, ranks));
      for (int rank = 0; rank < ranks; ++rank) parts.add(part_of(program, 512, ranks, rank));
      for (int step = 0; step < kSteps; ++step) {
        whole.step();
        parts.step();
      }
      std::uint64_t sum = 0;
      for (const auto& part : parts.owned) {
        EXPECT_TRUE(part->is_part_of(*whole.owned[0])) << program << ", " << ranks;
        sum += part->checksum();
      }
      EXPECT_EQ(sum, whole.owned[0]->checksum()) << program << ", " << ranks;
    }
  }
}

TEST(Programs, AMissedExchangeIsFound) {
  for (const std::string& program : program_names()) {
    Ranks whole, parts;
    whole.add(whole_of(program, 512, 2));
    for (int rank = 0; rank < 2; ++rank) parts.add(part_of(program, 512, 2, rank));
    for (int step = 0; step < kSteps; ++step) {
      whole.step();
      for (const auto& part : parts.owned) part->compute();
    }
    EXPECT_FALSE(parts.owned[0]->is_part_of(*whole.owned[0])) << program;
    EXPECT_NE(parts.owned[0]->checksum() + parts.owned[1]->checksum(), whole.owned[0]->checksum());
  }
}

TEST(Programs, TheLongestMessageHasTheBytesAskedFor) {
  for (const std::string& program : program_names()) {
    for (const std::int64_t bytes : {64, 1024, 8192}) {
      std::int64_t longest = 0;
      const auto part = part_of(program, bytes, 2, 0);
      for (const Route& route : part->routes()) {
        longest = std::max(longest, route.in.bytes());
      }
      EXPECT_LE(longest, bytes) << program;
      EXPECT_GT(longest, bytes - size_of(Element::kParticle)) << program;
    }
  }
}

TEST(Programs, WhatIsNoneIsRefused) {
  EXPECT_THROW(part_of("jacobi", 1024, 2, 0), std::runtime_error);
  EXPECT_THROW(part_of("life", 63, 2, 0), std::runtime_error);
}

}  // namespace
}  // namespace apps
