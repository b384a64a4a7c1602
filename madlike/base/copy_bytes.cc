#include "madlike/base/copy_bytes.h"

#include <cstdint>

#include "madlike/base/copy_long.h"

namespace mad {
namespace {

constexpr std::uintptr_t kPage = 4096;
// So little ahead of the source in its page, a destination makes AMD's string instruction take up
// to 30 times as long as vectors (ADR 71).
constexpr std::uintptr_t kClose = 64;
// But not where it is ahead by a multiple of this.
constexpr std::uintptr_t kHalfLine = 32;

bool is_slow(const void* to, const void* from) {
  const auto ahead =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % kPage;
  return ahead < kClose && ahead % kHalfLine != 0;
}

// Instead of the C library's copy, where that is by such an instruction; null elsewhere.
LongCopy* instead() {
#ifdef __x86_64__
  if (__builtin_cpu_is("amd")) return copy_avx2();
#endif
  return nullptr;
}

}  // namespace

void copy_long(void* to, const void* from, std::size_t bytes) {
  static LongCopy* const kInstead = instead();
  if (kInstead != nullptr && is_slow(to, from)) {
    kInstead(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace mad
