// The names of the ucx driver's fabrics: "ucx:" and its transports, with commas between them.
#ifndef MADLIKE_DRIVER_UCX_NAMES_H_
#define MADLIKE_DRIVER_UCX_NAMES_H_

#include <string>

#include "madlike/base/status.h"
#include "madlike/driver/ucx/ucx.h"

namespace mad {

/// Whether `fabric` is one of this driver's, with whatever transports: "ucx", "ucx:...".
bool is_ucx(const std::string& fabric);

/// What to open for such a name on a network interface (empty: the driver's choice).  The
/// transports are posix, cma, rc (or rc_mlx5, dc_mlx5), ud (or ud_mlx5) and tcp, in any order;
/// "ucx" alone is posix, rc and tcp.  kNotFound: a transport that is none of these;
/// kInvalidArgument: cma without posix.
Result<UcxOptions> ucx_options(const std::string& fabric, const std::string& interface);

/// The name of these transports, the same for the same ones; with and without rc, "ucx": engines
/// with it and without reach each other.
std::string ucx_name(const UcxOptions& options);

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_NAMES_H_
