#include "datatype_path/program/plain_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

using Lengths = std::vector<std::uint64_t>;
using Places = std::vector<std::int64_t>;

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

/// A run of 12 bytes that begins at 8 of 24.
TypeDescPtr padded() {
  const TypeDescPtr fields = TypeDesc::structure({4, 8}, {8, 12}, {bytes(1), bytes(1)}).value();
  return TypeDesc::resized(0, 24, fields).value();
}

/// A run of 8 bytes that begins at 8, and whose neighbour touches it.
TypeDescPtr moved() { return TypeDesc::structure({8}, {8}, {bytes(1)}).value(); }

bool is_plain(const TypeDescPtr& type) { return plain_list(*type).has_value(); }
bool is_plain(const Result<TypeDescPtr>& type) { return is_plain(type.value()); }

/// Places `gap` apart or more, in no order that repeats itself.
Places irregular(std::size_t count, std::int64_t gap) {
  Places places;
  std::int64_t at = 40;
  for (std::size_t i = 0; i < count; ++i) {
    places.push_back(at);
    at += gap + static_cast<std::int64_t>(8 * ((i * i) % 1009 % 13));
  }
  return places;
}

/// A struct of the same blocks, which is not looked at as a list.
TypeDescPtr twin(const Lengths& lengths, const Places& places, const TypeDescPtr& child) {
  const std::vector<TypeDescPtr> children(places.size(), child);
  return TypeDesc::structure(lengths, places, children).value();
}

void expect_same_program(const TypeDescPtr& list, const TypeDescPtr& other) {
  const auto mine = BlockProgram::compile(*list).value();
  const auto others = BlockProgram::compile(*other).value();
  ASSERT_FALSE(is_plain(other));
  ASSERT_TRUE(mine->same_loops(*others)) << mine->to_string() << others->to_string();
  ASSERT_EQ(mine->to_string(), others->to_string());
  ASSERT_EQ(mine->shape().bytes, others->shape().bytes);
  ASSERT_EQ(mine->shape().runs, others->shape().runs);
  ASSERT_EQ(mine->shape().min_run, others->shape().min_run);
  ASSERT_EQ(mine->shape().max_run, others->shape().max_run);
  ASSERT_EQ(mine->shape().histogram, others->shape().histogram);
  ASSERT_EQ(mine->shape().extent, others->shape().extent);
  ASSERT_EQ(mine->contiguous(), others->contiguous());
  ASSERT_EQ(mine->streams_out(), others->streams_out());
  for (std::uint32_t i = 0; i < mine->loops(); ++i) {
    ASSERT_EQ(mine->node(i).min_run, others->node(i).min_run);
    ASSERT_EQ(mine->node(i).max_run, others->node(i).max_run);
    ASSERT_EQ(mine->node(i).height, others->node(i).height);
  }
}

TEST(PlainList, of_equal_runs_and_of_others) {
  for (const std::size_t count : {2u, 3u, 16u, 17u, 64u, 65u, 1000u}) {
    const Places places = irregular(count, 25);
    Lengths lengths(count);
    for (std::size_t i = 0; i < count; ++i) lengths[i] = 1 + i * i % 3;
    // Two runs are always equally far apart.
    const TypeDescPtr even = TypeDesc::indexed_block(1, places, padded()).value();
    EXPECT_EQ(is_plain(even), count > 2) << count;
    expect_same_program(even, twin(Lengths(count, 1), places, padded()));
    for (const TypeDescPtr& child : {bytes(8), moved()}) {
      const TypeDescPtr uneven = TypeDesc::indexed(lengths, places, child).value();
      EXPECT_TRUE(is_plain(uneven)) << count;
      expect_same_program(uneven, twin(lengths, places, child));
    }
  }
}

TEST(PlainList, is_nothing_that_can_be_joined) {
  Places places = irregular(100, 25);
  EXPECT_TRUE(is_plain(TypeDesc::indexed_block(3, places, bytes(8))));
  places[50] = places[49] + 24;
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(3, places, bytes(8))));

  Places even;
  for (std::int64_t i = 0; i < 100; ++i) even.push_back(i * 40);
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, even, bytes(8))));
  for (std::size_t i = 90; i < 100; ++i) even[i] += static_cast<std::int64_t>(i * i);
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, even, bytes(8))));  // a long stretch

  Places twice = irregular(10, 25);
  for (std::size_t i = 0; i < 10; ++i) twice.push_back(twice[i] + 1000);
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, twice, bytes(8))));
}

TEST(PlainList, is_no_type_of_other_blocks) {
  const Places places = irregular(100, 25);
  const TypeDescPtr hole = TypeDesc::vector(2, 4, 6, bytes(1)).value();
  const TypeDescPtr backwards = TypeDesc::structure({4, 4}, {4, 0}, {bytes(1), bytes(1)}).value();
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, places, hole)));
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, places, backwards)));
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(2, places, padded())));
  EXPECT_FALSE(is_plain(TypeDesc::indexed(Lengths(100, 2), places, padded())));
  EXPECT_TRUE(is_plain(TypeDesc::indexed(Lengths(100, 1), places, padded())));
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(0, places, bytes(8))));
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, {}, bytes(8))));
  EXPECT_FALSE(is_plain(TypeDesc::indexed_block(1, {8}, bytes(8))));
  Lengths lengths(100, 1);
  lengths[7] = 0;
  EXPECT_FALSE(is_plain(TypeDesc::indexed(lengths, places, bytes(8))));
  EXPECT_FALSE(is_plain(bytes(8)));
}

// As far from each other as places may be.
TEST(PlainList, at_the_ends_of_memory) {
  constexpr std::int64_t kFar = INT64_MAX / 2 - 100;
  const Places places{-kFar, 0, 100, kFar};
  const TypeDescPtr list = TypeDesc::indexed_block(1, places, padded()).value();
  EXPECT_TRUE(is_plain(list));
  expect_same_program(list, twin(Lengths(4, 1), places, padded()));
}

// An empty block may be anywhere, also where its child's first byte would be at no address.
TEST(PlainList, has_no_empty_blocks) {
  const Lengths lengths{1, 0, 1};
  const Places places{0, INT64_MAX, 100};
  const TypeDescPtr list = TypeDesc::indexed(lengths, places, moved()).value();
  EXPECT_FALSE(is_plain(list));
  expect_same_program(list, twin(lengths, places, moved()));
}

// Each list is compiled as the struct is that has the same blocks, by all passes.
TEST(PlainListProperty, has_the_program_of_the_compilers_passes) {
  std::mt19937_64 random(test::seed_from_environment(76));
  const auto below = [&random](std::uint64_t n) { return random() % n; };
  int plain = 0;
  for (int n = 0; n < 3000; ++n) {
    const bool even = below(2) == 0, dense = below(2) == 0;
    const TypeDescPtr child = !dense ? padded() : below(3) == 0 ? moved() : bytes(1 + below(9));
    const std::size_t count = 1 + below(below(4) == 0 ? 300 : 20);
    const std::uint64_t most = dense ? 1 + below(4) : 1, kinds_of_gaps = 1 + below(20);
    const std::uint64_t apart = below(2);  // or some touch
    const std::uint64_t length = 1 + below(most);
    const bool some_are_empty = below(4) == 0;
    Lengths lengths;
    Places places;
    std::int64_t at = static_cast<std::int64_t>(below(2000)) - 1000;
    for (std::size_t i = 0; i < count; ++i) {
      lengths.push_back(even ? length : some_are_empty && below(10) == 0 ? 0 : 1 + below(most));
      places.push_back(at);
      at += static_cast<std::int64_t>(lengths.back() * child->size() + apart +
                                      8 * below(kinds_of_gaps));
    }
    if (below(4) == 0) std::shuffle(places.begin(), places.end(), random);
    TypeDescPtr list = even ? TypeDesc::indexed_block(length, places, child).value()
                            : TypeDesc::indexed(lengths, places, child).value();
    TypeDescPtr same = twin(lengths, places, child);
    if (below(2) == 0) {
      list = TypeDesc::resized(-8, 5000, list).value();
      same = TypeDesc::resized(-8, 5000, same).value();
    }
    plain += is_plain(list) ? 1 : 0;
    SCOPED_TRACE(n);
    ASSERT_NO_FATAL_FAILURE(expect_same_program(list, same));
  }
  EXPECT_GT(plain, 700);
  EXPECT_LT(plain, 2500);
}

}  // namespace
}  // namespace mad
