#include "madlike/checksum/crc32c.h"

#include <isa-l/crc.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <limits>

namespace mad {
namespace {

// Polynomials over GF(2) of degree below 32, modulo Castagnoli's.  Bits are reflected, as in a CRC:
// bit 31 is the coefficient of x^0.
constexpr std::uint32_t kPolynomial = 0x82f63b78;  // without x^32
constexpr std::uint32_t kOne = 0x80000000;         // x^0

constexpr std::uint32_t times_x(std::uint32_t a) {
  return (a >> 1) ^ ((a & 1) != 0 ? kPolynomial : 0);
}

constexpr std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t sum = 0;
  for (std::uint32_t term = kOne; term != 0; term >>= 1) {
    sum ^= (a & term) != 0 ? b : 0;
    b = times_x(b);
  }
  return sum;
}

// [k]: x^(8 * 2^k), what 2^k bytes of zeros multiply with.
constexpr std::array<std::uint32_t, 64> powers_for_bytes() {
  std::uint32_t power = kOne >> 8;  // x^8
  std::array<std::uint32_t, 64> out{};
  for (std::uint32_t& p : out) {
    p = power;
    power = product(power, power);
  }
  return out;
}
constexpr std::array<std::uint32_t, 64> kPowersForBytes = powers_for_bytes();

// ISA-L leaves the upper halves of the vector registers in use.  On some processors every change
// between SSE and AVX instructions after that takes 100 ns, until somebody clears them.
#if defined(__x86_64__)
__attribute__((target("avx"))) void clear_upper_halves() { _mm256_zeroupper(); }
const bool has_upper_halves = __builtin_cpu_supports("avx") != 0;
#else
void clear_upper_halves() {}
constexpr bool has_upper_halves = false;
#endif

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size) {
  // ISA-L neither inverts nor writes, and counts in int.
  constexpr std::size_t kMost = std::numeric_limits<int>::max() / 2;
  auto* at = static_cast<unsigned char*>(const_cast<void*>(data));
  crc = ~crc;
  while (size > 0) {
    const std::size_t piece = std::min(size, kMost);
    crc = crc32_iscsi(at, static_cast<int>(piece), crc);
    at += piece;
    size -= piece;
  }
  if (has_upper_halves) clear_upper_halves();
  return ~crc;
}

std::uint32_t combine_crc32c(std::uint32_t a, std::uint32_t b, std::uint64_t b_bytes) {
  // The inversions before and after the bytes cancel out.
  for (std::size_t k = 0; b_bytes != 0; ++k, b_bytes >>= 1) {
    if ((b_bytes & 1) != 0) a = product(a, kPowersForBytes[k]);
  }
  return a ^ b;
}

}  // namespace mad
