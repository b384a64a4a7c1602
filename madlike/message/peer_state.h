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
  bool live() const { return !has(kEnded); }
  /// Its end was carried out; on_peer_gone() follows or was called.
  bool gone() const { return gone_; }
  /// Why it is ending or gone, or why posts fail.
  const Status& why() const { return why_; }
  /// Its end is decided; false: it was before.
  bool end(const Status& why) {
    if (!live()) return false;
    set(kEnded);
    why_ = why;
    return true;
  }
  void set_gone() {
    set(kEnded);
    gone_ = true;
  }
  /// on_peer_gone() was called.
  bool told_gone() const { return told_gone_; }
  void set_told_gone() { told_gone_ = true; }

  /// Whether it has a connection, which may still be set up.
  bool has_connection() const { return has(kHasConnection); }
  ConnectionId connection() const { return connection_; }
  void set_connection(ConnectionId connection) {
    connection_ = connection;
    set(kHasConnection);
  }
  /// Its connection was worth nothing: only our HELLO left by it.
  void leave_connection() {
    facts_ &= ~unsigned{kHasConnection | kSaidHello | kRefused};
    refused_turns_ = 0;
    ++connections_left_;
  }
  /// How often it was left: which of its connections it has.
  std::uint32_t connections_left() const { return connections_left_; }
  /// Whether its connection, if that ends, was not worth anything yet: another may be made.
  bool may_reconnect() const { return live() && !heard_hello() && !leaving_; }

  bool said_hello() const { return has(kSaidHello); }
  void set_said_hello() { set(kSaidHello); }
  bool heard_hello() const { return has(kHeardHello); }
  void set_heard_hello() { set(kHeardHello); }
  /// We leave: goodbye follows everything else.
  bool leaving() const { return leaving_; }
  void set_leaving() { leaving_ = true; }
  bool said_goodbye() const { return has(kSaidGoodbye); }
  void set_said_goodbye() { set(kSaidGoodbye); }

  /// The driver refused a post for good: the connection's end is awaited.  False: it did before.
  bool refuse(const Status& why) {
    if (!live() || refused()) return false;
    set(kRefused);
    why_ = why;
    return true;
  }
  bool refused() const { return has(kRefused); }
  /// How many turns of progress that end has been awaited, this one too.
  std::uint32_t count_refused_turn() { return ++refused_turns_; }

  /// Whether any frame may leave.
  bool may_post() const { return (facts_ & (kHasConnection | kNoMore)) == kHasConnection; }
  /// Whether messages may leave.  Before the peer's HELLO none does: without its credit even the
  /// smallest would wait for whoever receives it.
  bool may_send() const {
    return (facts_ & (kSaidHello | kHeardHello | kNoMore)) == (kSaidHello | kHeardHello);
  }

 private:
  // Asked of every message, all of them at once.
  static constexpr unsigned kHasConnection = 1, kSaidHello = 2, kHeardHello = 4, kSaidGoodbye = 8,
                            kRefused = 16, kEnded = 32;
  static constexpr unsigned kNoMore = kSaidGoodbye | kRefused | kEnded;

  bool has(unsigned fact) const { return (facts_ & fact) != 0; }
  void set(unsigned fact) { facts_ |= fact; }

  unsigned facts_ = 0;
  bool gone_ = false;
  bool told_gone_ = false;
  bool leaving_ = false;
  ConnectionId connection_ = 0;
  std::uint32_t connections_left_ = 0;
  std::uint32_t refused_turns_ = 0;
  Status why_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PEER_STATE_H_
