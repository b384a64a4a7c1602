// ConnectionTable: a driver's connections, by their ids and by the addresses of their peers, and
// which of them are to end, or to be forgotten.
//
// A Connection is a ConnectionRecord made of its id and more.  Its `state` is the driver's affair,
// but for two that every one comes to: kClosing, once the caller left it, and kGone.
#ifndef MADLIKE_DRIVER_CONNECTIONS_TABLE_H_
#define MADLIKE_DRIVER_CONNECTIONS_TABLE_H_

#include <algorithm>
#include <cstddef>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/connections/completions.h"
#include "madlike/driver/driver.h"

namespace mad {

/// What every driver knows of a connection.
struct ConnectionRecord {
  ConnectionRecord(ConnectionId its_id, std::vector<std::byte> its_address)
      : id(its_id), address(std::move(its_address)) {}

  const ConnectionId id;
  const std::vector<std::byte> address;  // of its peer
  bool doomed = false;                   // its end is due
  bool told = false;                     // the caller knows of this connection
  bool left = false;                     // and has called disconnect(), or never heard of it
  Status gone;                           // kClosing, kGone: why
};

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
  const Connection* find(ConnectionId id) const {
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

  /// It is to end by the next end_due().  Of several reasons the first counts.
  void end_soon(ConnectionId id, Status why) {
    Connection* const connection = find(id);
    if (!connection || std::exchange(connection->doomed, true)) return;
    ending_.emplace_back(id, std::move(why));
  }
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

  /// The driver has ended it, for this reason.  The caller is told; or, if it never heard of the
  /// connection or has left it, this is the end of the record, too.
  void ended(Connection& connection, const Status& why, CompletionQueue* completions) {
    if (!connection.left) {
      connection.gone = why;
      if (connection.told) {
        completions->push(Completion::Kind::kDisconnected, connection.id, nullptr, why);
      }
    }
    connection.left = connection.left || !connection.told;
    if (connection.left) leaving_.push_back(connection.id);
  }
  /// The caller names it for the last time.  The one that is to be closed now, or null: it is gone,
  /// or was left before.
  Connection* leave(ConnectionId id) {
    Connection* const connection = find(id);
    if (!connection || std::exchange(connection->left, true)) return nullptr;
    if (connection->state != Connection::State::kGone) {
      connection->gone = Status(StatusCode::kClosed, "this connection was disconnected");
      return connection;
    }
    leaving_.push_back(id);
    return nullptr;
  }
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

  /// Forgets all, whoever names them.
  void clear() {
    live_.clear();
    ending_.clear();
    leaving_.clear();
    records_.clear();
  }

  bool any_closing() const {
    return any_closing([](const Connection&) { return true; });
  }
  /// Any of those for which which() is true.
  template <typename Which>
  bool any_closing(const Which& which) const {
    return std::any_of(records_.begin(), records_.end(), [&](const auto& entry) {
      return entry.second.state == Connection::State::kClosing && which(entry.second);
    });
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

/// Why nothing can be posted to a connection that is not connected.  kAgain: later it can be.
template <typename Connection>
Status not_connected(const Connection* connection) {
  using State = typename Connection::State;
  if (!connection) return StatusCode::kClosed;
  const bool over = connection->state == State::kClosing || connection->state == State::kGone;
  return over ? connection->gone : Status(StatusCode::kAgain);
}

}  // namespace mad

#endif  // MADLIKE_DRIVER_CONNECTIONS_TABLE_H_
