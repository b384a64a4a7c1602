// TcpConnection: one peer of a tcp engine, from its first connection attempt to its end.
#ifndef MADLIKE_DRIVER_TCP_CONNECTION_H_
#define MADLIKE_DRIVER_TCP_CONNECTION_H_

#include <cstdint>
#include <utility>

#include "madlike/driver/door/door_driver.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/tcp/inbox.h"
#include "madlike/driver/tcp/outbox.h"

namespace mad {

struct TcpConnection : DoorConnection {
  enum class State {
    kCalling,  // the door is at it
    kConnected,
    kClosing,  // disconnect() was called: the last record is to leave, then the peer closes
    kGone
  };

  TcpConnection(ConnectionId its_id, DoorAddress its_address, ChunkPool& pool,
                const TcpInbox::Limits& limits)
      : DoorConnection(its_id, std::move(its_address)), inbox(pool, limits) {}

  /// Whether records come and go.
  bool stands() const { return state == State::kConnected || state == State::kClosing; }

  State state = State::kCalling;
  TcpInbox inbox;
  TcpOutbox outbox;
  bool rest_is_free = false;                // the packet under way was begun in this poll
  ScatteredMemory* rest_goes_to = nullptr;  // that of the packet under way; from this byte on:
  std::uint64_t rest_first = 0;
  bool unread = false;         // records are in memory that poll() had no room for
  bool listed = false;         // among those to be read in the next poll
  bool waits_to_send = false;  // the outbox is not empty
  bool wakes_to_send = false;  // a sleeper is woken when the socket takes more
  bool last_posted = false;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_CONNECTION_H_
