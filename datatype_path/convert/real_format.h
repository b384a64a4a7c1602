// Real formats: how machines write floating point numbers, and from one to another.
//
// All arithmetic is on integers, so that the result depends neither on this machine's rounding mode
// nor on which formats it has.  A number is rounded to the nearest of the new format, ties to even;
// what is too large becomes infinite, what is too small a subnormal or zero, as IEEE 754 has it.
// Signs of zeros stay.  A NaN stays one, quiet, with the leading bits of its payload; x87 numbers
// without their leading bit, which the x87 itself refuses, become NaNs.
#ifndef DATATYPE_PATH_CONVERT_REAL_FORMAT_H_
#define DATATYPE_PATH_CONVERT_REAL_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace mad {

enum class ByteOrder : std::uint8_t { kLittle = 0, kBig = 1 };

/// The numbers go over the wire.
enum class RealFormat : std::uint8_t {
  kBinary32 = 0,
  kBinary64 = 1,
  kX87 = 2,  // 80 bits with an explicit leading one, in 12 or 16 bytes
  kBinary128 = 3,
  kDoubleDouble = 4,  // a sum of two binary64; there is no conversion from or to it
};

/// One machine's way of writing a real number.  In x87's format the bytes beyond ten stand at the
/// end in little endian order, between exponent and significand in big endian order (as the 68881
/// has them), are written as zeros and not looked at.
struct RealLayout {
  RealFormat format;
  ByteOrder order;
  std::uint8_t bytes;
};

/// Writes the number at `in` to `out`.  Neither is a double-double.
void convert_real(const std::byte* in, const RealLayout& from, std::byte* out,
                  const RealLayout& to);

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_REAL_FORMAT_H_
