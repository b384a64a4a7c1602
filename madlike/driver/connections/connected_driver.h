// ConnectedDriver: what the drivers have in common that bring what peers write into memory
// themselves - a table of connections, the memory exposed to their peers, what is to be told.
#ifndef MADLIKE_DRIVER_CONNECTIONS_CONNECTED_DRIVER_H_
#define MADLIKE_DRIVER_CONNECTIONS_CONNECTED_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "madlike/driver/connections/completions.h"
#include "madlike/driver/connections/table.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/exposures.h"

namespace mad {

/// A record of such a driver.
struct ConnectedRecord : ConnectionRecord {
  using ConnectionRecord::ConnectionRecord;

  LinkCaps link;            // since it is connected
  std::size_t exposed = 0;  // exposures of memory that the peer may write
};

/// A Connection is a ConnectedRecord whose State has kConnected, kClosing and kGone.  A driver's
/// own destructor clears the table, before the memory that connections use is gone.
template <typename Connection>
class ConnectedDriver : public Driver {
 public:
  const DriverCaps& caps() const override { return caps_; }
  const std::vector<std::byte>& peer_address(ConnectionId id) const override {
    return connections_.at(id).address;
  }
  const LinkCaps& link(ConnectionId id) const override { return connections_.at(id).link; }
  Result<ExposureToken> expose(ConnectionId id, Segment memory) override {
    return expose(Exposure{id, memory.size, memory, nullptr, 0});
  }
  Result<ExposureToken> expose_scattered(ConnectionId id, ScatteredMemory& memory,
                                         std::uint64_t first, std::uint64_t size) override {
    return expose(Exposure{id, size, {}, &memory, first});
  }
  void withdraw(ConnectionId id, const ExposureToken& token) override {
    if (!exposures_.remove(token.key)) return;
    if (Connection* const connection = connections_.find(id)) --connection->exposed;
  }

 protected:
  using State = typename Connection::State;

  /// Ends a connection, for this reason, unless it is gone; not from inside of what it may call.
  virtual void end(Connection& connection, const Status& why) = 0;

  void end_soon(ConnectionId id, Status why) { connections_.end_soon(id, std::move(why)); }
  // Most polls find nothing to end.
  void end_all_due() {
    if (connections_.has_due()) end_due();
  }

  DriverCaps caps_;
  ConnectionTable<Connection> connections_;  // live: not kClosing, not kGone
  Exposures exposures_;
  CompletionQueue completions_;

 private:
  [[gnu::noinline]] void end_due() {
    connections_.end_due(
        [this](Connection& connection, const Status& why) { end(connection, why); });
  }
  Result<ExposureToken> expose(const Exposure& exposure) {
    Connection* const found = connections_.find(exposure.connection);
    if (!found || found->state == State::kGone || found->state == State::kClosing) {
      return not_connected(found);
    }
    ++found->exposed;
    return exposures_.add(exposure);
  }
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_CONNECTIONS_CONNECTED_DRIVER_H_
