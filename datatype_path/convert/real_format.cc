#include "datatype_path/convert/real_format.h"

#include <cstring>

namespace mad {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr Wide kOne = 1;
constexpr int kTop = 127;  // the leading one's place in a normalised significand

// Bits of a format: sign, exponent, fraction; x87 has the leading one between the latter two.
struct Bits {
  int exponent;
  int fraction;
  bool explicit_one;

  int bias() const { return (1 << (exponent - 1)) - 1; }
  int special() const { return (1 << exponent) - 1; }  // the exponent of infinity and NaN
  int significand() const { return fraction + (explicit_one ? 1 : 0); }  // bits written
};

Bits bits_of(RealFormat format) {
  switch (format) {
    case RealFormat::kBinary32:
      return {8, 23, false};
    case RealFormat::kBinary64:
      return {11, 52, false};
    case RealFormat::kX87:
      return {15, 63, true};
    case RealFormat::kBinary128:
    case RealFormat::kDoubleDouble:
      break;
  }
  return {15, 112, false};
}

struct Real {
  enum class Kind { kZero, kFinite, kInfinite, kNan };
  Kind kind = Kind::kZero;
  bool negative = false;
  int exponent = 0;      // of the leading one
  Wide significand = 0;  // finite: leading one at kTop; NaN: the fraction below kTop
};

Wide load(const std::byte* in, std::size_t bytes, ByteOrder order) {
  Wide value = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = order == ByteOrder::kBig ? i : bytes - 1 - i;
    value = value << 8 | std::to_integer<unsigned>(in[at]);
  }
  return value;
}

void store(Wide value, std::byte* out, std::size_t bytes, ByteOrder order) {
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::size_t at = order == ByteOrder::kBig ? bytes - 1 - i : i;
    out[at] = static_cast<std::byte>(value & 0xff);
    value >>= 8;
  }
}

Wide load(const std::byte* in, const RealLayout& layout) {
  if (layout.format != RealFormat::kX87) return load(in, layout.bytes, layout.order);
  if (layout.order == ByteOrder::kLittle) return load(in, 10, layout.order);
  return load(in, 2, layout.order) << 64 | load(in + layout.bytes - 8, 8, layout.order);
}

void store(Wide value, std::byte* out, const RealLayout& layout) {
  if (layout.format != RealFormat::kX87) {
    store(value, out, layout.bytes, layout.order);
    return;
  }
  std::memset(out, 0, layout.bytes);
  if (layout.order == ByteOrder::kLittle) {
    store(value, out, 10, layout.order);
  } else {
    store(value >> 64, out, 2, layout.order);
    store(value, out + layout.bytes - 8, 8, layout.order);
  }
}

int leading_zeros(Wide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? __builtin_clzll(high)
                   : 64 + __builtin_clzll(static_cast<std::uint64_t>(value));
}

Real decode(Wide value, const Bits& bits) {
  Real real;
  const int exponent = static_cast<int>(value >> bits.significand()) & bits.special();
  const Wide fraction = value & ((kOne << bits.fraction) - 1);
  const bool one = bits.explicit_one ? (value >> bits.fraction & 1) != 0 : exponent != 0;
  real.negative = (value >> (bits.significand() + bits.exponent) & 1) != 0;
  real.significand = fraction << (kTop - bits.fraction);
  if (exponent != 0 && !one) {
    real.kind = Real::Kind::kNan;
  } else if (exponent == bits.special()) {
    real.kind = fraction == 0 ? Real::Kind::kInfinite : Real::Kind::kNan;
  } else if (one || fraction != 0) {
    real.kind = Real::Kind::kFinite;
    if (one) real.significand |= kOne << kTop;
    const int shift = leading_zeros(real.significand);
    real.significand <<= shift;
    real.exponent = (exponent == 0 ? 1 : exponent) - bits.bias() - shift;
  }
  return real;
}

// Exponent and significand as written; the exponent is special() if the number is too large.
struct Rounded {
  int exponent;
  Wide significand;  // with the leading one, if there is one
};

Rounded round(const Real& real, const Bits& bits) {
  int exponent = real.exponent + bits.bias();
  int drop = kTop - bits.fraction;
  if (exponent < 1) {  // subnormal, perhaps nothing at all
    drop += 1 - exponent;
    exponent = 0;
  }
  if (drop > kTop + 1) return {0, 0};  // less than half of the least number
  Wide kept = drop > kTop ? 0 : real.significand >> drop;
  const Wide rest = real.significand << (kTop + 1 - drop);
  const Wide half = kOne << kTop;
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  if (kept >> (bits.fraction + 1) != 0) {
    kept >>= 1;
    ++exponent;
  } else if (exponent == 0 && kept >> bits.fraction != 0) {
    exponent = 1;
  }
  if (exponent >= bits.special()) return {bits.special(), kOne << bits.fraction};
  return {exponent, kept};
}

Wide encode(const Real& real, const Bits& bits) {
  Rounded out{0, 0};
  switch (real.kind) {
    case Real::Kind::kZero:
      break;
    case Real::Kind::kFinite:
      out = round(real, bits);
      break;
    case Real::Kind::kInfinite:
      out = {bits.special(), kOne << bits.fraction};
      break;
    case Real::Kind::kNan:
      out = {bits.special(), real.significand >> (kTop - bits.fraction) |
                                 kOne << (bits.fraction - 1) | kOne << bits.fraction};
      break;
  }
  if (!bits.explicit_one) out.significand &= (kOne << bits.fraction) - 1;
  const Wide sign = real.negative ? kOne << bits.exponent : 0;
  return (sign | static_cast<Wide>(out.exponent)) << bits.significand() | out.significand;
}

}  // namespace

void convert_real(const std::byte* in, const RealLayout& from, std::byte* out,
                  const RealLayout& to) {
  store(encode(decode(load(in, from), bits_of(from.format)), bits_of(to.format)), out, to);
}

}  // namespace mad
