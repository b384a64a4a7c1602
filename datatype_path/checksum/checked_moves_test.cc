#include "datatype_path/checksum/checked_moves.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/checksum/crc32c.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::RandomTypes;
using test::Sample;

TEST(CheckedMoves, pack_and_count_what_was_packed) {
  RandomTypes random(test::seed_from_environment(41));
  for (int n = 0; n < 500; ++n) {
    Sample s(random);
    const std::uint32_t whole = crc32c(0, s.packed.data(), s.packed.size());
    Cursor cursor(*s.program, s.memory.base(), s.count);
    std::vector<std::byte> out(s.packed.size());
    std::uint32_t crc = 0;
    ASSERT_EQ(pack_with_crc32c(cursor, out.data(), out.size() + 100, &crc), out.size());
    ASSERT_EQ(out, s.packed) << s.text();
    ASSERT_EQ(crc, whole);
    // On over fragments.
    cursor.seek(0);
    crc = 0;
    std::size_t at = 0;
    while (at < out.size()) {
      const auto size = std::min(out.size() - at, static_cast<std::size_t>(random.between(1, 300)));
      ASSERT_EQ(pack_with_crc32c(cursor, out.data() + at, size, &crc), size);
      at += size;
      ASSERT_EQ(crc, crc32c(0, s.packed.data(), at));
    }
    ASSERT_EQ(pack_with_crc32c(cursor, out.data(), 1, &crc), 0u);
    ASSERT_EQ(crc, whole);
  }
}

TEST(CheckedMoves, unpack_fragments_in_any_order) {
  RandomTypes random(test::seed_from_environment(42));
  test::RandomTypeOptions options;
  options.overlaps = false;
  for (int n = 0; n < 500; ++n) {
    Sample s(random, options);
    test::Arena expected(s.map, std::byte{0xee}), memory(s.map, std::byte{0xee});
    test::unpack(s.map, s.packed, expected);
    Cursor cursor(*s.program, memory.base(), s.count);
    struct Part {
      std::size_t at, size;
      std::uint32_t crc;
    };
    std::vector<Part> parts;
    for (const auto& [at, size] : test::fragments(s.packed.size(), 300, random)) {
      cursor.seek(at);
      parts.push_back({at, size, 0});
      ASSERT_EQ(unpack_with_crc32c(cursor, s.packed.data() + at, size, &parts.back().crc), size);
    }
    ASSERT_EQ(memory.bytes(), expected.bytes()) << s.text();
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.at < b.at; });
    std::uint32_t crc = 0;
    for (const Part& part : parts) crc = combine_crc32c(crc, part.crc, part.size);
    ASSERT_EQ(crc, crc32c(0, s.packed.data(), s.packed.size()));
  }
}

// Longer than the pieces that are checked at once.
TEST(CheckedMoves, of_long_streams) {
  const auto program =
      BlockProgram::compile(*TypeDesc::vector(50'001, 3, 20, TypeDesc::bytes(4).value()).value())
          .value();
  std::vector<std::byte> memory(static_cast<std::size_t>(program->true_extent()));
  RandomTypes random(7);
  test::fill_randomly(memory, random);
  std::vector<std::byte> plain(program->size()), checked(program->size());
  Cursor(*program, memory.data(), 1).pack(plain.data(), plain.size());
  Cursor cursor(*program, memory.data(), 1);
  std::uint32_t crc = 0;
  ASSERT_EQ(pack_with_crc32c(cursor, checked.data(), checked.size(), &crc), checked.size());
  EXPECT_EQ(checked, plain);
  EXPECT_EQ(crc, crc32c(0, plain.data(), plain.size()));

  std::vector<std::byte> received(memory.size()), again(program->size());
  Cursor in(*program, received.data(), 1), out = in;
  std::uint32_t crc_in = 0;
  ASSERT_EQ(unpack_with_crc32c(in, plain.data(), plain.size(), &crc_in), plain.size());
  EXPECT_EQ(crc_in, crc);
  out.pack(again.data(), again.size());
  EXPECT_EQ(again, plain);
}

}  // namespace
}  // namespace mad
