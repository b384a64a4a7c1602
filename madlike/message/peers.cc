#include "madlike/message/peers.h"

#include <algorithm>
#include <utility>

namespace mad {

Peers::Peers(Core& core, std::vector<std::unique_ptr<Driver>> drivers) : core_(core) {
  fabrics_.resize(drivers.size());
  for (std::size_t i = 0; i < drivers.size(); ++i) {
    fabrics_[i].driver = std::move(drivers[i]);
    fabrics_[i].freed =
        std::make_unique<Endpoint>(i, fabrics_[i].driver.get(), std::vector<std::byte>());
    fabrics_[i].freed->life = Endpoint::Life::kGone;
  }
}

Endpoint& Peers::add(std::size_t fabric, const std::vector<std::byte>& address) {
  endpoints_.emplace_back(fabric, fabrics_[fabric].driver.get(), address);
  Endpoint& endpoint = endpoints_.back();
  fabrics_[fabric].by_address[address] = &endpoint;
  return endpoint;
}

Result<Endpoint*> Peers::find(std::size_t fabric, const std::byte* address, std::size_t size) {
  if (fabric >= fabrics_.size()) {
    return Status(StatusCode::kInvalidArgument, "there is no such driver");
  }
  if (size == 0 || size > kMaxAddressBytes) {
    return Status(StatusCode::kInvalidArgument, "no driver has an address of this length");
  }
  const std::vector<std::byte> key(address, address + size);
  const auto known = fabrics_[fabric].by_address.find(key);
  return known != fabrics_[fabric].by_address.end() ? known->second : &add(fabric, key);
}

void Peers::bind(Endpoint& endpoint, ConnectionId connection) {
  auto& by_connection = fabrics_[endpoint.driver_index].by_connection;
  if (connection >= by_connection.size()) by_connection.resize(connection + 1);
  by_connection[connection] = &endpoint;
  endpoint.has_connection = true;
  endpoint.connection = connection;
  core_.activate(endpoint);
}

Status Peers::contact(Endpoint& peer) {
  if (!peer.live() || peer.post_failed) return peer.end;
  if (peer.has_connection) return {};
  auto connection = peer.driver->connect(peer.address.data(), peer.address.size());
  if (!connection.ok()) {
    core_.end(peer, connection.status());
    return connection.status();
  }
  bind(peer, *connection);
  return {};
}

Endpoint* Peers::of_connection(std::size_t fabric, ConnectionId connection) {
  auto& by_connection = fabrics_[fabric].by_connection;
  return connection < by_connection.size() ? by_connection[connection] : nullptr;
}

// An engine restarted at the address of one whose end we have not seen yet is another endpoint.
Endpoint& Peers::welcome(std::size_t fabric, ConnectionId connection) {
  Endpoint* const bound = of_connection(fabric, connection);
  if (bound != nullptr) return *bound;
  const std::vector<std::byte>& address = driver(fabric).peer_address(connection);
  auto& by_address = fabrics_[fabric].by_address;
  const auto known = by_address.find(address);
  const bool waits = known != by_address.end() && !known->second->has_connection;
  Endpoint& endpoint = waits ? *known->second : add(fabric, address);
  bind(endpoint, connection);
  return endpoint;
}

void Peers::forget(Endpoint& endpoint) {
  auto& by_address = fabrics_[endpoint.driver_index].by_address;
  const auto known = by_address.find(endpoint.address);
  if (known != by_address.end() && known->second == &endpoint) by_address.erase(known);
}

void Peers::free_released() {
  const auto freed = [this](Endpoint* endpoint) {
    auto& refused = core_.refused;
    const bool listed = std::find(refused.begin(), refused.end(), endpoint) != refused.end();
    if (listed || !endpoint->unused()) return false;
    Fabric& fabric = fabrics_[endpoint->driver_index];
    if (endpoint->has_connection) fabric.by_connection[endpoint->connection] = fabric.freed.get();
    endpoints_.remove_if([endpoint](const Endpoint& each) { return &each == endpoint; });
    return true;
  };
  released_.erase(std::remove_if(released_.begin(), released_.end(), freed), released_.end());
}

}  // namespace mad
