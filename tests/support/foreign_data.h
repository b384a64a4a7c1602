// Foreign data: the oracle of conversion - random values of basic types, written as any machine
// would write them.
//
// Nothing is shared with the conversion under test but Architecture as a description: integers are
// written digit by digit, real numbers with this compiler's own float, double, x87 long double and
// __float128.  So it needs a little endian x86 machine, as the tests run on.
#ifndef TESTS_SUPPORT_FOREIGN_DATA_H_
#define TESTS_SUPPORT_FOREIGN_DATA_H_

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "datatype_path/convert/architecture.h"
#include "tests/support/random_type.h"

namespace mad::test {

static_assert(LDBL_MANT_DIG == 64 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
__extension__ using Quad = __float128;
__extension__ using Integer = __int128;
using Digits = std::vector<std::byte>;

struct Machine {
  std::string name;
  Architecture architecture;
};

/// Machines that differ from this one in various ways.
inline std::vector<Machine> machines() {
  using B = BasicType;
  const Architecture here = Architecture::local();
  const Architecture ilp32 =
      here.with_size(B::kLong, 4).with_size(B::kAint, 4).with_long_double(RealFormat::kX87, 12);
  return {
      {"this one", here},
      {"external32", Architecture::external32()},
      {"64 bits, big endian",
       here.with(ByteOrder::kBig).with_long_double(RealFormat::kBinary128, 16)},
      {"ILP32, little endian", ilp32},
      {"ILP32, big endian", ilp32.with(ByteOrder::kBig).with_size(B::kBool, 4)},
      {"LLP64", here.with_size(B::kLong, 4)
                    .with_size(B::kWchar, 2)
                    .with_long_double(RealFormat::kBinary64, 8)},
      {"ILP64, big endian, wide Fortran", here.with(ByteOrder::kBig)
                                              .with_size(B::kInt, 8)
                                              .with_size(B::kShort, 4)
                                              .with_size(B::kInteger, 8)
                                              .with_size(B::kLogical, 8)
                                              .with_size(B::kReal, 8)
                                              .with_size(B::kDoublePrecision, 16)},
  };
}

/// An element's value: an integer, or one or two real numbers.
struct Value {
  Integer integer = 0;
  std::array<Quad, 2> real{};
};

template <typename Float>
Digits digits_of(Quad value, std::size_t significant) {
  const auto number = static_cast<Float>(value);
  Digits out(significant);
  std::memcpy(out.data(), &number, significant);
  return out;
}

/// As a machine writes one real number of `bytes` bytes.
inline Digits real_bytes(Quad value, RealFormat format, std::size_t bytes, ByteOrder order) {
  Digits out;
  switch (format) {
    case RealFormat::kBinary32:
      out = digits_of<float>(value, 4);
      break;
    case RealFormat::kBinary64:
      out = digits_of<double>(value, 8);
      break;
    case RealFormat::kX87:
      out = digits_of<long double>(value, 10);
      break;
    default:
      out = digits_of<Quad>(value, 16);
      break;
  }
  const std::size_t padding = bytes - out.size();
  if (order == ByteOrder::kLittle) {
    out.resize(bytes);
  } else {
    std::reverse(out.begin(), out.end());
    if (padding > 0) out.insert(out.begin() + 2, padding, std::byte{0});
  }
  return out;
}

inline Digits integer_bytes(Integer value, std::size_t bytes, ByteOrder order) {
  Digits out;
  for (std::size_t i = 0; i < bytes; ++i) {
    out.push_back(static_cast<std::byte>(static_cast<unsigned>(value & 0xff)));
    value >>= 8;
  }
  if (order == ByteOrder::kBig) std::reverse(out.begin(), out.end());
  return out;
}

inline bool is_real(BasicType type) {
  return info(type).family == BasicFamily::kReal || info(type).family == BasicFamily::kComplex;
}

/// An element as `machine` writes it.
inline Digits bytes_of(const Value& value, BasicType type, const Architecture& machine) {
  const std::size_t bytes = machine.size_of(type);
  if (!is_real(type)) return integer_bytes(value.integer, bytes, machine.order());
  const std::size_t parts = info(type).family == BasicFamily::kComplex ? 2 : 1;
  Digits out;
  for (std::size_t i = 0; i < parts; ++i) {
    const Digits part =
        real_bytes(value.real[i], machine.real_format(type), bytes / parts, machine.order());
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

inline Quad rounded(Quad value, RealFormat format) {
  switch (format) {
    case RealFormat::kBinary32:
      return static_cast<float>(value);
    case RealFormat::kBinary64:
      return static_cast<double>(value);
    case RealFormat::kX87:
      return static_cast<long double>(value);
    default:
      return value;
  }
}

/// What `from`'s element is on `to`: integers that do not fit are 0 and clear `*fits`.
inline Value converted(Value value, BasicType type, const Architecture& from,
                       const Architecture& to, bool* fits) {
  if (is_real(type)) {
    for (Quad& part : value.real) part = rounded(part, to.real_format(type));
    return value;
  }
  const std::size_t bytes = to.size_of(type);
  if (bytes == from.size_of(type)) return value;
  if (info(type).family == BasicFamily::kLogical) {
    value.integer = value.integer != 0 ? 1 : 0;
    return value;
  }
  const bool is_signed = info(type).family == BasicFamily::kSigned;
  const Integer half = Integer{1} << (8 * bytes - 1);
  const Integer low = is_signed ? -half : 0, high = is_signed ? half : 2 * half;
  if (value.integer < low || value.integer >= high) {
    value.integer = 0;
    *fits = false;
  }
  return value;
}

inline Quad random_real(RandomTypes& random) {
  switch (random.between(0, 11)) {
    case 0:
      return 0.0;
    case 1:
      return -0.0;
    case 2:
      return std::numeric_limits<double>::infinity();
    case 3:
      return -std::numeric_limits<double>::infinity();
    case 4:
      return std::numeric_limits<double>::quiet_NaN();
    default:
      break;
  }
  // A significand of more digits than any format has, and exponents around the ends of each.
  static constexpr std::int64_t kExponents[] = {0, 127, -126, -149, 1023, -1022, -1074, 16383};
  Quad value = 1;
  for (int i = 0; i < 4; ++i) {
    value = value / 4294967296.0 + static_cast<double>(random.between(0, UINT32_MAX));
  }
  const std::int64_t exponent = kExponents[random.between(0, 7)] + random.between(-30, 30) - 31;
  value *= std::ldexp(1.0L, static_cast<int>(exponent));
  return random.between(0, 1) == 0 ? value : -value;
}

/// A value that `machine` can have; integers of `bytes` bytes at most, if that is not 0.
inline Value random_value(BasicType type, const Architecture& machine, std::size_t bytes,
                          RandomTypes& random) {
  Value value;
  if (is_real(type)) {
    for (Quad& part : value.real) part = rounded(random_real(random), machine.real_format(type));
    return value;
  }
  if (info(type).family == BasicFamily::kLogical) {
    value.integer = random.between(0, 1);
    // Fortran's true may be any bits.
    if (type == BasicType::kLogical && value.integer != 0) value.integer = random.between(1, 255);
    return value;
  }
  std::size_t length = machine.size_of(type);
  if (bytes != 0) length = std::min(length, bytes);
  length = static_cast<std::size_t>(
      random.between(random.between(0, 1) == 0 ? 1 : static_cast<std::int64_t>(length),
                     static_cast<std::int64_t>(length)));
  for (std::size_t i = 0; i < length; ++i) {
    value.integer = value.integer << 8 | random.between(0, 255);
  }
  const Integer half = Integer{1} << (8 * length - 1);
  if (info(type).family == BasicFamily::kSigned && length < 16 && value.integer >= half) {
    value.integer -= 2 * half;
  }
  return value;
}

}  // namespace mad::test

#endif  // TESTS_SUPPORT_FOREIGN_DATA_H_
