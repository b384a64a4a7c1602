// OfiConnection: one peer of an ofi engine, from its first connection attempt to its end, and the
// operations it has in the provider's hands.
#ifndef MADLIKE_DRIVER_OFI_ENDPOINT_H_
#define MADLIKE_DRIVER_OFI_ENDPOINT_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/table.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/ofi/conversation.h"
#include "madlike/driver/ofi/fabric.h"
#include "madlike/driver/ofi/header.h"
#include "madlike/driver/ofi/memory.h"
#include "madlike/driver/ofi/staged_write.h"

namespace mad {

struct OfiOperation : OfiContext {
  enum class Kind : std::uint8_t {
    kSend,    // a packet in the caller's memory; its completion goes to the caller
    kCopy,    // a packet in a buffer of ours; the caller is done with it
    kWrite,   // a remote write, or its last part; its completion goes to the caller
    kPart,    // a part of one, in a buffer of ours
    kGet,     // a remote read; its completion goes to the caller
    kCredit,  // a packet without bytes
    kAsk,     // a write of no bytes: is the peer's device there?
    kLast     // the packet that ends a connection in good order
  };
  OfiOperation() : OfiContext(Role::kOperation) {}
  Kind kind = Kind::kSend;
  bool busy = false;
  ConnectionId connection = 0;
  void* context = nullptr;                          // the caller's
  std::array<std::byte, OfiHeader::kBytes> header;  // kSend, kCredit, kLast
  std::byte* buffer = nullptr;                      // of the send pool; kCopy: header and bytes
  std::size_t bytes = 0;  // kCopy: of them, without the header; with a region, all of it
  Segment place;          // kGet with a buffer: where its bytes belong
  FidPtr<fid_mr> region;  // kWrite, kGet: the caller's memory, registered for this one
};

struct OfiConnection : ConnectionRecord, Conversation {
  enum class State {
    kConnecting,  // our request is under way
    kAwaiting,   // refused because the peer's own request is; the peer's must come, or we ask again
    kAccepting,  // the peer's request is accepted; the provider has not said that it stands
    kConnected,
    kClosing,  // disconnect() was called: the last packet is to leave, then the peer closes
    kGone
  };
  using Clock = std::chrono::steady_clock;

  // Packets and writes in the provider's hands.  tcp takes any number, so the bound is ours.
  static constexpr std::size_t kQueueDepth = 32;
  // One for the last packet, and one for one that gives credit or a write of no bytes.
  static constexpr std::size_t kOperations = kQueueDepth + 2;

  // After a crossing refusal the peer's request normally comes at once.
  static constexpr std::chrono::milliseconds kAskAgain{250};

  OfiConnection(ConnectionId id, std::vector<std::byte> address, std::uint64_t secret);

  /// A free record for an operation, or null: the queue is full.
  OfiOperation* take_operation(OfiOperation::Kind kind, void* context);
  /// The provider is done with it, or never took it.
  void free_operation(OfiOperation* operation);
  /// The connection ended before the provider was done with it; free_operation() may follow.
  void abandon_operation(OfiOperation* operation);
  /// Nothing of this record is in the provider's hands.
  bool all_returned() const { return free_operations.size() == operations.size(); }
  bool under_way() const { return state == State::kConnecting || state == State::kAwaiting; }

  State state = State::kConnecting;
  FidPtr<fid_ep> endpoint;
  std::uint32_t requests = 0;  // tells an endpoint of a former request from that of this one
  std::uint32_t endpoints_opened = 0;  // tells events of a former endpoint from those of this one
  OfiOperation* unposted = nullptr;    // a kCopy that the provider did not take
  StagedWrite staged;                  // a write, as long as some of it is not copied
  bool is_due = false;                 // something is to be sent that the caller did not post

  // Of the peer, once it is known.
  std::uint64_t peer_incarnation = 0;
  std::uint32_t peer_sequence = 0;

  /// kConnecting: give up unless the host answered; kAwaiting: ask again; kAccepting: the peer has
  /// given up; kClosing: it takes nothing.
  Clock::time_point deadline;
  bool is_asked = false;             // whether its host is there: a kAsk is under way
  PolledClock::time_point asked_at;  // the last time
  std::size_t queued = 0;            // what the caller posted, in the provider's hands
  std::size_t exposed = 0;           // regions that the peer may write
  bool last_posted = false;
  bool last_sent = false;
  bool peer_finished = false;  // its last packet has come

  // The provider names them by their place in memory, so they stay until all have come back.
  std::vector<OfiOperation> operations;
  std::vector<OfiOperation*> free_operations;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_ENDPOINT_H_
