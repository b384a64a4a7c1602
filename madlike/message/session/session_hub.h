// SessionHub: all Madeleine messages of one engine, those being packed and those that arrive.
//
// It owns the sessions.  The owner of the messenger passes on what concerns them: messages of
// kMadeleineHandler, the ends of peers, and through OutgoingOperation and IncomingOperation the
// ends of operations.  Messages that nobody has begun to unpack wait here in the order in which
// their first chunks arrived, whoever sent them.
//
// Packing and unpacking calls wait by progressing the messenger, so they must not be made from its
// callbacks.
#ifndef MADLIKE_MESSAGE_SESSION_SESSION_HUB_H_
#define MADLIKE_MESSAGE_SESSION_SESSION_HUB_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "madlike/message/messenger.h"
#include "madlike/message/session/inbound_message.h"
#include "madlike/message/session/packing_session.h"
#include "madlike/message/session/unpacking_session.h"
#include "madlike/message/session/waiter.h"

namespace mad {

class SessionHub {
 public:
  /// `messenger` outlives the calls below; it may be gone before the hub is destroyed.
  SessionHub(Messenger& messenger, const SessionTuning& tuning)
      : waiter_(messenger), tuning_(tuning) {}
  SessionHub(const SessionHub&) = delete;
  SessionHub& operator=(const SessionHub&) = delete;

  /// A message to `to`; `to_self`: that is this engine.  Belongs to the hub until end().  Throws
  /// std::bad_alloc.
  PackingSession& begin_packing(Endpoint& to, bool to_self);
  /// Ends and destroys the session, also on error.
  Status end(PackingSession& session);

  /// The next message from anyone, as soon as its first chunk is here; null when none came within
  /// `timeout_ms` (< 0: for ever).  Throws std::bad_alloc; then the message waits as before.
  UnpackingSession* begin_unpacking(int timeout_ms);
  /// Ends and destroys the session, also on error.
  Status end(UnpackingSession& session);

  /// As MessageEvents.
  void on_message(Endpoint& from, Segment header, std::uint64_t payload_bytes,
                  IncomingMessage* message);
  void on_peer_gone(Endpoint& peer, const Status& status);

  /// Whether a session, or a message that nobody has begun to unpack, is with this peer.
  bool names(const Endpoint& peer) const;

 private:
  using Key = std::pair<const Endpoint*, std::uint32_t>;

  InboundMessage& announce(Endpoint& from, std::uint32_t number);
  InboundMessage& begin(const Key& key, Endpoint& from);
  void foreign_chunk(Endpoint& from, const Status& why);
  void greet(Endpoint& self);
  void refuse(Endpoint& from, std::uint32_t number);
  void advance(const InboundMessage& message);
  void fail_incomplete(const Endpoint& from, const Status& why);

  Waiter waiter_;
  const SessionTuning tuning_;
  std::uint32_t last_number_ = 0;
  bool greeted_self_ = false;
  std::map<const PackingSession*, std::unique_ptr<PackingSession>> packing_;
  std::map<const InboundMessage*, std::unique_ptr<UnpackingSession>> unpacking_;
  std::deque<std::unique_ptr<InboundMessage>> waiting_;
  std::map<Key, InboundMessage*> incomplete_;  // chunks are still to come; waiting or unpacking
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_SESSION_HUB_H_
