// Status of libfabric calls: error numbers turned into sentences.
#ifndef MADLIKE_DRIVER_LIBFABRIC_STATUS_H_
#define MADLIKE_DRIVER_LIBFABRIC_STATUS_H_

#include <string>

#include "madlike/base/status.h"

namespace mad {

/// "`what`: the provider's words for `error`"; `error` is a libfabric error number of either sign.
Status ofi_status(StatusCode code, const std::string& what, long error);

}  // namespace mad

#endif  // MADLIKE_DRIVER_LIBFABRIC_STATUS_H_
