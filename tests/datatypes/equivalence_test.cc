// Every form of the engine against the literal type map: seeded random types, compiled for every
// instruction set that this processor has, sent through their serialised form and back; packed and
// unpacked whole, in fragments and in any order, and listed as segments.
//
// MAD_TYPES says how many types (2000), MAD_SEED which.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/cursor/cursor.h"
#include "datatype_path/kernels/kernel_tables.h"
#include "datatype_path/program/block_program.h"
#include "datatype_path/serial/program_bytes.h"
#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using test::Arena;
using test::RandomType;
using test::RandomTypes;
using test::TypeMap;
using ProgramPtr = std::shared_ptr<const BlockProgram>;

int types_to_try() {
  const char* const text = std::getenv("MAD_TYPES");
  return text == nullptr ? 2000 : std::atoi(text);
}

std::vector<ProgramPtr> forms_of(const TypeDesc& type) {
  std::vector<ProgramPtr> forms;
  for (const KernelTable* table : runnable_kernels()) {
    const ProgramPtr compiled = BlockProgram::compile(type, *table).value();
    std::vector<std::byte> bytes(serialized_size(*compiled));
    EXPECT_EQ(serialize(*compiled, bytes.data(), bytes.size()).value(), bytes.size());
    forms.push_back(compiled);
    forms.push_back(deserialize(bytes.data(), bytes.size(), *table).value());
  }
  return forms;
}

// As many elements as keep the oracle quick.
std::uint64_t some_count(const TypeDesc& type, RandomTypes& random) {
  constexpr std::int64_t kMostBytes = 16 * 1024, kMostSpan = 512 * 1024, kMost = 200;
  const std::int64_t by_size = kMostBytes / (1 + static_cast<std::int64_t>(type.size()));
  const std::int64_t by_span = kMostSpan / (1 + std::abs(type.extent()));
  const std::int64_t most = std::max<std::int64_t>(2, std::min({kMost, by_size, by_span}));
  return static_cast<std::uint64_t>(random.between(0, most));
}

// Of a few bytes each in one of four, so that borders fall into elements.
std::vector<std::pair<std::size_t, std::size_t>> some_fragments(std::size_t bytes,
                                                                RandomTypes& random) {
  return test::fragments(bytes, random.between(0, 3) == 0 ? 16 : 2000, random);
}

void expect_packs(const BlockProgram& program, std::uint64_t count, Arena& memory,
                  const std::vector<std::byte>& packed, RandomTypes& random) {
  std::vector<std::byte> out(packed.size());
  Cursor whole(program, memory.base(), count);
  ASSERT_EQ(whole.pack(out.data(), out.size() + 1), packed.size());
  ASSERT_EQ(out, packed);
  std::fill(out.begin(), out.end(), std::byte{0});
  Cursor cursor(program, memory.base(), count);
  for (const auto& [at, size] : some_fragments(packed.size(), random)) {
    cursor.seek(at);
    ASSERT_EQ(cursor.pack(out.data() + at, size), size);
  }
  ASSERT_EQ(out, packed);
}

void expect_unpacks(const BlockProgram& program, std::uint64_t count, const TypeMap& map,
                    const std::vector<std::byte>& packed, RandomTypes& random) {
  Arena expected(map, std::byte{0xee}), whole(map, std::byte{0xee}), pieces(map, std::byte{0xee});
  test::unpack(map, packed, expected);
  Cursor(program, whole.base(), count).unpack(packed.data(), packed.size());
  ASSERT_EQ(whole.bytes(), expected.bytes());
  Cursor cursor(program, pieces.base(), count);
  for (const auto& [at, size] : some_fragments(packed.size(), random)) {
    cursor.seek(at);
    ASSERT_EQ(cursor.unpack(packed.data() + at, size), size);
  }
  ASSERT_EQ(pieces.bytes(), expected.bytes());
}

void expect_lists(const BlockProgram& program, std::uint64_t count, Arena& memory,
                  const std::vector<std::byte>& packed, RandomTypes& random) {
  Cursor cursor(program, memory.base(), count);
  std::vector<std::byte> out;
  while (cursor.position() < cursor.total()) {
    std::array<Segment, 7> segments;
    std::size_t bytes = 0;
    const auto capacity = static_cast<std::size_t>(random.between(1, segments.size()));
    const auto room = static_cast<std::size_t>(random.between(1, 1500));
    const std::size_t used = cursor.segments(segments.data(), capacity, room, &bytes);
    ASSERT_GT(bytes, 0u);
    for (std::size_t i = 0; i < used; ++i) {
      const auto* const first = static_cast<const std::byte*>(segments[i].data);
      out.insert(out.end(), first, first + segments[i].size);
    }
  }
  ASSERT_EQ(out, packed);
}

TEST(Equivalence, of_all_forms_with_the_type_map) {
  RandomTypes random(test::seed_from_environment(20261121));
  for (int n = types_to_try(); n > 0; --n) {
    test::RandomTypeOptions options;
    options.overlaps = n % 3 == 0;
    const RandomType made = random.next(options);
    const std::uint64_t count = some_count(*made.type, random);
    const TypeMap map = test::expand(*made.type, count);
    const bool receivable = test::receivable(map);
    Arena memory(map);
    test::fill_randomly(memory.bytes(), random);
    const std::vector<std::byte> packed = test::pack(map, memory);
    for (const ProgramPtr& program : forms_of(*made.type)) {
      SCOPED_TRACE(std::to_string(count) + " x " + made.text + "\n" + program->to_string());
      ASSERT_NO_FATAL_FAILURE(expect_packs(*program, count, memory, packed, random));
      ASSERT_NO_FATAL_FAILURE(expect_lists(*program, count, memory, packed, random));
      if (!receivable) continue;
      ASSERT_NO_FATAL_FAILURE(expect_unpacks(*program, count, map, packed, random));
    }
  }
}

}  // namespace
}  // namespace mad
