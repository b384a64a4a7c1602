// How connections come.
//
// Both sides may ask for a connection at the same time.  Then the request of the engine with the
// smaller address stands: that engine refuses the other's request (kCrossing), and the other one
// accepts and drops its own.  No packet is posted before the connection stands, so none is lost.
#include <errno.h>
#include <sodium.h>

#include <algorithm>
#include <exception>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {
namespace {

// Strangers who may stand at the door at once: one more takes the place of the oldest.
constexpr std::size_t kMostStrangers = 256;
constexpr int kAcceptedAtOnce = 64;
// Deadlines move by pauses of poll() longer than this.
constexpr std::chrono::milliseconds kPause{1000};
// A connection carries one thing at a time: a longer write would keep small packets waiting.
constexpr std::size_t kMaxWriteBytes = 1024 * 1024;

}  // namespace

TcpDriver::TcpDriver(const TcpOptions& options, TcpSocket listener,
                     std::vector<std::byte> socket_address, TcpWatch watch)
    : options_(options),
      own_{std::move(socket_address), random_secret()},
      address_(own_.bytes()),
      watch_(std::move(watch)),
      listener_(std::move(listener)),
      spare_(tcp_spare()),
      limits_{options.max_packet_bytes, options.piece_bytes},
      chunks_(options.receive_chunks, TcpInbox::chunk_bytes(limits_)) {
  caps_.name = "tcp";
  caps_.max_iov = TcpOutbox::kMaxSegments;
  caps_.max_packet_bytes = options.max_packet_bytes;
  caps_.inject_bytes = std::min(TcpOutbox::kCopyBytes, caps_.max_packet_bytes);
  caps_.remote_write = true;
  caps_.max_write_iov = caps_.max_iov;
  caps_.max_write_bytes = kMaxWriteBytes;
  caps_.scattered_writes = true;
  caps_.piece_bytes = limits_.piece_bytes;
  caps_.cork_bytes = std::min(TcpOutbox::kCorkBytes, caps_.max_packet_bytes);
  looked_ = TcpClock::now();
}

Result<std::unique_ptr<Driver>> open_tcp(const TcpOptions& options) {
  if (options.receive_chunks == 0 || options.max_packet_bytes < 256 || options.piece_bytes < 256) {
    return Status(StatusCode::kInvalidArgument, "tcp: too few or too small receive chunks");
  }
  if (sodium_init() < 0) return Status(StatusCode::kInternal, "libsodium cannot be used here");
  Result<std::vector<std::byte>> address = listening_address(options.interface);
  if (!address.ok()) return address.status();
  Result<TcpSocket> listener = tcp_listen(&*address);
  if (!listener.ok()) return listener.status();
  Result<TcpWatch> watch = TcpWatch::open();
  if (!watch.ok()) return watch.status();
  if (!watch->add(listener->fd(), TcpWatch::Role::kListener, 0)) {
    return tcp_status(StatusCode::kNoMemory, "watching sockets", errno);
  }
  try {
    return std::unique_ptr<Driver>(std::make_unique<TcpDriver>(
        options, std::move(*listener), std::move(*address), std::move(*watch)));
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening tcp: ") + error.what());
  }
}

const std::vector<std::byte>& TcpDriver::peer_address(ConnectionId connection) const {
  return connections_.at(connection).address;
}

void TcpDriver::set_state(TcpConnection& connection, State state) {
  const auto unsettled = [&connection] {
    return connection.under_way() || connection.state == State::kClosing;
  };
  const bool stood = connection.stands();
  if (unsettled()) --unsettled_;
  connection.state = state;
  if (unsettled()) ++unsettled_;
  if (connection.stands() == stood) return;
  if (stood) {
    standing_.erase(std::find(standing_.begin(), standing_.end(), &connection));
  } else {
    standing_.push_back(&connection);
    readable_.reserve(standing_.capacity());  // polls allocate nothing
  }
}

TcpConnection& TcpDriver::add_connection(const TcpAddress& address) {
  const ConnectionId id = next_connection_++;
  ++unsettled_;  // kDialing
  chunks_.allow_one_more();
  TcpConnection& connection =
      connections_.try_emplace(id, id, address, chunks_, limits_).first->second;
  live_[connection.address] = id;
  return connection;
}

Result<ConnectionId> TcpDriver::connect(const std::byte* address, std::size_t size) {
  const Result<TcpAddress> peer = TcpAddress::parse(address, size);
  if (!peer.ok()) return peer.status();
  if (peer->socket.size() != own_.socket.size()) {
    return Status(
        StatusCode::kInvalidArgument,
        to_text(peer->socket) + " is of another address family than " + to_text(own_.socket));
  }
  const std::vector<std::byte> bytes = peer->bytes();
  if (bytes == address_) {
    return Status(StatusCode::kInvalidArgument, "an engine does not connect to itself over tcp");
  }
  const auto found = live_.find(bytes);
  if (found != live_.end()) {
    find(found->second)->told = true;
    return found->second;
  }
  TcpConnection& connection = add_connection(*peer);
  connection.told = true;
  dial(connection);
  return connection.id;
}

// The connector's side.

void TcpDriver::dial(TcpConnection& connection) {
  set_state(connection, State::kDialing);
  connection.deadline = TcpClock::now() + options_.connect_timeout;
  Result<TcpSocket> socket = tcp_dial(connection.peer.socket);
  if (!socket.ok()) return end_soon(connection.id, socket.status());
  connection.socket = std::move(*socket);
  if (!watch_.add(connection.socket.fd(), TcpWatch::Role::kConnection, connection.id, true)) {
    end_soon(connection.id, tcp_status(StatusCode::kNoMemory, "watching a socket", errno));
  }
}

void TcpDriver::on_handshake(TcpConnection& connection) {
  if (connection.state == State::kDialing) on_dialed(connection);
  if (connection.state != State::kAsking && connection.state != State::kAnswering) return;
  switch (connection.reader.read(connection.socket.fd())) {
    case TcpMessageReader::Outcome::kWaiting:
      return;
    case TcpMessageReader::Outcome::kEnded:
      return handshake_broke(connection);
    case TcpMessageReader::Outcome::kComplete:
      break;
  }
  if (connection.state == State::kAsking) {
    on_challenge(connection);
  } else {
    on_verdict(connection);
  }
}

void TcpDriver::on_dialed(TcpConnection& connection) {
  const int fd = connection.socket.fd();
  const int error = tcp_dialed(fd);
  if (error != 0) {
    return end_soon(connection.id,
                    tcp_status(StatusCode::kUnreachable,
                               "connecting to " + to_text(connection.peer.socket), error));
  }
  tcp_configure(fd);
  connection.nonce = random_nonce();
  const auto request = TcpHello{TcpHello::Kind::kRequest, connection.nonce}.pack();
  watch_.change(fd, TcpWatch::Role::kConnection, connection.id);
  set_state(connection, State::kAsking);
  connection.reader.expect(TcpHello::kBytes);
  if (!tcp_send(fd, request.data(), request.size())) handshake_broke(connection);
}

void TcpDriver::on_challenge(TcpConnection& connection) {
  const auto nonce = TcpHello::parse(connection.reader.bytes(), TcpHello::Kind::kChallenge);
  if (!nonce) {
    return end_soon(connection.id,
                    Status(StatusCode::kVersion,
                           to_text(connection.peer.socket) + " is no tcp engine of this version"));
  }
  connection.key = session_key(connection.peer.secret, connection.nonce, *nonce);
  const auto answer = TcpAnswer{own_}.seal(connection.key);
  set_state(connection, State::kAnswering);
  connection.reader.expect(TcpVerdict::kBytes);
  if (!tcp_send(connection.socket.fd(), answer.data(), answer.size())) handshake_broke(connection);
}

void TcpDriver::ask_again_soon(TcpConnection& connection) {
  close_socket(connection);
  set_state(connection, State::kAwaiting);
  connection.deadline = TcpClock::now() + TcpConnection::kAskAgain;
}

void TcpDriver::on_verdict(TcpConnection& connection) {
  const auto verdict = TcpVerdict::open(connection.reader.bytes(), connection.key);
  if (!verdict) return handshake_broke(connection);
  if (verdict->kind == TcpVerdict::Kind::kCrossing) {
    return ask_again_soon(connection);
  }
  set_state(connection, State::kConnected);
  tell(connection, Completion::Kind::kConnected, {});
}

// The peer may have given up on us, who were not polled, or have had no file left for us.
void TcpDriver::handshake_broke(TcpConnection& connection) {
  if (++connection.broken_attempts < TcpConnection::kAttempts) return ask_again_soon(connection);
  end_soon(connection.id,
           Status(StatusCode::kUnreachable,
                  to_text(connection.peer.socket) +
                      " ended the connection before it stood: it died, or is another engine than "
                      "the one whose address was given"));
}

// The listener's side.

void TcpDriver::accept_strangers() {
  for (int i = 0; i < kAcceptedAtOnce; ++i) {
    TcpSocket socket = tcp_accept(listener_.fd(), &spare_);
    if (!socket) return;
    if (strangers_.size() == kMostStrangers) strangers_.erase(strangers_.begin());
    const std::uint32_t id = next_stranger_++;
    TcpStranger& stranger = strangers_[id];
    stranger.socket = std::move(socket);
    stranger.deadline = TcpClock::now() + options_.stranger_timeout;
    stranger.reader.expect(TcpHello::kBytes);
    tcp_configure(stranger.socket.fd());
    if (watch_.add(stranger.socket.fd(), TcpWatch::Role::kStranger, id)) {
      on_stranger(id);  // most have said something already
    } else {
      strangers_.erase(id);
    }
  }
}

void TcpDriver::on_stranger(std::uint32_t id) {
  const auto found = strangers_.find(id);
  if (found == strangers_.end()) return;
  TcpStranger& stranger = found->second;
  const auto outcome = stranger.reader.read(stranger.socket.fd());
  if (outcome == TcpMessageReader::Outcome::kWaiting) return;
  const bool complete = outcome == TcpMessageReader::Outcome::kComplete;
  if (complete && stranger.state == TcpStranger::State::kRequesting && challenge(stranger)) return;
  if (complete && stranger.state == TcpStranger::State::kAnswering) admit(stranger);
  strangers_.erase(id);  // with its socket, unless a connection has taken that
}

bool TcpDriver::challenge(TcpStranger& stranger) {
  const auto nonce = TcpHello::parse(stranger.reader.bytes(), TcpHello::Kind::kRequest);
  if (!nonce) return false;
  const TcpHello own{TcpHello::Kind::kChallenge, random_nonce()};
  stranger.key = session_key(own_.secret, *nonce, own.nonce);
  stranger.state = TcpStranger::State::kAnswering;
  stranger.reader.expect(TcpAnswer::kBytes);
  stranger.deadline = TcpClock::now() + options_.stranger_timeout;
  const auto bytes = own.pack();
  return tcp_send(stranger.socket.fd(), bytes.data(), bytes.size());
}

// Whoever answers rightly is an engine that was told our address.
void TcpDriver::admit(TcpStranger& stranger) {
  const auto answer = TcpAnswer::open(stranger.reader.bytes(), stranger.key);
  if (!answer) return;
  const std::vector<std::byte> address = answer->address.bytes();
  if (address == address_) return;
  const auto found = live_.find(address);
  if (found == live_.end()) return accept(add_connection(answer->address), stranger);
  TcpConnection& known = *find(found->second);
  // A connection that stands is used to its end, also when the peer has left or lost it and asks
  // anew: it asks again.
  const bool ours_stands = known.stands();
  const bool ours_is_to_stand =
      known.under_way() && known.state != State::kAwaiting && address_ < address;
  if (ours_stands || ours_is_to_stand) return refuse_crossing(stranger);
  close_socket(known);
  accept(known, stranger);
}

void TcpDriver::refuse_crossing(TcpStranger& stranger) {
  const auto verdict = TcpVerdict{TcpVerdict::Kind::kCrossing}.seal(stranger.key);
  (void)tcp_send(stranger.socket.fd(), verdict.data(), verdict.size());
}

void TcpDriver::accept(TcpConnection& connection, TcpStranger& stranger) {
  connection.socket = std::move(stranger.socket);
  const int fd = connection.socket.fd();
  watch_.change(fd, TcpWatch::Role::kConnection, connection.id);
  set_state(connection, State::kConnected);
  const auto verdict = TcpVerdict{TcpVerdict::Kind::kAccepted}.seal(stranger.key);
  if (!tcp_send(fd, verdict.data(), verdict.size())) {
    return end_soon(connection.id,
                    Status(StatusCode::kPeerFailed, to_text(connection.peer.socket) +
                                                        " asked for a connection and gave up"));
  }
  tell(connection, Completion::Kind::kConnected, {});
}

void TcpDriver::tell(TcpConnection& connection, Completion::Kind kind, const Status& status) {
  connection.told = true;
  Completion news;
  news.kind = kind;
  news.connection = connection.id;
  news.status = status;
  news_.push_back(std::move(news));
}

void TcpDriver::check_deadlines() {
  const TcpClock::time_point now = TcpClock::now();
  const auto pause = now - looked_ > kPause ? now - looked_ : TcpClock::duration::zero();
  looked_ = now;
  if (unsettled_ == 0 && strangers_.empty()) return;
  for (auto& entry : connections_) entry.second.deadline += pause;
  for (auto& entry : strangers_) entry.second.deadline += pause;
  for (auto& entry : connections_) {
    TcpConnection& connection = entry.second;
    const bool has_one = connection.under_way() || connection.state == State::kClosing;
    if (has_one && now >= connection.deadline) on_deadline(connection, now);
  }
  for (auto each = strangers_.begin(); each != strangers_.end();) {
    each = now >= each->second.deadline ? strangers_.erase(each) : std::next(each);
  }
}

void TcpDriver::on_deadline(TcpConnection& connection, TcpClock::time_point now) {
  switch (connection.state) {
    case State::kDialing:
      return end_soon(connection.id, Status(StatusCode::kUnreachable,
                                            to_text(connection.peer.socket) + " does not answer"));
    case State::kAwaiting:
      return dial(connection);
    case State::kClosing:
      return end_soon(connection.id, connection.gone);
    case State::kAsking:
    case State::kAnswering:
      connection.deadline =
          now + options_.connect_timeout;  // its host answered, its engine is busy
      return;
    case State::kConnected:
    case State::kGone:
      return;
  }
}

}  // namespace mad
