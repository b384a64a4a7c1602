#include "datatype_path/describe/number_list.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

template <typename T>
void expect_kept(const std::vector<T>& numbers, std::size_t bytes_each) {
  const NumberList<T> list(numbers);
  EXPECT_EQ(list.empty(), numbers.empty());
  for (std::size_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(list[i], numbers[i]) << i;
  EXPECT_EQ(list.memory_bytes(), bytes_each * numbers.size());
}

TEST(NumberList, is_narrow_where_long_and_all_fit) {
  std::vector<std::int64_t> places;
  std::vector<std::uint64_t> lengths;
  for (std::int64_t i = 0; i < 1000; ++i) {
    places.push_back((i - 500) * 4'000'000);
    lengths.push_back(static_cast<std::uint64_t>(i) * 4'000'000);
  }
  expect_kept(places, 4);
  expect_kept(lengths, 4);
  places.push_back(std::int64_t{1} << 31);
  lengths.push_back(std::uint64_t{1} << 32);
  expect_kept(places, 8);
  expect_kept(lengths, 8);
}

TEST(NumberList, keeps_the_borders_of_32_bits) {
  std::vector<std::int64_t> places(20, INT32_MIN);
  places.back() = INT32_MAX;
  expect_kept(places, 4);
  places.front() = std::int64_t{INT32_MIN} - 1;
  expect_kept(places, 8);
  std::vector<std::uint64_t> lengths(20, UINT32_MAX);
  expect_kept(lengths, 4);
  lengths.front() = std::uint64_t{UINT32_MAX} + 1;
  expect_kept(lengths, 8);
}

TEST(NumberList, may_be_short_or_empty) {
  expect_kept<std::int64_t>({}, 0);
  expect_kept<std::int64_t>({1, -2, 3}, 8);
}

TEST(NumberList, is_copied_with_a_number_added_to_each) {
  using Numbers = std::vector<std::int64_t>;
  Numbers many(20, -3), wide(20, std::int64_t{1} << 40);
  for (const Numbers& numbers : {Numbers{}, Numbers{1, 2}, many, wide}) {
    Numbers copied(numbers.size()), expected(numbers);
    NumberList<std::int64_t>(numbers).copy(5, copied.data());
    for (std::int64_t& number : expected) number += 5;
    EXPECT_EQ(copied, expected);
  }
}

}  // namespace
}  // namespace mad
