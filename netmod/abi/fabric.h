// fabric: from the names a user gives to open drivers.  The only place that knows which drivers
// exist.
#ifndef NETMOD_ABI_FABRIC_H_
#define NETMOD_ABI_FABRIC_H_

#include <chrono>
#include <cstdint>
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

/// The RDMA device of "auto"; tests have another.
struct AutoRdma {
  std::string fabric = "ofi:verbs";
  std::string root;  // stands before /sys and /dev, where devices are listed
  /// A device that works takes some milliseconds for its self-test, and longer where all ranks of a
  /// host begin with it.
  std::chrono::milliseconds self_test_limit{1000};
};

/// What is the same for all fabrics, where they have it.
struct FabricOptions {
  std::string interface;  // network interface, e.g. "lo"; empty: the fabric's choice
  std::optional<DoorSecret> secret = {};  // of the address; empty: a new one
  std::uint64_t common_secret = 0;        // the first half of a new one; 0: random, too
  /// How long a host may answer nothing, see DoorOptions.
  std::chrono::milliseconds silence_timeout = Silence::kTimeout;
  /// How long its end waits for peers whose hosts cannot be asked what they have.
  std::chrono::milliseconds linger{2000};
  AutoRdma rdma = {};
  /// Measured costs, see read_costs(): from what on memory is registered with an RDMA device.
  std::string costs_file = {};
};

/// Opens the fabric `name`, not "auto", which is several: "tcp", "shm", "ofi", "ofi:PROVIDER",
/// "ucx", "ucx:TRANSPORTS" (see ucx_options()), "loopback".  kNotFound: no such fabric, provider or
/// interface; the sentence lists what there is, or says why not; kInvalidArgument: one that needs
/// another, or a file of costs that cannot be used.
Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const FabricOptions& options);

/// Whether "auto" takes this host's RDMA device, and why: "mlx5_0 port 1 passed a self-test in 3.1
/// ms", or an error whose sentence says what is in the way.  Where there is no device neither
/// libfabric nor UCX is started.
Result<std::string> tested_rdma(const FabricOptions& options);

/// The names of a list like "ucx:posix;tcp"; "auto" is "shm", the RDMA device where it is taken,
/// and "tcp".
std::vector<std::string> fabric_list(const std::string& names, const FabricOptions& options);

/// Opens the fabrics of a list, e.g. "ucx:posix;tcp": at most EngineAddress::kMostFabrics of them,
/// with semicolons between, none twice, those first that are preferred.  All or none.
/// Their addresses have one secret, in which options.common_secret is heeded.  Of "auto" the shared
/// memory may be missing, which is said; and its RDMA device is taken if nothing is in the way and
/// it passes a self-test.  Where MAD_VERBOSE asks for it, a sentence is said of each fabric of
/// "auto".
Result<std::vector<std::unique_ptr<Driver>>> open_fabrics(const std::string& names,
                                                          FabricOptions options);

/// A fabric with nobody else on it, for an engine's messages to itself.
std::unique_ptr<Driver> open_self_fabric();

}  // namespace mad

#endif  // NETMOD_ABI_FABRIC_H_
