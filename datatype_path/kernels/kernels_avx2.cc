// Compiled with -mavx2 where the compiler knows it.
#include "datatype_path/kernels/kernel_templates.h"

namespace mad {

const KernelTable* avx2_kernels() {
#ifdef __AVX2__
  static constexpr KernelTable kTable = make_table("avx2");
  return __builtin_cpu_supports("avx2") ? &kTable : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace mad
