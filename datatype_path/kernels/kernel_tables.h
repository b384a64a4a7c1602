// For tests: the kernel tables that this processor can run.
#ifndef DATATYPE_PATH_KERNELS_KERNEL_TABLES_H_
#define DATATYPE_PATH_KERNELS_KERNEL_TABLES_H_

#include <vector>

#include "datatype_path/kernels/kernels.h"

namespace mad {

inline std::vector<const KernelTable*> runnable_kernels() {
  std::vector<const KernelTable*> tables{&portable_kernels()};
  if (avx2_kernels() != nullptr) tables.push_back(avx2_kernels());
  if (avx512_kernels() != nullptr) tables.push_back(avx512_kernels());
  return tables;
}

}  // namespace mad

#endif  // DATATYPE_PATH_KERNELS_KERNEL_TABLES_H_
