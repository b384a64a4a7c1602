#include "netmod/abi/fabric.h"

#include <filesystem>
#include <system_error>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/driver/ofi/ofi.h"
#include "madlike/driver/tcp/tcp.h"
#include "madlike/driver/ucx/names.h"
#include "netmod/abi/ucx_plugin.h"

namespace mad {
namespace {

constexpr const char* kAuto = "auto";
constexpr const char* kLoopback = "loopback";
constexpr const char* kTcp = "tcp";
constexpr const char* kOfi = "ofi";
constexpr const char* kOfiPrefix = "ofi:";

// What a network is for engines of several hosts, this is for the engines of one process: a place
// they all share.  It is made at first use and never changes.
std::shared_ptr<LoopbackNetwork> process_network() {
  static const auto network = std::make_shared<LoopbackNetwork>();
  return network;
}

Result<std::unique_ptr<Driver>> open_provider(const std::string& provider,
                                              const std::string& interface) {
  OfiOptions options;
  options.provider = provider;
  options.interface = interface;
  return open_ofi(options);
}

}  // namespace

const char* fabric_names() {
  return "auto, tcp, ofi:tcp, ofi:sockets, ofi:PROVIDER, ucx, ucx:tcp, ucx:posix, ucx:posix,cma, "
         "loopback";
}

const std::vector<std::string>& fabrics_to_try() {
  static const std::vector<std::string> names = {kTcp,  "ofi:tcp",   "ofi:sockets",   "ofi:verbs",
                                                 "ucx", "ucx:posix", "ucx:posix,cma", "ucx:tcp"};
  return names;
}

// The directory first: asking libfabric for verbs takes a third of a second.
Result<std::unique_ptr<Driver>> open_auto_fabric(const std::string& interface,
                                                 const std::string& rdma_devices) {
  std::error_code error;
  const std::filesystem::directory_iterator devices(rdma_devices, error), none;
  if (!error && devices != none) {
    auto verbs = open_provider("verbs", interface);
    if (verbs.ok()) return verbs;
  }
  return open_fabric(kTcp, interface);
}

Result<std::unique_ptr<Driver>> open_fabric(const std::string& name, const std::string& interface) {
  if (name == kAuto) return open_auto_fabric(interface);
  if (name == kLoopback) {
    return std::unique_ptr<Driver>(std::make_unique<LoopbackDriver>(process_network()));
  }
  if (name == kTcp) {
    TcpOptions options;
    options.interface = interface;
    return open_tcp(options);
  }
  if (is_ucx(name)) {
    const Result<UcxOptions> options = ucx_options(name, interface);
    return options.ok() ? open_ucx_plugin(*options) : options.status();
  }
  if (name == kOfi) return open_provider(OfiOptions().provider, interface);
  const std::string prefix = kOfiPrefix;
  if (name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0) {
    return open_provider(name.substr(prefix.size()), interface);
  }
  return Status(StatusCode::kNotFound,
                "no fabric '" + name + "'; the fabrics are " + fabric_names());
}

std::unique_ptr<Driver> open_self_fabric() {
  LoopbackOptions options;
  options.max_packet_bytes = OfiOptions().max_packet_bytes;  // a head of the eager limit fits
  return std::make_unique<LoopbackDriver>(std::make_shared<LoopbackNetwork>(options));
}

}  // namespace mad
