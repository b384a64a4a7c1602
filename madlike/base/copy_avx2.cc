// Compiled with -mavx2 where the compiler knows it.
#include "madlike/base/copy_long.h"
#include "madlike/base/vector_copy.h"

namespace mad {

LongCopy* copy_avx2() {
#ifdef __AVX2__
  return __builtin_cpu_supports("avx2") ? &copy_by_vectors : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace mad
