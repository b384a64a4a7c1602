#include "madlike/driver/memory/exposures.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

class Halves : public ScatteredMemory {
 public:
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    asked_offset = offset;
    asked_size = size;
    out[0] = {bytes, 1};
    return 1;
  }
  std::byte bytes[2];
  std::uint64_t asked_offset = 0, asked_size = 0;
};

TEST(Exposures, OnlyTheOnePeerAndOnlyUntilRemoved) {
  Exposures exposures;
  std::byte memory[8];
  Exposure exposure;
  exposure.connection = 3;
  exposure.size = sizeof(memory);
  exposure.run = {memory, sizeof(memory)};
  std::uint64_t last = 0;
  for (int round = 0; round < 3; ++round) {
    const ExposureToken token = exposures.add(exposure);
    EXPECT_NE(token.key, last) << "a key is used once";
    last = token.key;
    ASSERT_NE(exposures.find(3, token.key), nullptr);
    EXPECT_EQ(exposures.find(2, token.key), nullptr);
    EXPECT_EQ(exposures.find(4, token.key), nullptr);
    EXPECT_EQ(exposures.find(3, token.key + 1), nullptr);
    EXPECT_TRUE(exposures.remove(token.key));
    EXPECT_FALSE(exposures.remove(token.key));
    EXPECT_EQ(exposures.find(3, token.key), nullptr);
  }
}

TEST(Exposures, AWriteStaysWithinIt) {
  Exposure exposure;
  exposure.size = 8;
  EXPECT_TRUE(exposure.holds(0, 8));
  EXPECT_TRUE(exposure.holds(8, 0));
  EXPECT_FALSE(exposure.holds(1, 8));
  EXPECT_FALSE(exposure.holds(9, 0));
  EXPECT_FALSE(exposure.holds(~std::uint64_t{0}, 2));
}

TEST(Exposures, RunsOfOneRunAndOfMany) {
  std::byte memory[8];
  Segment found;
  Exposure whole;
  whole.run = {memory, sizeof(memory)};
  ASSERT_EQ(whole.runs(3, 4, &found, 1), 1u);
  EXPECT_EQ(found.data, memory + 3);
  EXPECT_EQ(found.size, 4u);
  Halves halves;
  Exposure scattered;
  scattered.scattered = &halves;
  scattered.first = 10;
  ASSERT_EQ(scattered.runs(3, 4, &found, 1), 1u);
  EXPECT_EQ(halves.asked_offset, 13u);
  EXPECT_EQ(halves.asked_size, 4u);
}

}  // namespace
}  // namespace mad
