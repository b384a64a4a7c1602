// LoopbackPort: what one loopback engine shows to the others of its network.
//
// Private to the loopback driver.  Every member is read and written under the network's mutex,
// except where it says otherwise.
#ifndef MADLIKE_DRIVER_LOOPBACK_PORT_H_
#define MADLIKE_DRIVER_LOOPBACK_PORT_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/driver/loopback/ring.h"

namespace mad {

struct LoopbackConnection {
  enum class State { kConnecting, kConnected, kGone };
  State state = State::kConnecting;
  std::vector<std::byte> address;  // never changes: read without the mutex by the owner's thread
  std::shared_ptr<LoopbackPort> peer;  // while connected
  ConnectionId peer_id = 0;            // our connection's id at the peer
  std::size_t unreleased = 0;          // packets from the peer that wait here or are being read
  Status gone;                         // once gone: why
  bool left = false;                   // its user disconnected it
};

struct LoopbackBuffer {
  explicit LoopbackBuffer(std::size_t size) : bytes(new std::byte[size]) {}
  std::unique_ptr<std::byte[]> bytes;
  ConnectionId connection = 0;
};

struct LoopbackExposure {
  ConnectionId connection = 0;
  Segment memory;
};

/// How far the packet at the front of an inbox is handed out, where packets come in pieces.
struct LoopbackPieces {
  std::size_t given = 0;              // bytes; 0: it has not begun
  ScatteredMemory* memory = nullptr;  // where the rest goes, from its byte `first` on; or in pieces
  std::uint64_t first = 0;
};

class LoopbackPort {
 public:
  using Buffers = std::vector<std::unique_ptr<LoopbackBuffer>>;

  void push(const Completion& completion) {
    inbox.push(completion);
    signal.store(true, std::memory_order_release);
  }

  /// A packet of the connection `id`, to be written to a buffer of `room` bytes.
  Completion receive_to(std::size_t room, ConnectionId id);

  /// The live connection to `peer_address`, or null.
  LoopbackConnection* find(const std::vector<std::byte>& peer_address, ConnectionId* id);
  ConnectionId add_connection(const std::vector<std::byte>& peer_address);
  void mark_gone(ConnectionId id, const Status& why);
  /// The packet at the front of the inbox, or a piece of it of at most `most` bytes.
  Completion take_piece(std::size_t most);

  LoopbackBuffer* take_buffer(std::size_t bytes);

  std::vector<std::byte> address;  // never changes
  bool alive = true;
  std::deque<LoopbackConnection> connections;
  std::map<std::vector<std::byte>, ConnectionId> live;  // by the peer's address
  std::vector<std::vector<std::byte>> requests;         // addresses of engines that want to connect
  Ring<Completion> inbox;                               // what poll() hands out, in order
  LoopbackPieces pieces;                                // of its front
  std::size_t own_posts = 0;                            // kSent and kWritten in the inbox
  Buffers buffers;
  std::vector<LoopbackBuffer*> free_buffers;
  std::map<std::uint64_t, LoopbackExposure> exposures;  // by key
  std::map<std::uint64_t, Segment> shared;              // with all peers, by key
  std::uint64_t next_key = 1;
  std::atomic<bool> signal{false};  // read without the mutex: poll() has something to look at
};

struct LoopbackNetwork::State {
  std::mutex mutex;
  std::map<std::vector<std::byte>, std::shared_ptr<LoopbackPort>> ports;
  std::uint64_t next_port = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_LOOPBACK_PORT_H_
