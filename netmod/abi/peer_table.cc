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
  const auto known = peers_.find(key);
  if (known != peers_.end()) {
    mad_peer* const peer = known->second.get();
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

// An engine that connects again after its connection ended has a new endpoint, but stays the same
// peer.
mad_peer& PeerTable::bind(Endpoint& endpoint, const EngineAddress& address) {
  std::unique_ptr<mad_peer>& peer = peers_[address.process_key()];
  if (peer == nullptr) {
    peer = std::make_unique<mad_peer>();
    peer->engine = engine_;
    peer->address = address;
  }
  peer->endpoint = &endpoint;
  peer->status = MAD_SUCCESS;
  set_user_data(endpoint, peer.get());
  return *peer;
}

}  // namespace mad
