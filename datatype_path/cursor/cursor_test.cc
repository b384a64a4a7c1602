// The cursor against the literal type map, over seeded random types.
#include "datatype_path/cursor/cursor.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using test::Arena;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::Sample;
using test::TypeMap;

constexpr int kTypes = 3000;

TEST(CursorProperty, packs_in_fragments_from_any_offset) {
  RandomTypes random(test::seed_from_environment(1));
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, {});
    Cursor cursor(*s.program, s.memory.base(), s.count);
    ASSERT_EQ(cursor.total(), s.packed.size()) << s.text();
    std::vector<std::byte> out(s.packed.size());
    std::size_t at = 0;
    while (at < out.size()) {
      const auto want = static_cast<std::size_t>(random.between(1, 1 + random.between(0, 600)));
      const std::size_t got = cursor.pack(out.data() + at, want);
      ASSERT_EQ(got, std::min(want, out.size() - at)) << s.text();
      at += got;
      ASSERT_EQ(cursor.position(), at);
    }
    ASSERT_EQ(cursor.pack(out.data(), 1), 0u);
    ASSERT_EQ(out, s.packed) << s.text();

    const auto offset = static_cast<std::size_t>(random.between(0, out.size()));
    const auto size = static_cast<std::size_t>(random.between(0, out.size() - offset));
    std::vector<std::byte> piece(size);
    cursor.seek(offset);
    Cursor copy = cursor;
    ASSERT_EQ(copy.pack(piece.data(), size), size);
    ASSERT_TRUE(std::equal(piece.begin(), piece.end(), s.packed.begin() + offset)) << s.text();
    ASSERT_EQ(cursor.position(), offset);
  }
}

TEST(CursorProperty, unpacks_fragments_in_any_order) {
  RandomTypes random(test::seed_from_environment(2));
  RandomTypeOptions options;
  options.overlaps = false;
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, options);
    Arena expected(s.map, std::byte{0xee}), memory(s.map, std::byte{0xee});
    test::unpack(s.map, s.packed, expected);
    Cursor cursor(*s.program, memory.base(), s.count);
    for (const auto& [at, size] : test::fragments(s.packed.size(), 300, random)) {
      cursor.seek(at);
      ASSERT_EQ(cursor.unpack(s.packed.data() + at, size), size);
    }
    ASSERT_EQ(memory.bytes(), expected.bytes()) << s.text();
  }
}

TEST(CursorProperty, lists_the_fewest_segments) {
  RandomTypes random(test::seed_from_environment(3));
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, {});
    const TypeMap runs = test::joined(s.map);
    Cursor cursor(*s.program, s.memory.base(), s.count);
    std::vector<Segment> out(runs.size() + 1);
    std::size_t bytes = 0;
    ASSERT_EQ(cursor.segments(out.data(), out.size(), SIZE_MAX, &bytes), runs.size()) << s.text();
    ASSERT_EQ(bytes, s.packed.size());
    for (std::size_t i = 0; i < runs.size(); ++i) {
      ASSERT_EQ(out[i].begin(), &s.memory[runs[i].offset]) << s.text();
      ASSERT_EQ(out[i].size, runs[i].length) << s.text();
    }
    // In small helpings, from anywhere.
    const auto offset = static_cast<std::size_t>(random.between(0, s.packed.size()));
    cursor.seek(offset);
    std::vector<std::byte> gathered;
    while (cursor.position() < cursor.total()) {
      const auto capacity = static_cast<std::size_t>(random.between(1, 5));
      const auto room = static_cast<std::size_t>(random.between(1, 200));
      const std::size_t used =
          cursor.segments(out.data(), std::min(capacity, out.size()), room, &bytes);
      ASSERT_GT(used, 0u);
      ASSERT_LE(bytes, room);
      for (std::size_t i = 0; i < used; ++i) {
        gathered.insert(gathered.end(), out[i].begin(), out[i].end());
      }
    }
    ASSERT_TRUE(
        std::equal(gathered.begin(), gathered.end(), s.packed.begin() + offset, s.packed.end()))
        << s.text();
  }
}

TEST(CursorProperty, packs_short_runs_and_leaves_long_ones) {
  RandomTypes random(test::seed_from_environment(4));
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, {});
    Cursor cursor(*s.program, s.memory.base(), s.count);
    const auto long_run = static_cast<std::size_t>(random.between(0, 80));
    std::vector<std::byte> out(s.packed.size());
    std::size_t at = static_cast<std::size_t>(random.between(0, out.size()));
    cursor.seek(at);
    const std::size_t from = at;
    while (at < out.size()) {
      const auto room =
          std::min<std::size_t>(static_cast<std::size_t>(random.between(1, 200)), out.size() - at);
      const std::size_t staged = cursor.pack_short_runs(out.data() + at, room, long_run);
      at += staged;
      const Segment run = cursor.next_run(SIZE_MAX);
      if (staged < room) {
        ASSERT_GE(run.size, long_run) << s.text();
        std::copy(run.begin(), run.end(), out.data() + at);
        cursor.advance(run.size);
        at += run.size;
      }
    }
    ASSERT_TRUE(std::equal(out.begin() + from, out.end(), s.packed.begin() + from)) << s.text();
  }
}

TEST(CursorProperty, advances_as_it_seeks) {
  RandomTypes random(test::seed_from_environment(5));
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, {});
    Cursor walker(*s.program, s.memory.base(), s.count), seeker = walker;
    while (walker.position() < walker.total()) {
      const auto left = static_cast<std::int64_t>(walker.total() - walker.position());
      walker.advance(static_cast<std::size_t>(random.between(1, std::min<std::int64_t>(left, 90))));
      seeker.seek(walker.position());
      ASSERT_EQ(walker.next_run(SIZE_MAX).data, seeker.next_run(SIZE_MAX).data) << s.text();
      ASSERT_EQ(walker.next_run(SIZE_MAX).size, seeker.next_run(SIZE_MAX).size) << s.text();
    }
  }
}

}  // namespace
}  // namespace mad
