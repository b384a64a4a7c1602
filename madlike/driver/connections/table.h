// ConnectionTable: a driver's connections, by their ids and by the addresses of their peers, and
// which of them are to end, or to be forgotten.
//
// A Connection is made of its id and more, and has the `address` of its peer (bytes).  Its states
// are the driver's affair.
#ifndef MADLIKE_DRIVER_CONNECTIONS_TABLE_H_
#define MADLIKE_DRIVER_CONNECTIONS_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"

namespace mad {

template <typename Connection>
class ConnectionTable {
 public:
  /// Makes a connection with the next id, which is the live one of its address from now on.
  template <typename... Arguments>
  Connection& add(Arguments&&... arguments) {
    const ConnectionId id = next_++;
    Connection& added =
        records_.try_emplace(id, id, std::forward<Arguments>(arguments)...).first->second;
    live_[added.address] = id;
    return added;
  }

  /// Null: there is none, or it was left and forgotten.
  Connection* find(ConnectionId id) {
    const auto found = records_.find(id);
    return found == records_.end() ? nullptr : &found->second;
  }
  const Connection& at(ConnectionId id) const { return records_.at(id); }
  /// The one that a connect() to this address finds, or null.
  Connection* live(const std::vector<std::byte>& address) {
    const auto found = live_.find(address);
    return found == live_.end() ? nullptr : find(found->second);
  }
  /// It is not the live one of its address any more; false: it was not.
  bool retire(const Connection& connection) {
    const auto found = live_.find(connection.address);
    if (found == live_.end() || found->second != connection.id) return false;
    live_.erase(found);
    return true;
  }

  /// It is to end by the next end_due().
  void end_soon(ConnectionId id, Status why) { ending_.emplace_back(id, std::move(why)); }
  bool has_due() const { return !ending_.empty(); }
  /// Calls end(connection, why) for all of those, and for more that this finds.
  template <typename End>
  void end_due(const End& end) {
    while (has_due()) {
      const auto [id, why] = std::move(ending_.back());
      ending_.pop_back();
      if (Connection* const connection = find(id)) end(*connection, why);
    }
  }

  /// It is gone and its caller named it for the last time: it is to be forgotten.
  void leave(ConnectionId id) { leaving_.push_back(id); }
  bool has_left() const { return !leaving_.empty(); }
  /// Forgets those that nobody names any more: is_named(connection) is false.
  template <typename IsNamed>
  void forget_left(const IsNamed& is_named) {
    const auto forgotten = [&](ConnectionId id) {
      if (is_named(*find(id))) return false;
      records_.erase(id);
      return true;
    };
    leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), forgotten), leaving_.end());
  }

  // Pairs of an id and a connection.
  auto begin() { return records_.begin(); }
  auto end() { return records_.end(); }
  std::size_t size() const { return records_.size(); }

 private:
  std::unordered_map<ConnectionId, Connection> records_;
  ConnectionId next_ = 0;
  std::map<std::vector<std::byte>, ConnectionId> live_;
  std::vector<std::pair<ConnectionId, Status>> ending_;
  std::vector<ConnectionId> leaving_;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_CONNECTIONS_TABLE_H_
