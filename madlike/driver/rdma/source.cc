#include "madlike/driver/rdma/source.h"

#include <algorithm>

#include "madlike/driver/rdma/devices.h"

namespace mad {
namespace {

/// How good the address is for its interface; at least 1.
int fitness(const RdmaAddress& address) {
  return 1 + (address.type == "RoCE v2" ? 2 : 0) + (address.is_ipv4() ? 1 : 0);
}

}  // namespace

std::optional<RdmaSource> rdma_source(const std::string& interface, const std::string& root) {
  std::optional<RdmaSource> found;
  int best = 0;
  for (const RdmaDevice& device : rdma_devices(root)) {
    for (const RdmaPort& port : device.ports) {
      for (const RdmaAddress& address : port.addresses) {
        if (address.interface != interface || fitness(address) <= best) continue;
        best = fitness(address);
        found = RdmaSource{device.name + ":" + port.number, address.index};
      }
    }
    const auto& its = device.interfaces;
    if (!found && std::find(its.begin(), its.end(), interface) != its.end()) {
      found = RdmaSource{device.name + ":1", -1};  // InfiniBand, and IP over it
    }
  }
  return found;
}

}  // namespace mad
