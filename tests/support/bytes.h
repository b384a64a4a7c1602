// Bytes that tell their place: payloads of tests.
#ifndef TESTS_SUPPORT_BYTES_H_
#define TESTS_SUPPORT_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mad {

using Bytes = std::vector<std::byte>;

/// `size` bytes that differ by place and by `seed`.
inline Bytes pattern(std::size_t size, unsigned seed = 1) {
  Bytes out(size);
  std::uint32_t x = seed * 2654435761u + 1;
  for (std::byte& b : out) b = static_cast<std::byte>((x = x * 1664525u + 1013904223u) >> 24);
  return out;
}

}  // namespace mad

#endif  // TESTS_SUPPORT_BYTES_H_
