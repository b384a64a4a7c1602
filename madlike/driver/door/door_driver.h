// DoorDriver: what the drivers have in common whose engines meet at a door - how their connections
// come, which of them are over in time, and how they are left and forgotten.
//
// The socket that the door hands out is the connection's from then on, whatever goes over it.
#ifndef MADLIKE_DRIVER_DOOR_DOOR_DRIVER_H_
#define MADLIKE_DRIVER_DOOR_DOOR_DRIVER_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/connected_driver.h"
#include "madlike/driver/door/door.h"
#include "madlike/driver/door/options.h"
#include "madlike/driver/door/silence.h"

namespace mad {

struct DoorConnection : ConnectedRecord {
  DoorConnection(ConnectionId its_id, DoorAddress its_address)
      : ConnectedRecord(its_id, its_address.bytes()), peer(std::move(its_address)) {}

  const DoorAddress peer;
  TcpSocket socket;
  Silence silence;
  PolledClock::time_point deadline;  // kClosing: the peer takes nothing
};

/// A Connection is a DoorConnection.  To State::kClosing it comes by begin_closing() alone, to
/// State::kGone by now_gone().
template <typename Connection>
class DoorDriver : public ConnectedDriver<Connection> {
 public:
  const std::vector<std::byte>& address() const override { return door_.address(); }
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override {
    const Result<DoorAddress> peer = door_.parse(address, size);
    if (!peer.ok()) return peer.status();
    Connection* connection = connections_.live(peer->bytes());
    if (connection == nullptr) {
      connection = &add_connection(*peer);
      door_.call(*peer);
      look_soon_ = true;
    }
    connection->told = true;
    return connection->id;
  }
  void watched_by(std::vector<int>* epoll_sets) const override {
    epoll_sets->push_back(door_.watch().fd());
  }

 protected:
  using Base = ConnectedDriver<Connection>;
  using State = typename Connection::State;

  DoorDriver(Door door, const DoorDriverOptions& options)
      : door_(std::move(door)), door_options_(options) {}

  virtual Connection& add_connection(const DoorAddress& peer) = 0;
  /// The connection has its socket.
  virtual void on_socket(Connection& connection) = 0;
  /// There is something in the connection's socket, or it has ended.
  virtual void on_readable(Connection& connection) = 0;
  virtual void set_state(Connection& connection, State state) = 0;

  // Most polls find nothing: what is [[gnu::noinline]] stays out of them.

  /// Moves the door on, and calls on_socket() and on_readable() for what it tells.
  [[gnu::noinline]] void look_at_door() {
    arrivals_.clear();
    ready_.clear();
    door_.look(&arrivals_, &ready_);
    for (Door::Event& arrival : arrivals_) on_door(arrival);
    this->end_all_due();
    for (const ConnectionId id : ready_) {
      if (Connection* const connection = find(id)) on_readable(*connection);
    }
  }
  /// Ends those that have been closing for too long, and those with silent hosts.
  [[gnu::noinline]] void check_deadlines() {
    const PolledClock::time_point now = door_.now();
    const bool listens = now >= listen_at_;
    if (listens) listen_at_ = now + Silence::look_every(door_options_.silence_timeout);
    if (!listens && closing_ == 0) return;
    for (auto& [id, connection] : connections_) {
      const bool closing = connection.state == State::kClosing;
      if (closing && now >= connection.deadline) this->end_soon(id, connection.gone);
      if (listens && connection.socket && is_silent(connection, now)) {
        this->end_soon(id, host_silent(connection.peer, door_options_.silence_timeout));
      }
    }
  }

  /// For disconnect(): the connection is kClosing now.  Whether it was connected, and may end in
  /// good order: no memory is exposed to the peer, which is the caller's again at once.
  bool begin_closing(Connection& connection) {
    retire(connection);
    const bool in_order = connection.state == State::kConnected && connection.exposed == 0;
    set_state(connection, State::kClosing);
    ++closing_;
    hold_off(connection);
    return in_order;
  }
  /// Its peer has taken something: the time that it has begins anew.
  void hold_off(Connection& connection) {
    connection.deadline = door_.now() + door_options_.close_timeout;
  }
  /// For end(): the connection is kGone now.
  void now_gone(Connection& connection, const Status& why) {
    connection.socket.close();
    retire(connection);
    connections_.ended(connection, why, &this->completions_);
    if (connection.state == State::kClosing) --closing_;
    set_state(connection, State::kGone);
  }
  void forget_left() {
    if (connections_.has_left()) forget_them();
  }

  Connection* find(ConnectionId id) { return connections_.find(id); }

  using Base::connections_;
  Door door_;
  std::size_t closing_ = 0;  // connections
  bool look_soon_ = false;
  CoarseTimer look_timer_;
  CoarseTimer deadline_timer_;

 private:
  void on_door(Door::Event& event) {
    Connection* const known = connections_.live(event.peer.bytes());
    Connection& connection = known ? *known : add_connection(event.peer);
    if (!event.socket) return this->end_soon(connection.id, std::move(event.why));
    connection.socket = std::move(event.socket);
    door_.watch().change(connection.socket.fd(), TcpWatch::Role::kConnection, connection.id);
    ready_.push_back(connection.id);  // its peer may have gone on
    on_socket(connection);
  }
  void retire(Connection& connection) {
    if (connections_.retire(connection)) door_.forget(connection.address);
  }
  [[gnu::noinline]] void forget_them() {
    connections_.forget_left([](const Connection& each) { return each.exposed > 0; });
  }
  // A connection over whose socket nothing goes is the keepalive's.
  bool is_silent(Connection& connection, PolledClock::time_point now) {
    return connection.silence.lasts(connection.socket.fd(), now, door_options_.silence_timeout);
  }

  const DoorDriverOptions door_options_;
  std::vector<Door::Event> arrivals_;  // what look_at_door() found
  std::vector<ConnectionId> ready_;    // and whose sockets have something
  PolledClock::time_point listen_at_;  // for silent hosts
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_DOOR_DRIVER_H_
