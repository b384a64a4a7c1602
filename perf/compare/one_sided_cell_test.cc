#include "perf/compare/one_sided_cell.h"

#include <cstddef>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace compare {
namespace {

TEST(OneSidedCell, NamesAreOperationsEpochsAndSides) {
  EXPECT_EQ(OneSidedCell("get", 8, 1).operation(), Operation::kGet);
  EXPECT_FALSE(OneSidedCell("put", 8, 1).fence());
  EXPECT_TRUE(OneSidedCell("put-fence", 8, 1).fence());
  EXPECT_TRUE(OneSidedCell("fetch_and_op", 8, 64).counts());
  EXPECT_EQ(OneSidedCell("fetch_and_op", 8, 64).slots(), 1);
  const OneSidedCell cell("accumulate:rows-64:target", 1024, 1);
  EXPECT_EQ(cell.origin().doubles(), 128);
  EXPECT_EQ(cell.target().doubles(), 256 - 8);
}

TEST(OneSidedCell, WhatIsNoneIsRefused) {
  for (const char* name : {"send", "get-fence", "put:rows-64", "put:rows-64:left",
                           "put:padded:both", "fetch_and_op:rows-64:both", ":rows-64:both", ""}) {
    EXPECT_THROW(OneSidedCell(name, 1024, 1), std::runtime_error) << name;
  }
  EXPECT_THROW(OneSidedCell("put", 12, 1), std::runtime_error);
  EXPECT_THROW(OneSidedCell("put", 8, 0), std::runtime_error);
  EXPECT_THROW(OneSidedCell("fetch_and_op", 16, 1), std::runtime_error);
  EXPECT_THROW(OneSidedCell("columns-fence", 24, 1), std::runtime_error);
  EXPECT_THROW(OneSidedCell("columns-fence", 1024, 65), std::runtime_error);
}

TEST(OneSidedCell, PlacesAreTheirOwnWhileTheyFit) {
  EXPECT_EQ(OneSidedCell("put", 64 << 10, 64).slots(), 64);
  EXPECT_EQ(OneSidedCell("put", 1 << 20, 64).slots(), 8);
  EXPECT_EQ(OneSidedCell("put", 64 << 20, 64).slots(), 1);
  EXPECT_EQ(OneSidedCell("put:rows-64:target", 1 << 20, 64).slots(), 4);
}

TEST(OneSidedCell, APutLeavesTheOtherSidesBytesAndTheHoles) {
  const OneSidedCell cell("put:rows-64:target", 1024, 1);
  const auto source = numbers(cell.origin().doubles(), 1), before = numbers(248, 2);
  const auto after = cell.result(before, source, 3);
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_EQ(after[i], i % 16 < 8 ? source[i / 16 * 8 + i % 16] : before[i]) << i;
  }
}

TEST(OneSidedCell, AGetWritesTheOrigin) {
  const OneSidedCell cell("get:index-gap:origin", 1024, 2);
  const auto source = numbers(cell.target().doubles(), 1);
  const auto before = numbers(cell.origin().doubles(), 2);
  const auto after = cell.result(before, source, 1);
  // Blocks of 12 doubles, the last of 20, then the second slot.
  for (const std::size_t slot : {0U, 1U}) {
    EXPECT_EQ(after[slot * (9 * 24 + 20) + 24], source[slot * 128 + 12]);
    EXPECT_EQ(after[slot * (9 * 24 + 20) + 12], before[slot * (9 * 24 + 20) + 12]);
    EXPECT_EQ(after[slot * (9 * 24 + 20) + 9 * 24 + 19], source[slot * 128 + 127]);
  }
}

TEST(OneSidedCell, AccumulatesAddAsOftenAsTheyAreMade) {
  const OneSidedCell cell("accumulate", 3 << 20, 5);  // 2 places
  ASSERT_EQ(cell.slots(), 2);
  const auto count = static_cast<std::size_t>(3 << 17);
  const auto source = numbers(cell.origin().doubles(), 1);
  const auto after = cell.result(std::vector<double>(2 * count, 1), source, 10);
  EXPECT_EQ(after[7], 1 + 30 * source[7]);
  EXPECT_EQ(after[count + 7], 1 + 20 * source[count + 7]);
}

TEST(OneSidedCell, ColumnsStandSideBySide) {
  const OneSidedCell cell("columns-fence", 64, 64);
  EXPECT_TRUE(cell.fence());
  EXPECT_EQ(cell.target().doubles(), 4 * 128);
  const auto source = numbers(cell.origin().doubles(), 1);
  EXPECT_EQ(cell.result(std::vector<double>(source.size()), source, 1), source);
}

TEST(OneSidedCell, ColumnsOfColumnsFillTheMatrix) {
  const OneSidedCell cell("put:column16:both", 1 << 20, 1);
  EXPECT_EQ(cell.target().layout.count, 64);
  EXPECT_EQ(cell.target().doubles(), 1 << 17);
}

TEST(Numbers, AreWholeAndDiffer) {
  const auto some = numbers(1000, 5), other = numbers(1000, 6);
  EXPECT_GT(std::set<double>(some.begin(), some.end()).size(), 990U);
  EXPECT_NE(some, other);
  for (const double one : some) EXPECT_EQ(one, static_cast<double>(static_cast<int>(one)));
}

}  // namespace
}  // namespace compare
