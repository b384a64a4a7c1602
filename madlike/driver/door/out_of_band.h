// OutOfBandDriver: a DoorDriver whose packets go another way than over the socket of the door, over
// which two engines agree on that way and notice each other's end.
#ifndef MADLIKE_DRIVER_DOOR_OUT_OF_BAND_H_
#define MADLIKE_DRIVER_DOOR_OUT_OF_BAND_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/door/door_driver.h"
#include "madlike/driver/ip/address.h"

namespace mad {

/// A Connection is a DoorConnection with states kAgreeing, kConnected, kClosing and kGone, of which
/// unsettled() is true of kAgreeing and kClosing; it knows whether the last packet has left
/// (last_sent), and whether the peer's has come (peer_finished).
template <typename Connection>
class OutOfBandDriver : public DoorDriver<Connection> {
 protected:
  using Base = DoorDriver<Connection>;
  using State = typename Connection::State;
  using Base::Base;

  /// Of a connection that is kAgreeing; called until it is not.
  virtual void greet(Connection& connection) = 0;
  /// Of one that is kClosing; called until it is last_sent.
  virtual void send_last(Connection& connection) = 0;

  void set_state(Connection& connection, State state) final {
    const bool was = connection.unsettled();
    connection.state = state;
    if (connection.unsettled() == was) return;
    if (was) {
      unsettled_.erase(std::find(unsettled_.begin(), unsettled_.end(), connection.id));
    } else {
      unsettled_.push_back(connection.id);
      this->look_soon_ = true;
    }
  }
  /// Whether it is time to look at the sockets and the clock, as polls_ count.
  bool looking_is_due() {
    // Polls between two looks at the most, and between two at the clock, whose next tick is a
    // reason for one.
    constexpr std::uint32_t kLookEvery = 4096, kTickEvery = 16;
    if (this->look_soon_) return true;
    if (++polls_ % kTickEvery != 0) return false;
    return polls_ >= kLookEvery || this->look_timer_.ticked();
  }
  void advance_unsettled() {
    advancing_ = unsettled_;
    for (const ConnectionId id : advancing_) {
      Connection& connection = *this->find(id);
      if (connection.doomed) continue;
      if (connection.state == State::kAgreeing) greet(connection);
      if (connection.state != State::kClosing) continue;
      if (!connection.last_sent) send_last(connection);
      if (connection.last_sent && connection.peer_finished) this->end_soon(id, connection.gone);
    }
  }
  /// Why a connection ends whose peer hung up without a last packet.
  static Status hung_up(const Connection& connection) {
    const std::string who = "the engine at " + to_text(connection.peer.socket);
    return connection.state == State::kAgreeing
               ? Status(StatusCode::kAgain, who + " left before we were connected")
               : Status(StatusCode::kPeerFailed, who + " is gone");
  }

  std::vector<ConnectionId> unsettled_;  // connections agreeing or closing
  std::uint32_t polls_ = 0;              // since the last look

 private:
  std::vector<ConnectionId> advancing_;  // scratch of advance_unsettled()
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_DOOR_OUT_OF_BAND_H_
