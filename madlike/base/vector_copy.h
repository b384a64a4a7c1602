// A copy loop, compiled for each instruction set by the file that includes it; in an unnamed
// namespace, that the linker may not take one for another.
#ifndef MADLIKE_BASE_VECTOR_COPY_H_
#define MADLIKE_BASE_VECTOR_COPY_H_

#include <cstddef>
#include <cstdint>

namespace mad {
namespace {

constexpr std::size_t kVector = 32;
// At any address.  Of memcpy() of as much compilers make two moves of 16 bytes.
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  long long vector __attribute__((vector_size(kVector)));
};

inline void move_vector(std::byte* to, const std::byte* from) {
  reinterpret_cast<Unaligned*>(to)->vector = reinterpret_cast<const Unaligned*>(from)->vector;
}

// Forwards, kVector bytes or more.  Stores are whole vectors at aligned addresses, but the first
// and the last, which overlap their neighbours.
inline void copy_by_vectors(std::byte* to, const std::byte* from, std::size_t bytes) {
  move_vector(to, from);
  std::size_t at = kVector - reinterpret_cast<std::uintptr_t>(to) % kVector;
  for (; bytes - at >= 2 * kVector; at += 2 * kVector) {
    const auto first = reinterpret_cast<const Unaligned*>(from + at)->vector;
    const auto second = reinterpret_cast<const Unaligned*>(from + at + kVector)->vector;
    reinterpret_cast<Unaligned*>(to + at)->vector = first;
    reinterpret_cast<Unaligned*>(to + at + kVector)->vector = second;
  }
  if (bytes - at >= kVector) move_vector(to + at, from + at);
  move_vector(to + bytes - kVector, from + bytes - kVector);
}

}  // namespace
}  // namespace mad

#endif  // MADLIKE_BASE_VECTOR_COPY_H_
