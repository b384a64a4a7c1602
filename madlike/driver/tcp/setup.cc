// How connections come.
#include <algorithm>
#include <exception>

#include "madlike/driver/ip/address.h"
#include "madlike/driver/tcp/driver.h"

namespace mad {
namespace {

constexpr DoorMagic kMagic{'M', 'A', 'D', 'T', 'C', 'P'};
// A connection carries one thing at a time: a longer write would keep small packets waiting.
constexpr std::size_t kMaxWriteBytes = 1024 * 1024;

}  // namespace

TcpDriver::TcpDriver(const TcpOptions& options, Door door)
    : options_(options),
      door_(std::move(door)),
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
  link_ = LinkCaps::usual(caps_);
}

Result<std::unique_ptr<Driver>> open_tcp(const TcpOptions& options) {
  if (options.receive_chunks == 0 || options.max_packet_bytes < 256 || options.piece_bytes < 256) {
    return Status(StatusCode::kInvalidArgument, "tcp: too few or too small receive chunks");
  }
  DoorOptions door_options;
  door_options.secret = options.secret;
  door_options.fabric = "tcp";
  door_options.magic = kMagic;
  door_options.interface = options.interface;
  door_options.connect_timeout = options.connect_timeout;
  door_options.stranger_timeout = options.stranger_timeout;
  door_options.silence_timeout = options.silence_timeout;
  Result<Door> door = Door::open(door_options);
  if (!door.ok()) return door.status();
  try {
    return std::unique_ptr<Driver>(std::make_unique<TcpDriver>(options, std::move(*door)));
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening tcp: ") + error.what());
  }
}

const std::vector<std::byte>& TcpDriver::peer_address(ConnectionId connection) const {
  return connections_.at(connection).address;
}

void TcpDriver::set_state(TcpConnection& connection, State state) {
  const bool stood = connection.stands();
  if (connection.state == State::kClosing) --closing_;
  connection.state = state;
  if (state == State::kClosing) ++closing_;
  if (connection.stands() == stood) return;
  if (stood) {
    standing_.erase(std::find(standing_.begin(), standing_.end(), &connection));
  } else {
    standing_.push_back(&connection);
    readable_.reserve(standing_.capacity());  // polls allocate nothing
  }
}

TcpConnection& TcpDriver::add_connection(const DoorAddress& address) {
  chunks_.allow_one_more();
  return connections_.add(address, chunks_, limits_);
}

Result<ConnectionId> TcpDriver::connect(const std::byte* address, std::size_t size) {
  const Result<DoorAddress> peer = door_.parse(address, size);
  if (!peer.ok()) return peer.status();
  if (TcpConnection* const known = connections_.live(peer->bytes())) {
    known->told = true;
    return known->id;
  }
  TcpConnection& connection = add_connection(*peer);
  connection.told = true;
  door_.call(*peer);
  return connection.id;
}

void TcpDriver::on_door(Door::Event& event) {
  TcpConnection* const known = connections_.live(event.peer.bytes());
  TcpConnection& connection = known ? *known : add_connection(event.peer);
  if (!event.socket) return end_soon(connection.id, std::move(event.why));
  connection.socket = std::move(event.socket);
  door_.watch().change(connection.socket.fd(), TcpWatch::Role::kConnection, connection.id);
  set_state(connection, State::kConnected);
  ready_.push_back(connection.id);  // its peer may have gone on
  connection.told = true;
  completions_.push(Completion::Kind::kConnected, connection.id, nullptr, {});
}

void TcpDriver::check_deadlines() {
  const PolledClock::time_point now = door_.now();
  const bool listens = now >= listen_at_;
  if (listens) listen_at_ = now + Silence::look_every(options_.silence_timeout);
  if (!listens && closing_ == 0) return;
  for (TcpConnection* const connection : standing_) {
    const bool closing = connection->state == State::kClosing;
    if (closing && now >= connection->deadline) end_soon(connection->id, connection->gone);
    if (listens &&
        connection->silence.lasts(connection->socket.fd(), now, options_.silence_timeout)) {
      end_soon(connection->id, host_silent(connection->peer, options_.silence_timeout));
    }
  }
}

}  // namespace mad
