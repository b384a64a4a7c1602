// The checks see what is wrong: a check that passes everything proves nothing.
#include "tests/fuzz/program_check.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad::test {
namespace {

using ProgramPtr = std::shared_ptr<const BlockProgram>;

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }
ProgramPtr compile(const TypeDescPtr& type) { return BlockProgram::compile(*type).value(); }

Choose chooser(RandomTypes& random) {
  return [&random](std::uint64_t below) {
    const auto most = below - 1 > INT64_MAX ? INT64_MAX : static_cast<std::int64_t>(below - 1);
    return static_cast<std::uint64_t>(random.between(0, most));
  };
}

TEST(CompareWithTypeMap, passes_what_is_right_and_sees_what_is_not) {
  RandomTypes random(seed_from_environment(61));
  const TypeDescPtr type = TypeDesc::indexed({3, 1, 2}, {0, 40, 64}, bytes(8)).value();
  EXPECT_EQ(compare_with_type_map(*compile(type), *type, 3, chooser(random)), "");
  const std::vector<TypeDescPtr> others = {
      TypeDesc::indexed({3, 1, 1}, {0, 40, 64}, bytes(8)).value(),
      TypeDesc::indexed({3, 2, 1}, {0, 40, 64}, bytes(8)).value(),
      TypeDesc::indexed({3, 1, 2}, {0, 48, 64}, bytes(8)).value(),
      TypeDesc::resized(0, 72, type).value(),
  };
  for (const TypeDescPtr& other : others) {
    EXPECT_NE(compare_with_type_map(*compile(other), *type, 3, chooser(random)), "");
  }
}

// A program whose true bounds are not what its loops reach.
ProgramPtr lying(std::int64_t true_lb, std::int64_t true_extent) {
  BlockProgram::Tables tables;
  tables.offsets = {0, 40};
  LoopNode top;
  top.stride = tables.shape.extent = 48;
  top.body_bytes = 16;
  top.parts = 2;
  top.uniform = top.min_run = top.max_run = 8;
  top.offsets = tables.offsets.data();
  tables.nodes = {top};
  tables.shape.bytes = 16;
  tables.shape.runs = 2;
  tables.shape.contiguous = false;
  tables.true_lb = true_lb;
  tables.true_extent = true_extent;
  return BlockProgram::from_tables(std::move(tables));
}

TEST(RunWithinBounds, sees_runs_outside) {
  RandomTypes random(seed_from_environment(62));
  for (const std::uint64_t count : {1u, 3u}) {
    EXPECT_EQ(run_within_bounds(*lying(0, 48), count, chooser(random)), "");
    EXPECT_EQ(run_within_bounds(*lying(-8, 56), count, chooser(random)), "");
    EXPECT_EQ(run_within_bounds(*lying(0, 47), count, chooser(random)),
              "a run outside of the true bounds");
    EXPECT_EQ(run_within_bounds(*lying(1, 47), count, chooser(random)),
              "a run outside of the true bounds");
  }
}

TEST(RunWithinBounds, passes_compiled_programs) {
  RandomTypes random(seed_from_environment(63));
  for (int n = 0; n < 200; ++n) {
    const RandomType made = random.next();
    const auto count = static_cast<std::uint64_t>(random.between(0, 3));
    ASSERT_EQ(run_within_bounds(*compile(made.type), count, chooser(random)), "") << made.text;
  }
  // Far too large to be moved.
  const TypeDescPtr huge = TypeDesc::vector(std::uint64_t{1} << 40, 3, 4096, bytes(8)).value();
  EXPECT_EQ(run_within_bounds(*compile(huge), 2, chooser(random)), "");
}

}  // namespace
}  // namespace mad::test
