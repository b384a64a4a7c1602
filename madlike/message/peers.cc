#include "madlike/message/peers.h"

#include <algorithm>
#include <utility>

namespace mad {
namespace {

std::size_t index_of(const std::vector<Route>& routes, std::size_t driver) {
  const auto same = [driver](const Route& route) { return route.driver == driver; };
  return static_cast<std::size_t>(std::find_if(routes.begin(), routes.end(), same) -
                                  routes.begin());
}

/// Whether another driver is tried, and the peer has not been heard by that.
bool tries_elsewhere(const Endpoint& endpoint, std::size_t driver) {
  return endpoint.state.has_connection() && endpoint.route().driver != driver &&
         endpoint.state.may_reconnect();
}

}  // namespace

Status after_detours(const Endpoint& endpoint, const Status& why) {
  if (endpoint.routes.size() == 1) return why;
  return {why.code(),
          endpoint.tried + endpoint.driver->caps().name + ": " + std::string(why.message())};
}

Peers::Fabric::Fabric(std::size_t index, std::unique_ptr<Driver> its_driver)
    : driver(std::move(its_driver)),
      freed(std::make_unique<Endpoint>(std::vector<Route>{{index, {}}}, driver.get())),
      by_connection(freed.get()) {
  freed->state.set_gone();
}

Peers::Peers(Core& core, std::vector<std::unique_ptr<Driver>> drivers) : core_(core) {
  fabrics_.reserve(drivers.size());
  for (auto& driver : drivers) fabrics_.emplace_back(fabrics_.size(), std::move(driver));
}

Endpoint& Peers::add(std::vector<Route> routes) {
  Driver* const first = fabrics_[routes.front().driver].driver.get();
  Endpoint& endpoint = endpoints_.emplace_back(std::move(routes), first);
  for (const Route& route : endpoint.routes) {
    fabrics_[route.driver].by_address[route.address] = &endpoint;
  }
  return endpoint;
}

Result<Endpoint*> Peers::find(std::vector<Route> routes) {
  if (routes.empty()) return Status(StatusCode::kInvalidArgument, "there is no route to it");
  for (const Route& route : routes) {
    if (route.driver >= fabrics_.size()) {
      return Status(StatusCode::kInvalidArgument, "there is no such driver");
    }
    if (route.address.empty() || route.address.size() > kMaxAddressBytes) {
      return Status(StatusCode::kInvalidArgument, "no driver has an address of this length");
    }
  }
  for (const Route& route : routes) {
    const auto& by_address = fabrics_[route.driver].by_address;
    const auto known = by_address.find(route.address);
    if (known != by_address.end()) return known->second;
  }
  return &add(std::move(routes));
}

void Peers::bind(Endpoint& endpoint, ConnectionId connection) {
  fabrics_[endpoint.route().driver].by_connection.bind(connection, endpoint);
  endpoint.state.set_connection(connection);
  endpoint.attempts.waits = false;
  core_.activate(endpoint);
}

Status Peers::contact(Endpoint& peer) {
  const bool refused = peer.state.refused() && !peer.state.may_reconnect();
  if (!peer.state.live() || refused) return peer.state.why();
  while (!peer.state.has_connection() && !peer.attempts.waits) {
    const auto& address = peer.route().address;
    auto connection = peer.driver->connect(address.data(), address.size());
    if (connection.ok()) {
      bind(peer, *connection);
    } else if (peer.may_detour()) {
      take_next_route(peer, connection.status());
    } else {
      core_.end(peer, after_detours(peer, connection.status()));
      return peer.state.why();
    }
  }
  return {};
}

void Peers::leave_connection(Endpoint& endpoint) {
  Fabric& fabric = fabrics_[endpoint.route().driver];
  fabric.by_connection.free(endpoint.state.connection());
  fabric.driver->disconnect(endpoint.state.connection());
  endpoint.state.leave_connection();
  auto& refused = core_.refused;
  refused.erase(std::remove(refused.begin(), refused.end(), &endpoint), refused.end());
}

void Peers::take_route(Endpoint& endpoint, std::size_t index) {
  if (index == endpoint.taken) return;
  if (endpoint.state.has_connection()) leave_connection(endpoint);
  endpoint.taken = index;
  endpoint.driver = fabrics_[endpoint.route().driver].driver.get();
}

void Peers::take_next_route(Endpoint& endpoint, const Status& why) {
  endpoint.tried = after_detours(endpoint, why).message();
  endpoint.tried += "; ";
  take_route(endpoint, endpoint.taken + 1);
}

bool Peers::detour(Endpoint& endpoint, const Status& why) {
  if (!endpoint.may_detour()) return false;
  take_next_route(endpoint, why);
  (void)contact(endpoint);
  return true;
}

Endpoint& Peers::refuse(std::size_t fabric, ConnectionId connection) {
  Fabric& its = fabrics_[fabric];
  its.by_connection.free(connection);
  its.driver->disconnect(connection);
  return *its.freed;
}

// An engine restarted at the address of one whose end we have not seen yet is another endpoint.  A
// peer that comes by one route while we try another: of the two routes the later one counts, as
// somebody gave the earlier one up.  Both sides must find the same, or each would leave the
// connection that the other one takes.
Endpoint& Peers::welcome_new(std::size_t fabric, ConnectionId connection) {
  const std::vector<std::byte>& address = driver(fabric).peer_address(connection);
  const auto& by_address = fabrics_[fabric].by_address;
  const auto known = by_address.find(address);
  Endpoint* endpoint = known == by_address.end() ? nullptr : known->second;
  const bool elsewhere = endpoint != nullptr && tries_elsewhere(*endpoint, fabric);
  if (elsewhere && index_of(endpoint->routes, fabric) < endpoint->taken) {
    return refuse(fabric, connection);
  }
  const bool waits = elsewhere || (endpoint != nullptr && !endpoint->state.has_connection());
  if (!waits) endpoint = &add({{fabric, address}});
  take_route(*endpoint, index_of(endpoint->routes, fabric));
  bind(*endpoint, connection);
  return *endpoint;
}

void Peers::forget(Endpoint& endpoint) {
  for (const Route& route : endpoint.routes) {
    auto& by_address = fabrics_[route.driver].by_address;
    const auto known = by_address.find(route.address);
    if (known != by_address.end() && known->second == &endpoint) by_address.erase(known);
  }
}

void Peers::free_released() {
  const auto freed = [this](Endpoint* endpoint) {
    auto& refused = core_.refused;
    const bool listed = std::find(refused.begin(), refused.end(), endpoint) != refused.end();
    if (listed || !endpoint->unused()) return false;
    Fabric& fabric = fabrics_[endpoint->route().driver];
    if (endpoint->state.has_connection()) fabric.by_connection.free(endpoint->state.connection());
    endpoints_.remove_if([endpoint](const Endpoint& each) { return &each == endpoint; });
    return true;
  };
  released_.erase(std::remove_if(released_.begin(), released_.end(), freed), released_.end());
}

}  // namespace mad
