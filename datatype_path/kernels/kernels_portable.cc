#include "datatype_path/kernels/kernel_templates.h"

namespace mad {

const KernelTable& portable_kernels() {
  static constexpr KernelTable kTable = make_table("portable");
  return kTable;
}

}  // namespace mad
