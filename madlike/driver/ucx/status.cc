#include "madlike/driver/ucx/status.h"

namespace mad {

Status ucx_status(StatusCode code, const std::string& what, ucs_status_t status) {
  return {code, what + ": " + ucs_status_string(status)};
}

}  // namespace mad
