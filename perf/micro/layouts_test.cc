// Every layout at the payloads that are small: engine and loops give what the oracle says, and
// payloads are what they are said to be.
#include "perf/micro/layouts.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

#include "perf/micro/cell.h"
#include "perf/micro/engine_cell.h"

namespace micro {
namespace {

// Under 1 MiB all at once is a matter of a second, with sanitizers too.
constexpr std::int64_t kSmall[] = {256, 1024, 64 << 10};

TEST(Layouts, EnginesAndLoopsBytesAreTheOraclesOnes) {
  for (const LayoutKind& kind : layout_kinds()) {
    for (const std::int64_t payload : kSmall) {
      SCOPED_TRACE(std::string(kind.name) + "/" + std::to_string(payload));
      EXPECT_NO_THROW(EngineCell(kind, payload).verify());
    }
  }
}

TEST(Layouts, ContiguousBytesMayBeFewerThanADouble) {
  for (const std::int64_t payload : {1, 2, 4}) {
    EngineCell cell(layout_kinds().front(), payload);
    EXPECT_NO_THROW(cell.verify());
    EXPECT_EQ(cell.bytes(), payload);
  }
}

TEST(Layouts, AtLeastTwentyFourWithNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const LayoutKind& kind : layout_kinds()) {
    names.insert(kind.name);
    EXPECT_EQ(std::string(kind.name).find('/'), std::string::npos) << kind.name;
  }
  EXPECT_EQ(names.size(), layout_kinds().size());
  EXPECT_GE(names.size(), 24u);
}

TEST(Layouts, PayloadsAreNearlyWhatWasAskedFor) {
  for (const LayoutKind& kind : layout_kinds()) {
    for (const std::int64_t payload : kSmall) {
      const std::int64_t bytes = Cell(kind, payload).bytes();
      EXPECT_LE(bytes, payload) << kind.name;
      EXPECT_GT(bytes, payload / 2) << kind.name;
    }
  }
}

TEST(Layouts, OnlyTheContiguousAndRt0306sDenseOnesAreOneRun) {
  const std::set<std::string> dense = {"contiguous", "index", "vector", "struct"};
  for (const LayoutKind& kind : layout_kinds()) {
    const Layout layout = kind.make(1024);
    const auto program = compile(*describe(layout));
    EXPECT_EQ(program->contiguous(), dense.count(kind.name) == 1) << kind.name;
  }
}

}  // namespace
}  // namespace micro
