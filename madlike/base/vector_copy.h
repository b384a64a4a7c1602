// A copy loop, compiled for each instruction set by the file that includes it; in an unnamed
// namespace, that the linker may not take one for another.
#ifndef MADLIKE_BASE_VECTOR_COPY_H_
#define MADLIKE_BASE_VECTOR_COPY_H_

#include <cstddef>
#include <cstdint>

namespace mad {
namespace {

constexpr std::size_t kVector = 32;
// Of memcpy() of as much compilers make two moves of 16 bytes.
using Vector = long long __attribute__((vector_size(kVector), aligned(1), may_alias));

inline Vector& vector_at(std::byte* place) { return *reinterpret_cast<Vector*>(place); }
inline const Vector& vector_at(const std::byte* place) {
  return *reinterpret_cast<const Vector*>(place);
}

// Forwards, kVector bytes or more.  Stores are whole vectors at aligned addresses, but the first
// and the last, which overlap their neighbours.
inline void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  vector_at(to) = vector_at(from);
  std::size_t at = kVector - reinterpret_cast<std::uintptr_t>(to) % kVector;
  for (; bytes - at >= 2 * kVector; at += 2 * kVector) {
    const Vector first = vector_at(from + at), second = vector_at(from + at + kVector);
    vector_at(to + at) = first;
    vector_at(to + at + kVector) = second;
  }
  if (bytes - at >= kVector) vector_at(to + at) = vector_at(from + at);
  vector_at(to + bytes - kVector) = vector_at(from + bytes - kVector);
}

}  // namespace
}  // namespace mad

#endif  // MADLIKE_BASE_VECTOR_COPY_H_
