#include "netmod/abi/routes.h"

#include <algorithm>
#include <string>

namespace mad {
namespace {

const FabricAddress* find_fabric(const EngineAddress& address, const std::string& name) {
  const auto named = [&](const FabricAddress& each) { return each.fabric == name; };
  const auto found = std::find_if(address.fabrics.begin(), address.fabrics.end(), named);
  return found == address.fabrics.end() ? nullptr : &*found;
}

/// The one of the two whose order counts.
const EngineAddress& elder(const EngineAddress& one, const EngineAddress& other) {
  return one.fabrics.front().key() < other.fabrics.front().key() ? one : other;
}

}  // namespace

std::vector<Route> routes_between(const EngineAddress& own, const std::vector<bool>& beyond_host,
                                  const EngineAddress& peer) {
  const bool two_hosts = !own.node.empty() && !peer.node.empty() && own.node != peer.node;
  std::vector<Route> routes;
  for (const FabricAddress& each : elder(own, peer).fabrics) {
    const FabricAddress* const ours = find_fabric(own, each.fabric);
    const FabricAddress* const theirs = find_fabric(peer, each.fabric);
    if (ours == nullptr || theirs == nullptr) continue;
    const auto driver = static_cast<std::size_t>(ours - own.fabrics.data());
    if (two_hosts && !beyond_host[driver]) continue;
    routes.push_back({driver, theirs->address});
  }
  return routes;
}

}  // namespace mad
