#include "madlike/driver/libfabric/status.h"

#include <rdma/fi_errno.h>

namespace mad {

Status ofi_status(StatusCode code, const std::string& what, long error) {
  const long number = error < 0 ? -error : error;
  return Status(code, what + ": " + fi_strerror(static_cast<int>(number)));
}

}  // namespace mad
