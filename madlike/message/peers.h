// Peers: the drivers of one messenger and the endpoints reached by them, by address and by
// connection.
//
// An endpoint may have several routes, each by another driver.  They are tried in their order until
// one leads to the peer, or the peer comes by the same or a later one.
//
// An endpoint that ended stays, for those who hold it, but is not found by its address any more:
// who connects to that address again gets a new one.  It goes when its user has released it.
#ifndef MADLIKE_MESSAGE_PEERS_H_
#define MADLIKE_MESSAGE_PEERS_H_

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "madlike/message/connection_map.h"
#include "madlike/message/core.h"

namespace mad {

/// Why an endpoint cannot be reached: `why` is about its last route.
Status after_detours(const Endpoint& endpoint, const Status& why);

class Peers {
 public:
  Peers(Core& core, std::vector<std::unique_ptr<Driver>> drivers);

  std::size_t fabrics() const { return fabrics_.size(); }
  Driver& driver(std::size_t fabric) { return *fabrics_[fabric].driver; }

  /// The endpoint at these addresses, which are only compared, and checked when it is first
  /// contacted.
  Result<Endpoint*> find(std::vector<Route> routes);
  /// Makes sure that the endpoint has a connection, perhaps still being set up, or waits to be
  /// tried again.
  Status contact(Endpoint& peer);

  /// The endpoint has no connection any more, which was worth nothing: only our HELLO left by it.
  void leave_connection(Endpoint& endpoint);

  /// The endpoint's connection ended.  True: before the peer said anything, and the next route is
  /// tried.
  bool detour(Endpoint& endpoint, const Status& why);

  /// The endpoint of a connection, or null.
  Endpoint* of_connection(std::size_t fabric, ConnectionId connection) const {
    return fabrics_[fabric].by_connection.find(connection);
  }
  /// The same, but a peer that connected to us gets its endpoint now; one that is gone, if it has
  /// to come by another route.
  Endpoint& welcome(std::size_t fabric, ConnectionId connection) {
    Endpoint* const bound = of_connection(fabric, connection);
    return bound != nullptr ? *bound : welcome_new(fabric, connection);
  }
  /// The endpoint ended.
  void forget(Endpoint& endpoint);

  /// The user of an endpoint that ended names it no more: it goes with a later sweep().
  void release(Endpoint& endpoint) { released_.push_back(&endpoint); }
  /// Frees what was released and is not in use.
  void sweep() {
    if (!released_.empty()) free_released();
  }

  std::list<Endpoint>& all() { return endpoints_; }
  const std::list<Endpoint>& all() const { return endpoints_; }

 private:
  struct Fabric {
    Fabric(std::size_t index, std::unique_ptr<Driver> its_driver);
    std::unique_ptr<Driver> driver;
    std::map<std::vector<std::byte>, Endpoint*> by_address;  // those that have not ended
    std::unique_ptr<Endpoint> freed;                         // of connections that were freed: gone
    ConnectionMap by_connection;
  };
  Endpoint& welcome_new(std::size_t fabric, ConnectionId connection);
  Endpoint& add(std::vector<Route> routes);
  void bind(Endpoint& endpoint, ConnectionId connection);
  Endpoint& refuse(std::size_t fabric, ConnectionId connection);
  void take_route(Endpoint& endpoint, std::size_t index);
  void take_next_route(Endpoint& endpoint, const Status& why);
  void free_released();

  Core& core_;
  std::list<Endpoint> endpoints_;
  std::vector<Endpoint*> released_;
  std::vector<Fabric> fabrics_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PEERS_H_
