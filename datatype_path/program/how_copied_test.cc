#include "datatype_path/program/how_copied.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

std::string how(const TypeDescPtr& type) {
  return how_copied(BlockProgram::compile(*type).value()->entry());
}

std::string how(const std::vector<std::uint64_t>& lengths) {
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    places.push_back(static_cast<std::int64_t>(i * 200 + i * i * 8));
  }
  return how(TypeDesc::indexed(lengths, places, bytes(1)).value());
}

TEST(HowCopied, short_bodies) {
  EXPECT_EQ(how(bytes(1000)), "in 1 step");
  EXPECT_EQ(how(TypeDesc::vector(100, 1, 24, bytes(8)).value()), "in 1 step");
  EXPECT_EQ(how({16, 1}), "in 1 step");
  EXPECT_EQ(how(TypeDesc::resized(
                    0, 256, TypeDesc::indexed({8, 4, 2, 1}, {0, 16, 32, 48}, bytes(1)).value())
                    .value()),
            "in 2 steps, 64 trips at a time");
  EXPECT_EQ(how(TypeDesc::vector(4, 1, 24, bytes(8)).value()), "in 1 step; one trip as a row");
  EXPECT_EQ(how({8, 16, 8}), "in 1 step; one trip in 4 pieces of 8 B");
}

TEST(HowCopied, lists) {
  using Lengths = std::vector<std::uint64_t>;
  EXPECT_EQ(how(Lengths(20, 8)), "as a list, 8 B a run");
  EXPECT_EQ(how(Lengths(20, 12)), "as a list, 8 + 4 B a run");
  EXPECT_EQ(how(Lengths(20, 128)), "as a list, 64 + 64 B a run");
  EXPECT_EQ(how(Lengths(20, 129)), "as a list, memcpy a run");
  Lengths lengths(150, 12);
  lengths[7] = 24;
  EXPECT_EQ(how(lengths), "in 151 pieces of 12 B");
  lengths[7] = 25;
  EXPECT_EQ(how(lengths), "in 2 chunks of 64 runs");
  lengths.resize(65);
  EXPECT_EQ(how(lengths), "in 1 chunk of 64 runs");
  lengths.resize(64);
  EXPECT_EQ(how(lengths), "run by run");
}

TEST(HowCopied, loops_of_loops) {
  const TypeDescPtr column = TypeDesc::vector(100, 1, 1024, bytes(4)).value();
  const auto columns = BlockProgram::compile(*TypeDesc::resized(0, 8, column).value()).value();
  EXPECT_EQ(how_copied(columns->top()), "in tiles of whole lines");
  const TypeDescPtr pair = TypeDesc::indexed_block(1, {0, 2}, bytes(1)).value();
  const TypeDescPtr of_two = TypeDesc::vector(100, 1, 1024, pair).value();
  const auto pairs = BlockProgram::compile(*TypeDesc::resized(0, 8, of_two).value()).value();
  EXPECT_EQ(how_copied(pairs->top()), "in tiles of 8 trips by 64 rows, unpacked by 32");
  EXPECT_EQ(how(TypeDesc::vector(20, 1, 200'000, column).value()), "part by part");
}

}  // namespace
}  // namespace mad
