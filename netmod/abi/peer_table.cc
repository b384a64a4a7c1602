#include "netmod/abi/peer_table.h"

#include <algorithm>
#include <utility>

#include "netmod/abi/routes.h"

namespace mad {

PeerTable::PeerTable(mad_engine* engine, EngineAddress own, std::vector<bool> beyond_host,
                     std::vector<std::byte> self_address)
    : engine_(engine),
      own_(std::move(own)),
      beyond_host_(std::move(beyond_host)),
      self_address_(std::move(self_address)) {}

mad_peer* PeerTable::known(const EngineAddress& address) const {
  for (const FabricAddress& each : address.fabrics) {
    const auto found = live_.find(each.key());
    if (found != live_.end()) return found->second;
  }
  return nullptr;
}

// Of a peer that connected to us only one address is known until its card is seen.
Result<mad_peer*> PeerTable::find(Messenger& messenger, const EngineAddress& address) {
  if (mad_peer* const peer = known(address)) {
    if (peer->address.node.empty()) name(*peer, address);
    return peer;
  }
  const bool self = own_.has_one_of(address);
  std::vector<Route> routes;
  if (self) {
    routes.push_back({this->self(), self_address_});
  } else {
    routes = routes_between(own_, beyond_host_, address);
  }
  if (routes.empty()) {
    return Status(StatusCode::kUnreachable, "no fabric reaches it: its address is on '" +
                                                address.fabric_names() + "', this engine on '" +
                                                own_.fabric_names() + "'");
  }
  auto endpoint = messenger.connect(std::move(routes));
  if (!endpoint.ok()) return endpoint.status();
  return &bind(*endpoint.value(), address);
}

mad_peer& PeerTable::adopt(Endpoint& endpoint) {
  const Route& its = route(endpoint);
  if (its.driver == self()) return bind(endpoint, own_);
  EngineAddress address;
  address.fabrics.push_back({own_.fabrics[its.driver].fabric, its.address});
  return bind(endpoint, address);
}

// The messenger gives a new endpoint to a new incarnation only.
mad_peer& PeerTable::bind(Endpoint& endpoint, const EngineAddress& address) {
  auto made = std::make_unique<mad_peer>();
  mad_peer& peer = *made;
  peer.engine = engine_;
  peer.endpoint = &endpoint;
  peer.number = met_++;
  peer.self = route(endpoint).driver == self();
  name(peer, address);
  all_.emplace(&peer, std::move(made));
  set_user_data(endpoint, &peer);
  return peer;
}

void PeerTable::name(mad_peer& peer, const EngineAddress& address) {
  peer.address = address;
  for (const FabricAddress& each : address.fabrics) live_[each.key()] = &peer;
}

void PeerTable::gone(mad_peer& peer, mad_status status) {
  peer.status = status;
  for (const FabricAddress& each : peer.address.fabrics) {
    const auto found = live_.find(each.key());
    if (found != live_.end() && found->second == &peer) live_.erase(found);
  }
}

void PeerTable::forget(Endpoint& endpoint) {
  auto* const peer = static_cast<mad_peer*>(user_data(endpoint));
  if (peer == nullptr) return;
  set_user_data(endpoint, nullptr);
  peer->endpoint = nullptr;
  if (peer->released) all_.erase(peer);
}

void PeerTable::release(mad_peer& peer) {
  peer.released = true;
  if (peer.endpoint == nullptr) all_.erase(&peer);
}

}  // namespace mad
