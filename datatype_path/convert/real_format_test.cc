// Every pair of formats against the compiler's own conversions, on random bits and on the values at
// which something changes.
#include "datatype_path/convert/real_format.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

static_assert(LDBL_MANT_DIG == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
__extension__ using Quad = __float128;

template <typename Float>
struct Format;
template <>
struct Format<float> {
  static constexpr RealLayout kLayout{RealFormat::kBinary32, ByteOrder::kLittle, 4};
  static constexpr int kExponent = 8, kFraction = 23;
};
template <>
struct Format<double> {
  static constexpr RealLayout kLayout{RealFormat::kBinary64, ByteOrder::kLittle, 8};
  static constexpr int kExponent = 11, kFraction = 52;
};
template <>
struct Format<long double> {
  static constexpr RealLayout kLayout{RealFormat::kX87, ByteOrder::kLittle, 16};
  static constexpr int kExponent = 15, kFraction = 63;
};
template <>
struct Format<Quad> {
  static constexpr RealLayout kLayout{RealFormat::kBinary128, ByteOrder::kLittle, 16};
  static constexpr int kExponent = 15, kFraction = 112;
};

__extension__ using Wide = unsigned __int128;

template <typename Float>
Float from_bits(Wide bits) {
  Float out{};
  std::memcpy(&out, &bits, std::min(sizeof(out), sizeof(bits)));
  return out;
}

template <typename Float>
Wide to_bits(const Float& value) {
  constexpr std::size_t kMeaningful =
      Format<Float>::kLayout.format == RealFormat::kX87 ? 10 : sizeof(Float);
  Wide out = 0;
  std::memcpy(&out, &value, kMeaningful);
  return out;
}

// Random bits; exponents and fractions near their ends more often than not.
template <typename Float>
Float random_number(std::mt19937_64& random) {
  using F = Format<Float>;
  Wide fraction = static_cast<Wide>(random()) << 64 | random();
  fraction &= (Wide{1} << F::kFraction) - 1;
  switch (random() % 6) {
    case 0:
      fraction = 0;
      break;
    case 1:  // few digits: ties
      fraction &= ~((Wide{1} << (F::kFraction - 1 - static_cast<int>(random() % 22))) - 1);
      break;
    case 2:
      fraction |= ((Wide{1} << F::kFraction) - 1) & ~Wide{random() % 1024};
      break;
    default:
      break;
  }
  const unsigned top = (1u << F::kExponent) - 1, bias = top / 2;
  static constexpr int kEnds[] = {0, -126, -149, 127, -1022, -1074, 1023, -16382, -16445};
  const std::uint64_t kind = random() % 8;
  unsigned exponent = static_cast<unsigned>(random()) & top;
  if (kind == 0) exponent = 0;
  if (kind == 1) exponent = top;
  if (kind > 3) {
    const int wanted =
        static_cast<int>(bias) + kEnds[random() % 9] + static_cast<int>(random() % 9) - 4;
    if (wanted >= 0 && wanted <= static_cast<int>(top)) exponent = static_cast<unsigned>(wanted);
  }
  constexpr bool kExplicit = F::kLayout.format == RealFormat::kX87;
  Wide upper = static_cast<Wide>(random() & 1) << F::kExponent | exponent;
  if (kExplicit) upper = upper << 1 | (exponent != 0 ? 1 : 0);
  return from_bits<Float>(upper << F::kFraction | fraction);
}

template <typename From, typename To>
void compare(std::mt19937_64& random) {
  for (int n = 0; n < 60000; ++n) {
    const From in = random_number<From>(random);
    const To expected = static_cast<To>(in);
    To out{};
    convert_real(reinterpret_cast<const std::byte*>(&in), Format<From>::kLayout,
                 reinterpret_cast<std::byte*>(&out), Format<To>::kLayout);
    Wide wanted = to_bits(expected);
    // To its own format the compiler does nothing; a signalling NaN becomes a quiet one here.
    if (std::is_same_v<From, To> && in != in) wanted |= Wide{1} << (Format<To>::kFraction - 1);
    ASSERT_TRUE(to_bits(out) == wanted)
        << std::hex << static_cast<std::uint64_t>(to_bits(in) >> 64) << " "
        << static_cast<std::uint64_t>(to_bits(in)) << " becomes "
        << static_cast<std::uint64_t>(to_bits(out) >> 64) << " "
        << static_cast<std::uint64_t>(to_bits(out)) << ", not "
        << static_cast<std::uint64_t>(wanted >> 64) << " " << static_cast<std::uint64_t>(wanted);
  }
}

template <typename From>
void compare_all() {
  std::mt19937_64 random(test::seed_from_environment(101));
  ASSERT_NO_FATAL_FAILURE((compare<From, float>(random)));
  ASSERT_NO_FATAL_FAILURE((compare<From, double>(random)));
  ASSERT_NO_FATAL_FAILURE((compare<From, long double>(random)));
  ASSERT_NO_FATAL_FAILURE((compare<From, Quad>(random)));
}

TEST(RealFormat, from_binary32_as_the_compiler_has_it) { compare_all<float>(); }
TEST(RealFormat, from_binary64_as_the_compiler_has_it) { compare_all<double>(); }
TEST(RealFormat, from_x87_as_the_compiler_has_it) { compare_all<long double>(); }
TEST(RealFormat, from_binary128_as_the_compiler_has_it) { compare_all<Quad>(); }

std::vector<int> converted(std::vector<int> in, RealLayout from, RealLayout to) {
  std::vector<std::byte> bytes, out(to.bytes, std::byte{0xee});
  for (const int byte : in) bytes.push_back(static_cast<std::byte>(byte));
  convert_real(bytes.data(), from, out.data(), to);
  std::vector<int> numbers;
  for (const std::byte byte : out) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

TEST(RealFormat, byte_orders_and_padding) {
  const RealLayout big_double{RealFormat::kBinary64, ByteOrder::kBig, 8};
  const RealLayout little_x87{RealFormat::kX87, ByteOrder::kLittle, 12};
  const RealLayout big_x87{RealFormat::kX87, ByteOrder::kBig, 12};
  const RealLayout big_quad{RealFormat::kBinary128, ByteOrder::kBig, 16};
  const std::vector<int> number{0xc0, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18};  // -pi
  const std::vector<int> little{0x00, 0xc0, 0x68, 0x21, 0xa2, 0xda,
                                0x0f, 0xc9, 0x00, 0xc0, 0x00, 0x00};
  const std::vector<int> big{0xc0, 0x00, 0x00, 0x00, 0xc9, 0x0f,
                             0xda, 0xa2, 0x21, 0x68, 0xc0, 0x00};
  EXPECT_EQ(converted(number, big_double, little_x87), little);
  EXPECT_EQ(converted(number, big_double, big_x87), big);
  EXPECT_EQ(converted(little, little_x87, big_x87), big);
  EXPECT_EQ(converted(big, big_x87, big_double), number);
  const std::vector<int> quad{0xc0, 0x00, 0x92, 0x1f, 0xb5, 0x44, 0x42, 0xd1,
                              0x80, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
  EXPECT_EQ(converted(number, big_double, big_quad), quad);
  EXPECT_EQ(converted(quad, big_quad, little_x87), little);
}

TEST(RealFormat, x87_numbers_without_their_leading_bit) {
  const RealLayout x87{RealFormat::kX87, ByteOrder::kBig, 12};
  const RealLayout number{RealFormat::kBinary64, ByteOrder::kBig, 8};
  const auto is_nan = [&](std::vector<int> in) {
    const std::vector<int> out = converted(std::move(in), x87, number);
    return (out[0] & 0x7f) == 0x7f && (out[1] & 0xf8) == 0xf8;
  };
  EXPECT_TRUE(is_nan({0x40, 0x00, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0}));  // an unnormal
  EXPECT_TRUE(is_nan({0x7f, 0xff, 0, 0, 0x00, 0, 0, 0, 0, 0, 0, 0}));  // a pseudo-infinity
  EXPECT_TRUE(is_nan({0x7f, 0xff, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0}));  // a pseudo-NaN
  // A subnormal with a leading bit is the least normal number's equal.
  const RealLayout quad{RealFormat::kBinary128, ByteOrder::kBig, 16};
  EXPECT_EQ(converted({0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, x87, quad),
            converted({0, 1, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0}, x87, quad));
}

}  // namespace
}  // namespace mad
