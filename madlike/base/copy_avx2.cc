// Compiled with -mavx2 where the compiler knows it.
#include "madlike/base/copy_long.h"
#include "madlike/base/vector_copy.h"

namespace mad {

LongCopy* copy_avx2() {
#ifdef __AVX2__
  if (!__builtin_cpu_supports("avx2")) return nullptr;
  return [](void* to, const void* from, std::size_t bytes) -> void* {
    copy_by_vectors(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
    return to;
  };
#else
  return nullptr;
#endif
}

}  // namespace mad
