// fabric: from the names a user gives to open drivers.  The only place that knows which drivers
// exist.
#ifndef NETMOD_ABI_FABRIC_H_
#define NETMOD_ABI_FABRIC_H_

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/door/silence.h"
#include "madlike/driver/driver.h"

namespace mad {

inline constexpr const char* kDefaultFabric = "auto";

/// The fabrics of this library, for people: "auto, tcp, ofi:tcp, ...".
const char* fabric_names();

/// Those that a host may have: the names to try for somebody who asks what there is.
std::vector<std::string> fabrics_to_try();

/// What is the same for all fabrics, where they have it.
struct FabricOptions {
  std::string interface;  // network interface, e.g. "lo"; empty: the fabric's choice
  std::optional<DoorSecret> secret = {};  // of the address; empty: a new one
  /// How long a host may answer nothing, see DoorOptions.
  std::chrono::milliseconds silence_timeout = Silence::kTimeout;
  /// How long its end waits for peers whose hosts cannot be asked what they have.
  std::chrono::milliseconds linger{2000};
  /// Measured costs, see read_costs(): from what on memory is registered with an RDMA device.
  std::string costs_file = {};
};

/// Opens the fabric `name`, not "auto", which is several: "tcp", "shm", "ofi", "ofi:PROVIDER",
/// "ucx", "ucx:TRANSPORTS" (see ucx_options()), "loopback".  kNotFound: no such fabric, provider or
/// interface; the sentence lists what there is, or says why not; kInvalidArgument: one that needs
/// another, or a file of costs that cannot be used.
Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const FabricOptions& options);

/// The names of a list like "ucx:posix;tcp"; "auto" is "shm" and "tcp".
std::vector<std::string> fabric_list(const std::string& names);

/// Opens the fabrics of a list, e.g. "ucx:posix;tcp": at most EngineAddress::kMostFabrics of them,
/// with semicolons between, none twice, those first that are preferred.  All or none.
/// Their addresses have one secret.  Of "auto" the shared memory may be missing; it is said then.
Result<std::vector<std::unique_ptr<Driver>>> open_fabrics(const std::string& names,
                                                          FabricOptions options);

/// A fabric with nobody else on it, for an engine's messages to itself.
std::unique_ptr<Driver> open_self_fabric();

}  // namespace mad

#endif  // NETMOD_ABI_FABRIC_H_
