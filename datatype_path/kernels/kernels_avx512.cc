// Compiled with -mavx512f and its kin where the compiler knows them.
#include "datatype_path/kernels/kernel_templates.h"

namespace mad {

const KernelTable* avx512_kernels() {
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)
  static constexpr KernelTable kTable = make_table("avx512");
  const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512bw");
  return has ? &kTable : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace mad
