#include "datatype_path/serial/varint.h"

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

struct Read {
  VarintError error;
  std::uint64_t value;
  std::ptrdiff_t used;
};

Read read(const std::vector<std::byte>& bytes) {
  Read out{VarintError::kNone, 77, 0};
  const std::byte* at = bytes.data();
  out.error = get_varint(&at, bytes.data() + bytes.size(), &out.value);
  out.used = at - bytes.data();
  return out;
}

TEST(Varint, reads_what_it_wrote) {
  for (int bit = 0; bit < 64; ++bit) {
    for (int less = -1; less <= 1; ++less) {
      const std::uint64_t value = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(less);
      std::vector<std::byte> bytes(12, std::byte{0xff});
      const std::byte* const end = put_varint(bytes.data(), value);
      ASSERT_EQ(static_cast<std::size_t>(end - bytes.data()), varint_bytes(value));
      ASSERT_EQ(*end, std::byte{0xff});
      const Read back = read(bytes);
      ASSERT_EQ(back.error, VarintError::kNone);
      ASSERT_EQ(back.value, value);
      ASSERT_EQ(back.used, end - bytes.data());
    }
  }
}

TEST(Varint, takes_as_many_bytes_as_groups_of_seven_bits) {
  EXPECT_EQ(varint_bytes(0), 1u);
  EXPECT_EQ(varint_bytes(127), 1u);
  EXPECT_EQ(varint_bytes(128), 2u);
  EXPECT_EQ(varint_bytes(UINT64_MAX), 10u);
}

TEST(Varint, is_little_endian) {
  const Read got = read(bytes_of({0xac, 0x02}));
  EXPECT_EQ(got.value, 300u);
  EXPECT_EQ(got.used, 2);
}

TEST(Varint, refuses_what_is_no_number_and_changes_nothing) {
  const auto expect = [](std::initializer_list<int> bytes, VarintError error) {
    const Read got = read(bytes_of(bytes));
    EXPECT_EQ(got.error, error);
    EXPECT_EQ(got.value, 77u);
    EXPECT_EQ(got.used, 0);
  };
  expect({}, VarintError::kEnds);
  expect({0x80}, VarintError::kEnds);
  expect({0xff, 0xff}, VarintError::kEnds);
  expect({0x80, 0x00}, VarintError::kTooLong);
  expect({0xff, 0x80, 0x00}, VarintError::kTooLong);
  expect({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02}, VarintError::kTooBig);
  expect({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81}, VarintError::kTooBig);
  expect({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00}, VarintError::kTooLong);
}

TEST(Zigzag, keeps_small_magnitudes_small) {
  EXPECT_EQ(zigzag(0), 0u);
  EXPECT_EQ(zigzag(-1), 1u);
  EXPECT_EQ(zigzag(1), 2u);
  EXPECT_EQ(zigzag(-2), 3u);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::min()), UINT64_MAX);
  EXPECT_EQ(zigzag(std::numeric_limits<std::int64_t>::max()), UINT64_MAX - 1);
  const std::int64_t some[] = {0,
                               1,
                               -1,
                               1000,
                               -1000,
                               std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max()};
  for (const std::int64_t value : some) EXPECT_EQ(unzigzag(zigzag(value)), value);
}

}  // namespace
}  // namespace mad
