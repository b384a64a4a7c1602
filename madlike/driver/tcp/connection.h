// TcpConnection: one peer of a tcp engine, from its first connection attempt to its end.
// TcpStranger: who connected to us and has not proved yet that it knows our address.
#ifndef MADLIKE_DRIVER_TCP_CONNECTION_H_
#define MADLIKE_DRIVER_TCP_CONNECTION_H_

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/driver/driver.h"
#include "madlike/driver/tcp/handshake.h"
#include "madlike/driver/tcp/inbox.h"
#include "madlike/driver/tcp/outbox.h"

namespace mad {

/// A file descriptor, closed with it.
class TcpSocket {
 public:
  explicit TcpSocket(int fd = -1) : fd_(fd) {}
  ~TcpSocket() { close(); }
  TcpSocket(TcpSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TcpSocket& operator=(TcpSocket&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

using TcpClock = std::chrono::steady_clock;

struct TcpConnection {
  enum class State {
    kDialing,    // the host has not answered
    kAsking,     // our request left, the engine's challenge is awaited
    kAnswering,  // our answer left, its verdict is awaited
    kAwaiting,   // refused because another connection of the two is under way or ends; that must
                 // come, or we ask again
    kConnected,
    kClosing,  // disconnect() was called: the last record is to leave, then the peer closes
    kGone
  };

  // After a crossing refusal the peer's request normally comes at once.
  static constexpr std::chrono::milliseconds kAskAgain{50};
  // Times that the peer's host may answer and then end the connection before it stands.
  static constexpr int kAttempts = 4;

  TcpConnection(ConnectionId its_id, TcpAddress its_address, TcpChunkPool& pool,
                const TcpInbox::Limits& limits)
      : id(its_id), peer(std::move(its_address)), address(peer.bytes()), inbox(pool, limits) {}

  bool under_way() const { return state < State::kConnected; }
  /// Whether records come and go.
  bool stands() const { return state == State::kConnected || state == State::kClosing; }

  const ConnectionId id;
  const TcpAddress peer;
  const std::vector<std::byte> address;
  State state = State::kDialing;
  TcpSocket socket;

  // While it is under way.
  TcpMessageReader reader;
  TcpNonce nonce{};
  TcpSessionKey key{};

  int broken_attempts = 0;

  /// kDialing: give up; kAwaiting: ask again; kClosing: the peer takes nothing.
  TcpClock::time_point deadline;
  TcpInbox inbox;
  TcpOutbox outbox;
  std::size_t exposed = 0;                  // memory that the peer may write
  bool rest_is_free = false;                // the packet under way was begun in this poll
  ScatteredMemory* rest_goes_to = nullptr;  // that of the packet under way; from this byte on:
  std::uint64_t rest_first = 0;
  bool unread = false;         // records are in memory that poll() had no room for
  bool waits_to_send = false;  // the outbox is not empty
  bool wakes_to_send = false;  // a sleeper is woken when the socket takes more
  bool last_posted = false;
  bool told = false;  // the caller knows of this connection
  bool left = false;  // and has called disconnect(), or never heard of it
  Status gone;        // kClosing, kGone: why
};

struct TcpStranger {
  enum class State { kRequesting, kAnswering };
  State state = State::kRequesting;
  TcpSocket socket;
  TcpMessageReader reader;
  TcpSessionKey key{};
  TcpClock::time_point deadline;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_CONNECTION_H_
