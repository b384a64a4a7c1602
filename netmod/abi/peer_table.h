// PeerTable: the peers of one engine, by address.
//
// A peer may have addresses on several fabrics.
//
// The same address gives the same peer, whether the caller named it first or it connected to us
// first, until that peer is gone.  It stays gone, for those who hold it: an engine that is found at
// its address afterwards is another one (ports are used again), and so is its peer.  Its record
// stays until the caller has released it.
#ifndef NETMOD_ABI_PEER_TABLE_H_
#define NETMOD_ABI_PEER_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "netmod/abi/address.h"
#include "netmod/abi/peer.h"

namespace mad {

class PeerTable {
 public:
  /// `own` is the engine's address, on the messenger's first drivers; of these, `beyond_host` says
  /// which may reach other hosts.  The driver behind them is the self fabric, `self_address` its.
  PeerTable(mad_engine* engine, EngineAddress own, std::vector<bool> beyond_host,
            std::vector<std::byte> self_address);

  const EngineAddress& own() const { return own_; }
  /// Index of the self fabric.
  std::size_t self() const { return own_.fabrics.size(); }

  /// The peer whose card the caller holds; kUnreachable: there is no fabric in common.
  Result<mad_peer*> find(Messenger& messenger, const EngineAddress& address);

  /// The peer behind an endpoint, also of one that connected to us.
  mad_peer& of(Endpoint& endpoint) {
    void* const known = user_data(endpoint);
    return known != nullptr ? *static_cast<mad_peer*>(known) : adopt(endpoint);
  }

  /// The peer is gone.
  void gone(mad_peer& peer, mad_status status);
  /// Nothing names the endpoint of a peer that is gone any more.
  void forget(Endpoint& endpoint);
  /// The caller names a peer that is gone no more.
  void release(mad_peer& peer);
  /// The caller was given a peer whose messages wait, and names it, also if it was released.
  static mad_peer& named(mad_peer& peer) {
    peer.released = false;
    return peer;
  }

  std::size_t size() const { return all_.size(); }

 private:
  mad_peer& adopt(Endpoint& endpoint);
  mad_peer& bind(Endpoint& endpoint, const EngineAddress& address);
  mad_peer* known(const EngineAddress& address) const;
  void name(mad_peer& peer, const EngineAddress& address);

  mad_engine* engine_;
  std::uint32_t met_ = 0;
  EngineAddress own_;
  std::vector<bool> beyond_host_;
  std::vector<std::byte> self_address_;
  std::unordered_map<const mad_peer*, std::unique_ptr<mad_peer>> all_;
  std::unordered_map<std::string, mad_peer*> live_;  // by each of their addresses
};

}  // namespace mad

#endif  // NETMOD_ABI_PEER_TABLE_H_
