// The cursor against the literal type map, over seeded random types.
#include "datatype_path/cursor/cursor.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/copies.h"
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

constexpr int kTypes = 1500;

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

// Types whose programs are deeper than a cursor remembers: every level puts a run or a list of runs
// before or after what is inside, or repeats it where that does not fold.
TypeDescPtr deep_type(RandomTypes& random, int levels) {
  const auto small = [&random] {
    return TypeDesc::bytes(static_cast<std::uint64_t>(random.between(1, 9))).value();
  };
  TypeDescPtr type = small();
  for (int level = 0; level < levels; ++level) {
    const TypeDescPtr run = small();
    const std::int64_t after = type->true_lb() + type->true_extent() + random.between(1, 9);
    const std::int64_t before = type->true_lb() - random.between(1, 9) - run->extent();
    // Too long to be written out in place: a level of its own.
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < 9; ++i) places.push_back(after + 20 * i + random.between(0, 9));
    std::vector<TypeDescPtr> list(9, run);
    const std::int64_t inside = random.between(0, 9);
    places.insert(places.begin() + inside, 0);
    list.insert(list.begin() + inside, type);
    const bool may_repeat = type->size() < 600;
    switch (random.between(0, may_repeat ? 6 : 3)) {
      case 0:
        type = TypeDesc::structure({1, 1}, {0, after}, {type, run}).value();
        break;
      case 1:
        type = TypeDesc::structure({1, 1}, {before, 0}, {run, type}).value();
        break;
      case 2:
      case 3:
        type = TypeDesc::structure(std::vector<std::uint64_t>(10, 1), places, list).value();
        break;
      case 4:
        type = TypeDesc::vector(2, 1, type->true_extent() + random.between(1, 9), type).value();
        break;
      case 5:
        type = TypeDesc::structure({1, 1, 1}, {0, after, after + 20}, {type, run, type}).value();
        break;
      default:
        type = TypeDesc::indexed_block(1, {after, 0}, type).value();
        break;
    }
  }
  return type;
}

TEST(CursorProperty, walks_programs_deeper_than_it_remembers) {
  RandomTypes random(test::seed_from_environment(6));
  std::uint32_t deepest = 0;
  for (int n = 0; n < 150; ++n) {
    const TypeDescPtr type = deep_type(random, static_cast<int>(random.between(5, 100)));
    const auto count = static_cast<std::uint64_t>(random.between(1, 3));
    const auto program = BlockProgram::compile(*type).value();
    deepest = std::max(deepest, program->depth());
    const TypeMap map = test::expand(*type, count);
    Arena memory(map);
    test::fill_randomly(memory.bytes(), random);
    const std::vector<std::byte> packed = test::pack(map, memory);
    Cursor cursor(*program, memory.base(), count);
    std::vector<std::byte> out(packed.size());
    std::size_t at = 0;
    while (at < out.size()) at += cursor.pack(out.data() + at, random.between(1, 200));
    ASSERT_EQ(out, packed) << program->to_string();
    // Run by run, and from a random place.
    const std::vector<std::int64_t> places = test::byte_places(map);
    cursor.seek(at = static_cast<std::size_t>(random.between(0, packed.size())));
    while (cursor.position() < cursor.total()) {
      const Segment run = cursor.next_run(SIZE_MAX);
      ASSERT_EQ(run.begin(), &memory[places[at]]) << program->to_string();
      cursor.advance(run.size);
      at += run.size;
    }
    ASSERT_EQ(at, packed.size());
  }
  EXPECT_GT(deepest, 30u);
}

// A leaf beside what is inside, at every level: of the high loops it is all that is remembered.
TEST(CursorProperty, does_not_take_a_leaf_of_a_high_loop_for_the_rest) {
  RandomTypes random(test::seed_from_environment(12));
  const TypeDescPtr leaf = TypeDesc::vector(20, 1, 3, TypeDesc::bytes(1).value()).value();
  std::uint32_t deepest = 0;
  for (int n = 0; n < 30; ++n) {
    TypeDescPtr type = leaf;
    for (std::int64_t level = random.between(6, 12); level > 0; --level) {
      // Too long to be written out in place: a level of its own.
      std::vector<TypeDescPtr> list{type};
      std::vector<std::int64_t> places{100 - type->true_lb()};
      const std::int64_t after = 101 + type->true_extent();
      for (std::int64_t i = 0; i < 8; ++i) {
        list.push_back(TypeDesc::bytes(static_cast<std::uint64_t>(random.between(1, 3))).value());
        places.push_back(after + i * i + 5 * i);
      }
      const std::int64_t beside = random.between(0, 9);
      list.insert(list.begin() + beside, leaf);
      places.insert(places.begin() + beside, random.between(0, 40));
      type = TypeDesc::structure(std::vector<std::uint64_t>(10, 1), places, list).value();
    }
    const auto count = static_cast<std::uint64_t>(random.between(1, 3));
    const auto program = BlockProgram::compile(*type).value();
    deepest = std::max(deepest, program->depth());
    ASSERT_NO_FATAL_FAILURE(test::expect_copied(*program, *type, count, random));
    const TypeMap map = test::expand(*type, count);
    Arena memory(map);
    test::fill_randomly(memory.bytes(), random);
    const std::vector<std::byte> packed = test::pack(map, memory);
    Cursor cursor(*program, memory.base(), count);
    for (std::size_t at = 0; at < packed.size(); ++at) {
      std::vector<std::byte> rest(packed.size() - at);
      cursor.seek(at);
      ASSERT_EQ(cursor.pack(rest.data(), rest.size()), rest.size());
      ASSERT_TRUE(std::equal(rest.begin(), rest.end(), packed.begin() + at))
          << at << "\n"
          << program->to_string();
    }
  }
  EXPECT_GT(deepest, 10u);
}

TEST(CursorProperty, copies_matrices_by_columns) {
  RandomTypes random(test::seed_from_environment(9));
  for (int n = 0; n < 200; ++n) {
    const std::int64_t width = random.between(1, 12), step = width + random.between(0, 20);
    const std::int64_t columns = random.between(1, 100), rows = random.between(9, 100);
    std::int64_t stride = std::max(step * columns, std::int64_t{1} << random.between(6, 12));
    if (random.between(0, 2) == 0) stride = -stride;
    TypeDescPtr cell = TypeDesc::bytes(static_cast<std::uint64_t>(width)).value();
    if (n % 4 == 0 && width > 2) {  // of two runs, which do not begin where the cell does
      const auto last = static_cast<std::uint64_t>(width) - 2;
      cell = TypeDesc::structure({1, 1}, {1, 2 + width}, {cell, TypeDesc::bytes(last).value()})
                 .value();
    }
    const TypeDescPtr column =
        TypeDesc::vector(static_cast<std::uint64_t>(rows), 1, stride, cell).value();
    const bool backwards = random.between(0, 3) == 0;
    TypeDescPtr type = TypeDesc::resized(column->lb(), backwards ? -step : step, column).value();
    auto count = static_cast<std::uint64_t>(columns);
    if (n % 3 == 0) {  // all columns in one element, twice
      type = TypeDesc::contiguous(count, type).value();
      type = TypeDesc::resized(type->true_lb(), type->true_extent() + 5, type).value();
      count = 2;
    }
    if (!test::receivable(test::expand(*type, count))) continue;
    ASSERT_NO_FATAL_FAILURE(test::expect_copied(*type, count, random)) << n;
  }
}

TEST(CursorProperty, copies_long_lists_of_uneven_runs) {
  RandomTypes random(test::seed_from_environment(10));
  for (int n = 0; n < 200; ++n) {
    const std::int64_t runs = random.between(17, 400), longest = random.between(2, 129);
    // Runs of one to three words, mostly one, are copied word by word.
    const std::int64_t word = n % 2 == 0 ? 1 : std::int64_t{4} << random.between(0, 2);
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> places;
    std::int64_t place = random.between(-5000, 5000);
    for (std::int64_t i = 0; i < runs; ++i) {
      const std::int64_t words = std::max<std::int64_t>(1, random.between(-2, 3));
      const std::int64_t length = word == 1 ? random.between(1, longest) : words * word;
      lengths.push_back(static_cast<std::uint64_t>(length));
      places.push_back(place);
      place += length + random.between(1, 9);
    }
    TypeDescPtr type = TypeDesc::indexed(lengths, places, TypeDesc::bytes(1).value()).value();
    if (n % 5 == 0) {  // an inner leaf
      type =
          TypeDesc::structure({1, 1}, {0, place + 9}, {type, TypeDesc::bytes(5).value()}).value();
    }
    const auto count = static_cast<std::uint64_t>(random.between(1, 3));
    ASSERT_NO_FATAL_FAILURE(test::expect_copied(*type, count, random)) << n;
  }
}

// Layouts far larger than any memory: only addresses are looked at.
std::uint64_t address(const Segment& run) { return reinterpret_cast<std::uintptr_t>(run.data); }

TEST(Cursor, seeks_in_huge_vectors) {
  RandomTypes random(test::seed_from_environment(7));
  constexpr std::int64_t kStride = 1 << 22;
  constexpr std::uint64_t kBlocks = std::uint64_t{1} << 35, kCount = 8;
  const auto program =
      BlockProgram::compile(
          *TypeDesc::vector(kBlocks, 3, kStride, TypeDesc::bytes(8).value()).value())
          .value();
  Cursor cursor(*program, nullptr, kCount);
  ASSERT_EQ(cursor.total(), kBlocks * kCount * 24);
  for (int n = 0; n < 10000; ++n) {
    const auto offset = static_cast<std::uint64_t>(
        random.between(0, static_cast<std::int64_t>(cursor.total()) - 1));
    cursor.seek(offset);
    const std::uint64_t block = offset / 24, element = block / kBlocks;
    const std::uint64_t expected = element * static_cast<std::uint64_t>(program->extent()) +
                                   block % kBlocks * kStride + offset % 24;
    const Segment run = cursor.next_run(SIZE_MAX);
    ASSERT_EQ(address(run), expected);
    ASSERT_EQ(run.size, 24 - offset % 24);
  }
  cursor.seek(cursor.total());
  EXPECT_EQ(cursor.next_run(1).size, 0u);
}

TEST(Cursor, counts_elements_beyond_32_bits) {
  const auto program =
      BlockProgram::compile(*TypeDesc::indexed({2, 1}, {8, 0}, TypeDesc::bytes(4).value()).value())
          .value();
  constexpr std::uint64_t kCount = std::uint64_t{5} << 40;
  Cursor cursor(*program, nullptr, kCount);
  ASSERT_EQ(cursor.total(), kCount * 12);
  cursor.seek((kCount - 1) * 12 + 9);
  EXPECT_EQ(address(cursor.next_run(SIZE_MAX)), (kCount - 1) * 16 + 1);
  EXPECT_EQ(cursor.next_run(SIZE_MAX).size, 3u);
  cursor.advance(3);
  EXPECT_EQ(cursor.position(), cursor.total());
  // A run of the most bytes there can be.
  const auto most = BlockProgram::compile(*TypeDesc::bytes(INT64_MAX).value()).value();
  Cursor run(*most, nullptr, 1);
  run.seek(INT64_MAX - 1);
  EXPECT_EQ(address(run.next_run(SIZE_MAX)), static_cast<std::uint64_t>(INT64_MAX) - 1);
  EXPECT_EQ(run.next_run(SIZE_MAX).size, 1u);
}

TEST(Cursor, seeks_in_long_lists) {
  RandomTypes random(test::seed_from_environment(8));
  constexpr std::size_t kBlocks = 1'000'000;
  std::vector<std::uint64_t> lengths, starts;
  std::vector<std::int64_t> places;
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(random.between(1, 5)));
    places.push_back(static_cast<std::int64_t>(i) * 16 + random.between(0, 4));
    starts.push_back(packed);
    packed += lengths.back();
  }
  const auto program =
      BlockProgram::compile(*TypeDesc::indexed(lengths, places, TypeDesc::bytes(1).value()).value())
          .value();
  ASSERT_EQ(program->shape().runs, kBlocks);
  Cursor cursor(*program, nullptr, 1);
  ASSERT_EQ(cursor.total(), packed);
  // So many seeks would take minutes if each scanned the list.
  for (int n = 0; n < 200'000; ++n) {
    const auto block = static_cast<std::size_t>(random.between(0, kBlocks - 1));
    const auto inside = static_cast<std::uint64_t>(
        random.between(0, static_cast<std::int64_t>(lengths[block]) - 1));
    cursor.seek(starts[block] + inside);
    ASSERT_EQ(address(cursor.next_run(SIZE_MAX)),
              static_cast<std::uint64_t>(places[block]) + inside);
    ASSERT_EQ(cursor.next_run(SIZE_MAX).size, lengths[block] - inside);
  }
}

TEST(Cursor, of_nothing_stays_where_it_is) {
  const auto program = BlockProgram::compile(*TypeDesc::bytes(0).value()).value();
  Cursor cursor(*program, nullptr, 7);
  EXPECT_EQ(cursor.total(), 0u);
  EXPECT_EQ(cursor.next_run(8).size, 0u);
  EXPECT_EQ(cursor.pack(nullptr, 8), 0u);
  cursor.seek(0);
  cursor.advance(0);
  Segment out;
  std::size_t bytes = 1;
  EXPECT_EQ(cursor.segments(&out, 1, 8, &bytes), 0u);
  EXPECT_EQ(bytes, 0u);
}

TEST(Cursor, takes_buffers_anywhere_in_the_address_space) {
  // A type of absolute addresses, sent from address 0 (MPI_BOTTOM).
  std::vector<std::byte> a(5, std::byte{1}), b(3, std::byte{2});
  const auto place = [](std::vector<std::byte>& v) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(v.data()));
  };
  const auto program =
      BlockProgram::compile(
          *TypeDesc::indexed({5, 3}, {place(a), place(b)}, TypeDesc::bytes(1).value()).value())
          .value();
  Cursor cursor(*program, nullptr, 1);
  std::vector<std::byte> out(8);
  EXPECT_EQ(cursor.pack(out.data(), 100), 8u);
  EXPECT_EQ(out, (std::vector<std::byte>{a[0], a[0], a[0], a[0], a[0], b[0], b[0], b[0]}));
}

}  // namespace
}  // namespace mad
