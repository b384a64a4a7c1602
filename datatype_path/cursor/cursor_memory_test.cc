// A cursor's whole life allocates nothing, whatever the program and however it is copied.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using ProgramPtr = std::shared_ptr<const BlockProgram>;

// Makes a cursor, copies it, and does all there is to do with both.
void live(const BlockProgram& program, void* base, std::uint64_t count, std::byte* stream) {
  Cursor cursor(program, base, count);
  const Cursor master = cursor;
  const auto total = static_cast<std::size_t>(cursor.total());
  cursor.pack(stream, total);
  cursor.seek(0);
  cursor.unpack(stream, total);
  Segment runs[3];
  std::size_t listed = 0;
  for (const std::size_t size : {total / 2 + 1, total / 3 + 1, total / 7 + 1}) {
    cursor = master;
    cursor.pack(stream, size);
    cursor.pack_short_runs(stream, size, 16);
    cursor.advance(cursor.next_run(size).size);
    while (cursor.segments(runs, 3, size, &listed) > 0) {
    }
    for (std::size_t at = total; at >= size;) {  // fragments, the last ones first
      cursor.seek(at -= size);
      cursor.unpack(stream + at, size);
    }
  }
}

std::size_t allocated_by(const BlockProgram& program, void* base, std::uint64_t count,
                         std::byte* stream) {
  const std::size_t before = test::allocations().count;
  live(program, base, count, stream);
  return test::allocations().count - before;
}

TEST(CursorMemory, is_none_for_random_types) {
  test::RandomTypes random(test::seed_from_environment(11));
  for (int n = 0; n < 500; ++n) {
    test::Sample s(random, {});
    EXPECT_EQ(allocated_by(*s.program, s.memory.base(), s.count, s.packed.data()), 0u) << s.text();
  }
}

TEST(CursorMemory, is_none_for_any_way_of_copying) {
  const auto bytes = [](std::uint64_t size) { return TypeDesc::bytes(size).value(); };
  std::vector<std::uint64_t> uneven, words;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < 1000; ++i) {
    uneven.push_back(static_cast<std::uint64_t>(1 + i * i % 31));
    words.push_back(static_cast<std::uint64_t>(8 + i * i % 3 * 8));
    places.push_back(40 * i + i % 3);
  }
  const TypeDescPtr column = TypeDesc::vector(100, 1, 1024, bytes(8)).value();
  // Deeper than a cursor remembers: each level is too long to be written out in place.
  TypeDescPtr deep = column;
  for (int level = 0; level < 20; ++level) {
    std::vector<std::int64_t> around{0};
    std::vector<TypeDescPtr> parts{deep};
    for (std::int64_t i = 0; i < 9; ++i) {
      around.push_back(deep->extent() + 8 * i + i * i % 5);
      parts.push_back(bytes(2));
    }
    deep = TypeDesc::structure(std::vector<std::uint64_t>(10, 1), around, parts).value();
  }
  const std::vector<std::pair<std::string, TypeDescPtr>> types = {
      {"one run", bytes(5000)},
      {"rows", TypeDesc::vector(100, 1, 40, bytes(24)).value()},
      {"short body", TypeDesc::indexed({16, 1}, {0, 24}, bytes(1)).value()},
      {"equal runs", TypeDesc::indexed_block(8, places, bytes(1)).value()},
      {"pieces", TypeDesc::indexed(words, places, bytes(1)).value()},
      {"chunks", TypeDesc::indexed(uneven, places, bytes(1)).value()},
      {"tiles", TypeDesc::contiguous(30, TypeDesc::resized(0, 8, column).value()).value()},
      {"deep", deep},
      {"nothing", bytes(0)},
  };
  std::uint32_t deepest = 0;
  for (const auto& [name, type] : types) {
    const ProgramPtr program = BlockProgram::compile(*type).value();
    deepest = std::max(deepest, program->depth());
    std::vector<std::byte> memory(
        static_cast<std::size_t>(2 * type->extent() + type->true_extent()));
    std::vector<std::byte> stream(static_cast<std::size_t>(3 * type->size()) + 1);
    for (const std::uint64_t count : {0, 1, 3}) {
      EXPECT_EQ(allocated_by(*program, memory.data(), count, stream.data()), 0u) << name;
    }
  }
  EXPECT_GT(deepest, 8u);
}

// What would be found if there were something.
TEST(CursorMemory, is_counted) {
  const std::size_t before = test::allocations().count;
  const auto some = std::make_unique<Cursor>(
      *BlockProgram::compile(*TypeDesc::bytes(1).value()).value(), nullptr, 1);
  EXPECT_GT(test::allocations().count, before);
}

}  // namespace
}  // namespace mad
