// fabric: from the names a user gives to open drivers.  The only place that knows which drivers
// exist.
#ifndef NETMOD_ABI_FABRIC_H_
#define NETMOD_ABI_FABRIC_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/secret.h"
#include "madlike/driver/driver.h"

namespace mad {

inline constexpr const char* kDefaultFabric = "auto";

/// The fabrics of this library, for people: "auto, tcp, ofi:tcp, ...".
const char* fabric_names();

/// Those that a host may have: the names to try for somebody who asks what there is.
const std::vector<std::string>& fabrics_to_try();

/// Opens the fabric `name` ("auto", "tcp", "ofi", "ofi:PROVIDER", "ucx", "ucx:TRANSPORTS" (see
/// ucx_options()), "loopback") on the network interface `interface` (empty: the fabric's choice).
/// kNotFound: no such fabric, provider or interface; the sentence lists what there is, or says why
/// not; kInvalidArgument: one that needs another.  `secret`
/// is that of the address, where it has one.
Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const std::string& interface,
                                            const std::optional<DoorSecret>& secret = {});

/// The names of a list like "ucx:posix;tcp".
std::vector<std::string> fabric_list(const std::string& names);

/// Opens the fabrics of a list, e.g. "ucx:posix;tcp": at most EngineAddress::kMostFabrics of them,
/// with semicolons between, none twice, those first that are preferred.  All or none.
Result<std::vector<std::unique_ptr<Driver>>> open_fabrics(const std::string& names,
                                                          const std::string& interface);

/// libfabric's verbs provider where this machine has RDMA devices (entries of the directory) that
/// it can use on that interface, else tcp.
Result<std::unique_ptr<Driver>> open_auto_fabric(
    const std::string& interface, const std::optional<DoorSecret>& secret = {},
    const std::string& rdma_devices = "/sys/class/infiniband");

/// A fabric with nobody else on it, for an engine's messages to itself.
std::unique_ptr<Driver> open_self_fabric();

}  // namespace mad

#endif  // NETMOD_ABI_FABRIC_H_
