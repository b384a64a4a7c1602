#include "perf/apps/programs.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "perf/apps/grids.h"

namespace apps {
namespace {

constexpr int kSteps = 3;

/// Ranks of a program in this process.
struct Ranks {
  void add(std::unique_ptr<Application> application) {
    memories.emplace_back(static_cast<std::size_t>(application->bytes()));
    application->start(memories.back().data());
    owned.push_back(std::move(application));
  }
  void step() {
    std::vector<Application*> ranks;
    std::vector<std::byte*> places;
    for (std::size_t i = 0; i < owned.size(); ++i) {
      ranks.push_back(owned[i].get());
      places.push_back(memories[i].data());
    }
    exchange_here(ranks, places);
    for (Application* rank : ranks) rank->compute();
  }
  std::vector<std::unique_ptr<Application>> owned;
  std::vector<std::vector<std::byte>> memories;
};

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

std::int64_t wrapped(std::int64_t at, std::int64_t length) { return (at + length) % length; }

TEST(Life, FollowsConwaysRule) {
  Ranks one;
  const Box box = box_of(2, 1, 0, {16, 8, 1}, Element::kByte);
  one.add(std::make_unique<Life>(box));
  const auto cell = [&](std::int64_t x, std::int64_t y) {
    const auto place = box.row(static_cast<int>(wrapped(y, 8)), 0) + wrapped(x, 16);
    return static_cast<int>(one.memories[0][static_cast<std::size_t>(place)]);
  };
  for (int step = 0; step < 4; ++step) {
    std::vector<int> should;
    for (int y = 0; y < 8; ++y) {
      for (int x = 0; x < 16; ++x) {
        int around = -cell(x, y);
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) around += cell(x + dx, y + dy);
        }
        should.push_back(around == 3 || (around == 2 && cell(x, y) == 1) ? 1 : 0);
      }
    }
    one.step();
    for (int i = 0; i < 16 * 8; ++i) {
      ASSERT_EQ(cell(i % 16, i / 16), should[static_cast<std::size_t>(i)]) << step << ": " << i;
    }
  }
}

TEST(Jacobi, IsTheMeanOfTheNeighbours) {
  for (const int dimensions : {2, 3}) {
    const Triple cells = {8, 4, dimensions == 2 ? 1 : 6};
    const Box box = box_of(dimensions, 1, 0, cells, Element::kDouble);
    Ranks one;
    one.add(std::make_unique<Jacobi>(box));
    const auto at = [&](int x, int y, int z) {
      const auto place =
          box.row(static_cast<int>(wrapped(y, cells[1])), static_cast<int>(wrapped(z, cells[2]))) +
          wrapped(x, cells[0]);
      double value;
      std::memcpy(&value, &one.memories[0][static_cast<std::size_t>(place) * 8], sizeof(value));
      return value;
    };
    std::vector<double> should;
    for (int z = 0; z < cells[2]; ++z) {
      for (int y = 0; y < cells[1]; ++y) {
        for (int x = 0; x < cells[0]; ++x) {
          double sum = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z);
          if (dimensions == 3) sum += at(x, y, z - 1) + at(x, y, z + 1);
          should.push_back(sum / (2 * dimensions));
        }
      }
    }
    one.step();
    const double* next = should.data();
    for (int z = 0; z < cells[2]; ++z) {
      for (int y = 0; y < cells[1]; ++y) {
        for (int x = 0; x < cells[0]; ++x) EXPECT_NEAR(at(x, y, z), *next++, 1e-15);
      }
    }
  }
}

}  // namespace
}  // namespace apps
