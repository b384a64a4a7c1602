#include "netmod/abi/peer_table.h"

#include <utility>

namespace mad {

PeerTable::PeerTable(mad_engine* engine, EngineAddress own, std::vector<std::byte> self_address)
    : engine_(engine),
      own_(std::move(own)),
      own_key_(own_.process_key()),
      self_address_(std::move(self_address)) {}

Result<mad_peer*> PeerTable::find(Messenger& messenger, const EngineAddress& address) {
  const std::string key = address.process_key();
  const auto known = live_.find(key);
  if (known != live_.end()) {
    mad_peer* const peer = known->second;
    if (peer->address.node.empty()) peer->address.node = address.node;
    return peer;
  }
  if (address.fabric != own_.fabric) {
    return Status(StatusCode::kUnreachable, "the address is one of fabric '" + address.fabric +
                                                "', this engine is on '" + own_.fabric + "'");
  }
  const bool self = key == own_key_;
  const std::vector<std::byte>& target = self ? self_address_ : address.driver_address;
  auto endpoint = messenger.connect(self ? kSelf : kFabric, target.data(), target.size());
  if (!endpoint.ok()) return endpoint.status();
  return &bind(*endpoint.value(), address);
}

mad_peer& PeerTable::adopt(Endpoint& endpoint) {
  if (driver_index(endpoint) == kSelf) return bind(endpoint, own_);
  EngineAddress address;
  address.fabric = own_.fabric;
  address.driver_address = peer_address(endpoint);
  return bind(endpoint, address);
}

// The messenger gives a new endpoint to a new incarnation only.
mad_peer& PeerTable::bind(Endpoint& endpoint, const EngineAddress& address) {
  auto made = std::make_unique<mad_peer>();
  mad_peer& peer = *made;
  peer.engine = engine_;
  peer.endpoint = &endpoint;
  peer.number = met_++;
  peer.address = address;
  live_[address.process_key()] = &peer;
  all_.emplace(&peer, std::move(made));
  set_user_data(endpoint, &peer);
  return peer;
}

void PeerTable::gone(mad_peer& peer, mad_status status) {
  peer.status = status;
  const auto found = live_.find(peer.address.process_key());
  if (found != live_.end() && found->second == &peer) live_.erase(found);
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
