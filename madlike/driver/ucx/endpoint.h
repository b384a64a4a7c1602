// UcxConnection: one peer of a ucx engine, from its first connection attempt to its end.
#ifndef MADLIKE_DRIVER_UCX_ENDPOINT_H_
#define MADLIKE_DRIVER_UCX_ENDPOINT_H_

#include <uct/api/uct.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "madlike/driver/door/door_driver.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/pull_queue.h"
#include "madlike/driver/ucx/lane.h"
#include "madlike/driver/ucx/offer.h"
#include "madlike/driver/ucx/put.h"
#include "madlike/driver/ucx/registration.h"

namespace mad {

class UcxDriver;

/// The message or write of a connection that UCX still has, if any: one after the other.
struct UcxOperation : uct_completion_t {
  void begin(Completion::Kind its_kind, void* its_context) {
    kind = its_kind;
    context = its_context;
    busy = true;
    waits = false;
  }
  /// Told when the socket has all of a message that UCX had copied.
  struct Copied : uct_pending_req_t {
    UcxOperation* operation = nullptr;
  } copied{};
  UcxDriver* driver = nullptr;
  ConnectionId connection = 0;
  Completion::Kind kind = Completion::Kind::kSent;
  void* context = nullptr;  // the caller's
  bool busy = false;
  bool waits = false;  // for room, to go on
};

/// Half of what shared memory has on its way, so that packets find room beside them.
using UcxPulls = PullQueue<UcxLane::kPlaces / 2>;

struct UcxConnection : DoorConnection {
  enum class State {
    kCalling,   // the door is at it
    kAgreeing,  // the control socket stands, and a transport is looked for
    kConnected,
    kClosing,  // disconnect() was called: the last message is to leave, then the peer closes
    kGone
  };

  /// `secret` is not 0.
  UcxConnection(ConnectionId its_id, DoorAddress its_address, std::uint32_t secret)
      : DoorConnection(its_id, std::move(its_address)),
        tag((std::uint64_t{its_id} << 32) | secret) {}
  static ConnectionId of_tag(std::uint64_t tag) { return static_cast<ConnectionId>(tag >> 32); }

  bool unsettled() const { return state == State::kAgreeing || state == State::kClosing; }

  const std::uint64_t tag;  // in messages to us
  State state = State::kCalling;
  DoorReader reader;  // of what comes by its socket, the control socket

  /// A lane and an endpoint on it, which goes first.
  struct Way {
    std::shared_ptr<UcxLane> lane;
    UctEndpoint endpoint;
  };

  // While it is agreed on a transport.
  UcxOffer own;
  std::optional<UcxOffer> offered;  // by the peer
  std::vector<UcxTransport> candidates;
  std::size_t candidate = 0;     // the one that is tried
  std::optional<bool> we, they;  // say that it works
  std::array<Way, kUcxTransports> prepared;
  Status without_posix;  // why this side has no shared memory for it; or ok
  bool hello_sent = false, hello_received = false;

  Way way;  // that is wired; or none
  bool puts() const { return way.lane && way.lane->limits().max_put_bytes > 0; }
  bool over_tcp() const { return way.lane && way.lane->transport() == UcxTransport::kTcp; }
  UcxOperation operation;

  // Writes by the device.
  std::optional<UcxPut> put;                                      // the one on its way
  std::unordered_map<std::uint64_t, UcxRegistration> registered;  // exposed to the peer, by its key

  // Writes that are read from the sender's memory.
  std::atomic<std::uint64_t> word{0};       // of own.process; 0: the peer may not read any more
  bool we_read = false, they_read = false;  // the other's memory
  UcxPulls pulls;                           // of ours, not answered
  std::uint64_t owed = 0;                   // of the peer's, read and not answered

  bool last_sent = false;
  bool peer_finished = false;  // its last message has come
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_UCX_ENDPOINT_H_
