// PeerState: how far an engine and one peer have come - connected, greeted, leaving, gone.
#ifndef MADLIKE_MESSAGE_PEER_STATE_H_
#define MADLIKE_MESSAGE_PEER_STATE_H_

#include <cstdint>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"

namespace mad {

class PeerState {
 public:
  /// Its end is not decided: it may never have been contacted.
  bool live() const { return life_ == Life::kLive; }
  /// Its end was carried out; on_peer_gone() follows or was called.
  bool gone() const { return life_ == Life::kGone; }
  /// Why it is ending or gone, or why posts fail.
  const Status& why() const { return why_; }
  /// Its end is decided; false: it was before.
  bool end(const Status& why) {
    if (!live()) return false;
    life_ = Life::kEnding;
    why_ = why;
    return true;
  }
  void set_gone() { life_ = Life::kGone; }
  /// on_peer_gone() was called.
  bool told_gone() const { return told_gone_; }
  void set_told_gone() { told_gone_ = true; }

  /// Whether it has a connection, which may still be set up.
  bool has_connection() const { return has_connection_; }
  ConnectionId connection() const { return connection_; }
  void set_connection(ConnectionId connection) {
    connection_ = connection;
    has_connection_ = true;
  }
  /// Its connection was worth nothing: only our HELLO left by it.
  void leave_connection() {
    has_connection_ = said_hello_ = refused_ = false;
    refused_turns_ = 0;
    ++connections_left_;
  }
  /// How often it was left: which of its connections it has.
  std::uint32_t connections_left() const { return connections_left_; }
  /// Whether its connection, if that ends, was not worth anything yet: another may be made.
  bool may_reconnect() const { return live() && !heard_hello_ && !leaving_; }

  bool said_hello() const { return said_hello_; }
  void set_said_hello() { said_hello_ = true; }
  bool heard_hello() const { return heard_hello_; }
  void set_heard_hello() { heard_hello_ = true; }
  /// We leave: goodbye follows everything else.
  bool leaving() const { return leaving_; }
  void set_leaving() { leaving_ = true; }
  bool said_goodbye() const { return said_goodbye_; }
  void set_said_goodbye() { said_goodbye_ = true; }

  /// The driver refused a post for good: the connection's end is awaited.  False: it did before.
  bool refuse(const Status& why) {
    if (!live() || refused_) return false;
    refused_ = true;
    why_ = why;
    return true;
  }
  bool refused() const { return refused_; }
  /// How many turns of progress that end has been awaited, this one too.
  std::uint32_t count_refused_turn() { return ++refused_turns_; }

  /// Whether any frame may leave.
  bool may_post() const { return live() && !refused_ && !said_goodbye_ && has_connection_; }
  /// Whether messages may leave.  Before the peer's HELLO none does: without its credit even the
  /// smallest would wait for whoever receives it.
  bool may_send() const {
    return live() && !refused_ && said_hello_ && heard_hello_ && !said_goodbye_;
  }

 private:
  enum class Life : std::uint8_t { kLive, kEnding, kGone };

  Life life_ = Life::kLive;
  bool told_gone_ = false;
  bool has_connection_ = false;
  bool said_hello_ = false;
  bool heard_hello_ = false;
  bool leaving_ = false;
  bool said_goodbye_ = false;
  bool refused_ = false;
  ConnectionId connection_ = 0;
  std::uint32_t connections_left_ = 0;
  std::uint32_t refused_turns_ = 0;
  Status why_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PEER_STATE_H_
