// Status of UCX's calls: its status codes turned into sentences.
#ifndef MADLIKE_DRIVER_UCX_STATUS_H_
#define MADLIKE_DRIVER_UCX_STATUS_H_

#include <ucs/type/status.h>

#include <string>

#include "madlike/base/status.h"

namespace mad {

/// "`what`: UCX's words for `status`"
Status ucx_status(StatusCode code, const std::string& what, ucs_status_t status);

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_STATUS_H_
