// Numbers of variable length, little-endian base 128, as docs/program_format.md has them.
#ifndef DATATYPE_PATH_SERIAL_VARINT_H_
#define DATATYPE_PATH_SERIAL_VARINT_H_

#include <cstddef>
#include <cstdint>

namespace mad {

/// Signed numbers as unsigned ones, small magnitudes as small numbers.
inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>((value >> 1) ^ (0 - (value & 1)));
}

/// The bytes that put_varint() writes: 1 to 10.
inline std::size_t varint_bytes(std::uint64_t value) {
  return 1 + static_cast<std::size_t>(63 - __builtin_clzll(value | 1)) / 7;
}

/// Writes `value` and returns the place after it.
inline std::byte* put_varint(std::byte* at, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<std::byte>(value | 0x80);
  *at++ = static_cast<std::byte>(value);
  return at;
}

enum class VarintError { kNone, kEnds, kTooBig, kTooLong };

/// Reads a number at `*at` and moves `*at` past it; on error neither `*at` nor `*value` changes.
/// Never reads at or after `end`.
inline VarintError get_varint(const std::byte** at, const std::byte* end, std::uint64_t* value) {
  std::uint64_t sum = 0;
  const std::byte* next = *at;
  for (unsigned shift = 0;; shift += 7) {
    if (next == end) return VarintError::kEnds;
    const auto byte = static_cast<std::uint64_t>(*next++);
    if (shift == 63 && byte > 1) return VarintError::kTooBig;
    sum |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (byte == 0 && shift > 0) return VarintError::kTooLong;
    *at = next;
    *value = sum;
    return VarintError::kNone;
  }
}

}  // namespace mad

#endif  // DATATYPE_PATH_SERIAL_VARINT_H_
