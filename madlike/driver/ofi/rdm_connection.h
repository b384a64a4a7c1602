// RdmConnection: one peer of an engine that has one endpoint for all of them, from its first
// connection attempt to its end.
#ifndef MADLIKE_DRIVER_OFI_RDM_CONNECTION_H_
#define MADLIKE_DRIVER_OFI_RDM_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "madlike/driver/door/door_driver.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/ofi/conversation.h"
#include "madlike/driver/ofi/memory.h"
#include "madlike/driver/ofi/order.h"
#include "madlike/driver/ofi/peer_addresses.h"

namespace mad {

/// A packet in a buffer of the driver's, until the provider is done with it; in place of operations
/// of each connection, as the endpoint's queue is everybody's.
struct RdmSend : OfiContext {
  RdmSend() : OfiContext(Role::kOperation) {}
  std::byte* buffer = nullptr;
  std::size_t bytes = 0;  // with the header
  ConnectionId connection = 0;
  PeerAddresses::Entry* to = nullptr;  // null: this one is free
  bool tells = false;                  // the caller of its completion
  void* context = nullptr;             // the caller's
};

struct RdmConnection : DoorConnection, Conversation {
  enum class State {
    kCalling,   // the door is at it
    kAgreeing,  // the socket stands; offers go by it, and the first packets by the fabric
    kConnected,
    kClosing,  // disconnect() was called: the last packet is to leave, then the peer closes
    kGone
  };
  // Packets in the provider's hands: half of all send buffers, so that others get some.
  static constexpr std::size_t kQueueDepth = 32;

  RdmConnection(ConnectionId its_id, DoorAddress its_address, std::uint64_t secret)
      : DoorConnection(its_id, std::move(its_address)),
        Conversation(OfiTag::make(its_id, secret)) {}

  bool unsettled() const { return state == State::kAgreeing || state == State::kClosing; }

  State state = State::kCalling;
  DoorReader reader;                   // of what comes by the socket
  PeerAddresses::Entry* to = nullptr;  // the peer, once it has offered
  std::uint8_t next_number = 0;        // of packets to it
  PacketOrder<ReceiveBuffer> order;    // of those from it
  RdmSend* unposted = nullptr;         // a packet that the provider did not take
  std::size_t queued = 0;              // packets in the provider's hands, and `unposted`
  bool is_due = false;                 // something is to be sent that the caller did not post
  bool hello_sent = false, hello_received = false;
  bool last_sent = false;
  bool peer_finished = false;  // its last packet has come
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_RDM_CONNECTION_H_
