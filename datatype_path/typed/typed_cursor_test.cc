#include "datatype_path/typed/typed_cursor.h"

#include <algorithm>
#include <cstdint>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/typed_map.h"

namespace mad {
namespace {

using test::expand_typed;
using test::RandomType;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::seed_from_environment;
using test::TypedMap;

std::shared_ptr<const TypedProgram> build(const TypeDescPtr& type) {
  return TypedProgram::build(type).value();
}

// The cursor's run, element by element, is what the map has from the cursor on.
void expect_run(const TypedCursor& cursor, const TypedMap& map) {
  const TypedRun& run = cursor.run();
  ASSERT_LE(cursor.position() + run.count, map.size());
  ASSERT_EQ(run.count == 0, cursor.position() == map.size());
  for (std::uint64_t i = 0; i < run.count; ++i) {
    const test::TypedEntry& entry = map[cursor.position() + i];
    ASSERT_EQ(run.type, entry.type);
    ASSERT_EQ(run.offset + static_cast<std::int64_t>(i) * run.stride, entry.offset);
  }
}

TEST(TypedCursor, walks_random_types_as_their_map_says) {
  RandomTypes random(seed_from_environment(81));
  RandomTypeOptions options;
  options.typed = true;
  for (int n = 0; n < 3000; ++n) {
    const RandomType made = random.next(options);
    SCOPED_TRACE(made.text);
    const auto count = static_cast<std::uint64_t>(random.between(0, 3));
    const TypedMap map = expand_typed(*made.type, count);
    const auto program = build(made.type);
    TypedCursor cursor(*program, count);
    ASSERT_EQ(cursor.total(), map.size());
    while (cursor.position() < cursor.total()) {
      ASSERT_NO_FATAL_FAILURE(expect_run(cursor, map));
      const auto left = static_cast<std::int64_t>(cursor.run().count);
      // Whole runs mostly, so that long ones are not always cut.
      cursor.advance(
          static_cast<std::uint64_t>(random.between(0, 2) == 0 ? random.between(1, left) : left));
    }
    ASSERT_NO_FATAL_FAILURE(expect_run(cursor, map));
    for (int jump = 0; jump < 5; ++jump) {
      const auto to = random.between(0, static_cast<std::int64_t>(map.size()));
      cursor.seek(static_cast<std::uint64_t>(to));
      ASSERT_NO_FATAL_FAILURE(expect_run(cursor, map));
      if (cursor.run().count == 0) continue;
      TypedCursor copy = cursor;
      copy.advance(copy.run().count);
      ASSERT_NO_FATAL_FAILURE(expect_run(copy, map));
    }
  }
}

TEST(TypedCursor, joins_elements_of_a_type_to_one_run) {
  const TypeDescPtr number = TypeDesc::basic(BasicType::kDouble).value();
  TypedCursor dense(*build(number), 1000000);
  EXPECT_EQ(dense.run().count, 1000000u);
  const auto sparse = build(TypeDesc::resized(0, -32, number).value());
  TypedCursor strided(*sparse, 1000);
  strided.seek(10);
  EXPECT_EQ(strided.run().count, 990u);
  EXPECT_EQ(strided.run().offset, -320);
  EXPECT_EQ(strided.run().stride, -32);
}

TEST(TypedCursor, passes_many_levels) {
  constexpr std::uint64_t kLevels = 100000;
  TypeDescPtr type = TypeDesc::basic(BasicType::kInt).value();
  const TypeDescPtr letter = TypeDesc::basic(BasicType::kChar).value();
  for (std::uint64_t level = 0; level < kLevels; ++level) {
    type = TypeDesc::structure({1, 1, 1}, {0, 8, 1}, {letter, type, letter}).value();
  }
  const auto program = build(type);
  TypedCursor cursor(*program, 2);
  std::uint64_t runs = 0;
  for (; cursor.position() < cursor.total(); ++runs) cursor.advance(cursor.run().count);
  EXPECT_EQ(runs, 2 * (2 * kLevels + 1));
  cursor.seek(kLevels);  // the innermost
  EXPECT_EQ(cursor.run().type, BasicType::kInt);
  EXPECT_EQ(cursor.run().offset, static_cast<std::int64_t>(8 * kLevels));
}

}  // namespace
}  // namespace mad
