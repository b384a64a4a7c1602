#include "perf/info/rdma.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

namespace info {
namespace {

constexpr const char* kDrivers = "/etc/libibverbs.d";
constexpr std::size_t kMostAddresses = 4;  // of a port are shown

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

std::string port_text(const mad::RdmaDevice& device, const mad::RdmaPort& port) {
  std::string text = fmt::format("  port {}: {}, {}, {}", port.number, or_unknown(port.state),
                                 or_unknown(port.link_layer), or_unknown(port.rate));
  for (const std::string& interface : device.interfaces_of(port)) text += ", " + interface;
  text += "\n";
  const std::size_t shown = std::min(port.addresses.size(), kMostAddresses);
  for (std::size_t i = 0; i < shown; ++i) {
    const mad::RdmaAddress& address = port.addresses[i];
    text += fmt::format("    address {}: {}, {}{}\n", address.index, or_unknown(address.gid),
                        or_unknown(address.type),
                        address.interface.empty() ? "" : ", " + address.interface);
  }
  if (shown < port.addresses.size()) {
    text += fmt::format("    and {} addresses more\n", port.addresses.size() - shown);
  }
  return text;
}

/// Of the files "mlx5.driver", "rxe.driver".
std::string drivers_text(const std::string& root) {
  std::string names;
  for (const std::string& file : mad::names_in(root + kDrivers)) {
    const std::size_t dot = file.rfind(".driver");
    if (dot != std::string::npos) names += (names.empty() ? "" : ", ") + file.substr(0, dot);
  }
  if (names.empty()) {
    return fmt::format(
        "  the verbs library has no driver in {}: install one (Debian's package ibverbs-providers, "
        "or the vendor's)\n",
        kDrivers);
  }
  return fmt::format("  the verbs library has drivers for: {}\n", names);
}

}  // namespace

std::string rdma_text(const mad::RdmaUser& user, const std::string& root) {
  const std::vector<mad::RdmaDevice> devices = mad::rdma_devices(root);
  if (devices.empty()) return "RDMA devices: none (nothing in /sys/class/infiniband)\n";
  std::string text;
  for (const mad::RdmaDevice& device : devices) {
    text +=
        fmt::format("RDMA device {}: firmware {}, {}\n", device.name, or_unknown(device.firmware),
                    device.node.empty() ? "no node" : "/dev/infiniband/" + device.node);
    for (const mad::RdmaPort& port : device.ports) text += port_text(device, port);
    for (const std::string& obstacle : mad::rdma_obstacles(device, user, "", root)) {
      text += "  in the way: " + obstacle + "\n";
    }
  }
  return text + drivers_text(root) +
         fmt::format("  this process may lock {} of memory\n", mad::locked_text(user.locked_bytes));
}

}  // namespace info
