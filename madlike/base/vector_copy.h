// A copy loop, compiled for each instruction set by the file that includes it; in an unnamed
// namespace, that the linker may not take one for another.
#ifndef MADLIKE_BASE_VECTOR_COPY_H_
#define MADLIKE_BASE_VECTOR_COPY_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mad {
namespace {

constexpr std::size_t kVector = 32;

// Forwards, kVector bytes or more.  Stores are whole vectors at aligned addresses, but the first
// and the last, which overlap their neighbours.
inline void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, kVector);
  std::size_t at = kVector - reinterpret_cast<std::uintptr_t>(to) % kVector;
  for (; bytes - at >= 2 * kVector; at += 2 * kVector) {
    std::memcpy(to + at, from + at, kVector);
    std::memcpy(to + at + kVector, from + at + kVector, kVector);
  }
  if (bytes - at >= kVector) std::memcpy(to + at, from + at, kVector);
  std::memcpy(to + bytes - kVector, from + bytes - kVector, kVector);
}

}  // namespace
}  // namespace mad

#endif  // MADLIKE_BASE_VECTOR_COPY_H_
