#include "madlike/base/copy_bytes.h"

#include "madlike/base/copy_long.h"

namespace mad {
namespace {

// What was measured; copies that are longer than the caches are the C library's business.
constexpr std::size_t kMostByVectors = std::size_t{4} << 20;

// Instead of the C library's copy, where that is by a string instruction that takes up to 30 times
// as long as vectors for some pairs of addresses (ADR 71), and often twice as long between two
// cores that share a ring (ADR 75); null elsewhere.
LongCopy* instead() {
#ifdef __x86_64__
  if (__builtin_cpu_is("amd")) return copy_avx2();
#endif
  return nullptr;
}

}  // namespace

void copy_long(void* to, const void* from, std::size_t bytes) {
  static LongCopy* const kInstead = instead();
  if (kInstead != nullptr && bytes <= kMostByVectors) {
    kInstead(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

}  // namespace mad
