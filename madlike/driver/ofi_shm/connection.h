// OfiShmConnection: one peer of a shm engine, from its first connection attempt to its end.
#ifndef MADLIKE_DRIVER_OFI_SHM_CONNECTION_H_
#define MADLIKE_DRIVER_OFI_SHM_CONNECTION_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/connections/table.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/ofi_shm/endpoint.h"
#include "madlike/driver/ofi_shm/gate.h"
#include "madlike/driver/ofi_shm/offer.h"

namespace mad {

/// The data that travels with every message: the receiver's number of the connection and a secret,
/// as it chose them, and what the message is.
struct OfiShmTag {
  enum class Kind : std::uint64_t { kHello, kPacket, kLast };
  static std::uint64_t make(ConnectionId id, std::uint32_t secret) {
    return (std::uint64_t{id} << 32) | (secret & ~kKinds);
  }
  static std::uint64_t with(std::uint64_t tag, Kind kind) {
    return tag | static_cast<std::uint64_t>(kind);
  }
  static std::uint64_t of(std::uint64_t data) { return data & ~std::uint64_t{kKinds}; }
  static Kind kind(std::uint64_t data) { return static_cast<Kind>(data & kKinds); }

 private:
  static constexpr std::uint32_t kKinds = 3;
};

/// A long packet that the provider has: it takes one at a time.
struct OfiShmOperation {
  void* context = nullptr;  // the caller's
  bool busy = false;
};

struct OfiShmConnection : ConnectionRecord {
  enum class State {
    kCalling,   // the door is at it
    kAgreeing,  // the control socket stands, and each side opens the other's memory
    kConnected,
    kClosing,  // disconnect() was called: the last message is to leave, then the peer closes
    kGone
  };

  OfiShmConnection(ConnectionId its_id, DoorAddress its_address, std::uint32_t secret)
      : ConnectionRecord(its_id, its_address.bytes()),
        peer(std::move(its_address)),
        tag(OfiShmTag::make(its_id, secret)) {}

  bool unsettled() const { return state == State::kAgreeing || state == State::kClosing; }
  /// Both sides of its memory are open.
  bool open() const { return ready && peer_ready; }

  const DoorAddress peer;
  const std::uint64_t tag;  // in messages to us
  State state = State::kCalling;
  TcpSocket control;
  DoorReader reader;

  // While both agree.
  OfiShmOffer own;
  std::optional<OfiShmOffer> offered;  // by the peer
  bool ready = false, peer_ready = false;
  bool hello_sent = false, hello_received = false;

  std::unique_ptr<OfiShmGate> gate;
  std::unique_ptr<OfiShmEndpoint> endpoint;
  std::vector<Chunk*> posted;  // receive buffers that the endpoint has, in order
  OfiShmOperation operation;
  bool turned_away = false;  // the other side was in the gate when we had something to send

  bool last_sent = false;
  bool peer_finished = false;        // its last message has come
  PolledClock::time_point deadline;  // kAgreeing: our turn comes; kClosing: the peer takes nothing
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_SHM_CONNECTION_H_
