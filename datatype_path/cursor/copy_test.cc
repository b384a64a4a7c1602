// One layout copied into another, against the literal type map of both.
#include "datatype_path/cursor/copy.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/copies.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using test::Elements;
using test::RandomTypeOptions;
using test::RandomTypes;

TypeDescPtr bytes(std::int64_t size) {
  return TypeDesc::bytes(static_cast<std::uint64_t>(size)).value();
}

TypeDescPtr vector(std::int64_t count, std::int64_t stride, const TypeDescPtr& child) {
  return TypeDesc::vector(static_cast<std::uint64_t>(count), 1, stride, child).value();
}

// `count` of them, `step` bytes from one to the next, as one element.
TypeDescPtr repeated(std::int64_t count, std::int64_t step, const TypeDescPtr& child) {
  return vector(count, step, TypeDesc::resized(0, step, child).value());
}

TypeDescPtr random_type(RandomTypes& random, bool overlaps) {
  RandomTypeOptions options;
  options.overlaps = overlaps;
  options.max_bytes = 1000;
  return random.next(options).type;
}

// Elements that have as many bytes as `total`: some of a random type and one run for the rest.
Elements elements_of(std::uint64_t total, RandomTypes& random) {
  TypeDescPtr type = random_type(random, false);
  const std::uint64_t count =
      type->size() == 0 ? 0 : std::min<std::uint64_t>(3, total / type->size());
  const std::uint64_t rest = total - count * type->size();
  const std::int64_t reach = 3 * (std::abs(type->extent()) + std::abs(type->true_lb()) +
                                  static_cast<std::int64_t>(type->true_extent()));
  const TypeDescPtr run = TypeDesc::bytes(rest).value();
  return {TypeDesc::structure({count, 1}, {0, reach}, {type, run}).value(), 1};
}

TEST(Copy, of_random_types_of_as_many_bytes) {
  RandomTypes random(test::seed_from_environment(471));
  for (int n = 0; n < 80; ++n) {
    const Elements from{random_type(random, true),
                        static_cast<std::uint64_t>(random.between(0, 3))};
    const Elements to = elements_of(from.type->size() * from.count, random);
    ASSERT_NO_FATAL_FAILURE(test::expect_copied(from, to, random)) << n;
  }
}

TEST(Copy, ends_where_the_shorter_one_does) {
  RandomTypes random(test::seed_from_environment(472));
  for (int n = 0; n < 60; ++n) {
    const Elements from{random_type(random, true),
                        static_cast<std::uint64_t>(random.between(0, 3))};
    const Elements to{random_type(random, false), static_cast<std::uint64_t>(random.between(0, 3))};
    ASSERT_NO_FATAL_FAILURE(test::expect_copied(from, to, random)) << n;
  }
}

TEST(Copy, of_rows_to_columns_and_back) {
  RandomTypes random(test::seed_from_environment(473));
  for (int n = 0; n < 40; ++n) {
    const std::int64_t width =
        n % 2 == 0 ? std::int64_t{1} << random.between(0, 6) : random.between(1, 150);
    const std::int64_t columns = random.between(1, 40), rows = random.between(1, 40);
    const auto pitch = [&](std::int64_t cells) {
      const std::int64_t least = cells * width;
      return random.between(0, 1) == 0 ? least + random.between(0, 99) : (least / 4096 + 1) * 4096;
    };
    const std::int64_t row_pitch = pitch(columns), column_pitch = pitch(rows);
    const TypeDescPtr cell = bytes(width);
    const TypeDescPtr by_rows =
        vector(rows, row_pitch, TypeDesc::contiguous(columns, cell).value());
    const TypeDescPtr by_columns = repeated(rows, width, vector(columns, column_pitch, cell));
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({by_rows, 1}, {by_columns, 1}, random)) << n;
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({by_columns, 1}, {by_rows, 1}, random)) << n;
  }
}

TEST(Copy, of_boxes_whose_dimensions_change_places) {
  RandomTypes random(test::seed_from_environment(474));
  for (int n = 0; n < 40; ++n) {
    const std::int64_t width = random.between(1, 20);
    const std::int64_t counts[] = {random.between(2, 9), random.between(2, 9),
                                   random.between(2, 9)};
    // The first dimension is the innermost of the stream; each place in memory has its stride.
    const auto box = [&](std::vector<int> order) {
      std::int64_t strides[3];
      std::int64_t stride = width + random.between(0, 1) * random.between(0, 30);
      for (const int dimension : order) {
        strides[dimension] = stride;
        stride = stride * counts[dimension] + random.between(0, 1) * random.between(0, 30);
      }
      TypeDescPtr type = bytes(width);
      for (int d = 0; d < 3; ++d) type = repeated(counts[d], strides[d], type);
      return type;
    };
    std::vector<int> from = {0, 1, 2}, to = {0, 1, 2};
    for (std::int64_t i = random.between(0, 5); i > 0; --i) {
      std::next_permutation(from.begin(), from.end());
    }
    for (std::int64_t i = random.between(0, 5); i > 0; --i) {
      std::next_permutation(to.begin(), to.end());
    }
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({box(from), 1}, {box(to), 1}, random)) << n;
  }
}

TEST(Copy, of_runs_of_some_lengths_to_runs_of_others) {
  RandomTypes random(test::seed_from_environment(475));
  for (int n = 0; n < 40; ++n) {
    const std::int64_t unit = random.between(1, 40);
    const auto runs = [&] {
      const std::int64_t length = unit * random.between(1, n % 3 == 0 ? 100 : 6);
      return vector(10'000 / length + 1, length + random.between(1, 50), bytes(length));
    };
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({runs(), 1}, {runs(), 1}, random)) << n;
  }
}

TEST(Copy, of_structures_and_lists_to_their_like) {
  RandomTypes random(test::seed_from_environment(476));
  for (int n = 0; n < 40; ++n) {
    std::vector<std::uint64_t> lengths;
    std::vector<std::int64_t> places;
    std::int64_t place = random.between(0, 9);
    const std::int64_t longest = n % 5 == 0 ? 700 : 30;
    for (std::int64_t i = random.between(2, n % 2 == 0 ? 16 : 200); i > 0; --i) {
      lengths.push_back(static_cast<std::uint64_t>(random.between(1, longest)));
      places.push_back(place);
      place += static_cast<std::int64_t>(lengths.back()) + random.between(1, 9);
    }
    const TypeDescPtr type = TypeDesc::indexed(lengths, places, bytes(1)).value();
    const auto apart = [&] {
      return TypeDesc::resized(0, place + random.between(0, 40), type).value();
    };
    const auto count = static_cast<std::uint64_t>(random.between(1, 9));
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({apart(), count}, {apart(), count}, random)) << n;
    std::swap(lengths.front(), lengths.back());  // as many runs and bytes, in other places
    places.front() += place;
    places.back() += 2 * place;
    const TypeDescPtr other = TypeDesc::indexed(lengths, places, bytes(1)).value();
    ASSERT_NO_FATAL_FAILURE(test::expect_copied({type, 1}, {other, 1}, random)) << n;
  }
}

TEST(Copy, allocates_nothing) {
  RandomTypes random(test::seed_from_environment(477));
  for (int n = 0; n < 200; ++n) {
    test::Sample from(random, {});
    RandomTypeOptions options;
    options.overlaps = false;
    test::Sample to(random, options);
    const std::size_t before = test::allocations().count;
    Cursor reader(*from.program, from.memory.base(), from.count);
    Cursor writer(*to.program, to.memory.base(), to.count);
    copy(reader, writer, SIZE_MAX);
    ASSERT_EQ(test::allocations().count, before) << from.text() << to.text();
  }
}

TEST(Copy, of_nothing_stays_where_it_is) {
  const auto program = BlockProgram::compile(*bytes(8)).value();
  const auto none = BlockProgram::compile(*bytes(0)).value();
  std::vector<std::byte> memory(8);
  Cursor some(*program, memory.data(), 1), empty(*none, nullptr, 5);
  EXPECT_EQ(copy(some, empty, 8), 0u);
  EXPECT_EQ(copy(empty, some, 8), 0u);
  EXPECT_EQ(some.position(), 0u);
}

}  // namespace
}  // namespace mad
