// What libmad is built without on a machine that only its tests know: libfabric, UCX and x86's
// vectors.
#include "datatype_path/kernels/kernels.h"
#include "madlike/driver/ofi/ofi.h"
#include "netmod/abi/ucx_plugin.h"

namespace mad {

const KernelTable* avx2_kernels() { return nullptr; }
const KernelTable* avx512_kernels() { return nullptr; }

Result<std::unique_ptr<Driver>> open_ofi(const OfiOptions&) {
  return Status(StatusCode::kNotFound, "this build of the tests is without libfabric");
}

Result<std::unique_ptr<Driver>> open_ucx_plugin(const UcxOptions&) {
  return Status(StatusCode::kNotFound, "this build of the tests is without UCX");
}

}  // namespace mad
