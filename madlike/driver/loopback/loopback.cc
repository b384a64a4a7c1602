#include "madlike/driver/loopback/loopback.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "madlike/driver/loopback/port.h"

namespace mad {
namespace {

// "MADLOOP1", the process, the network, the port: enough to tell every loopback engine of a machine
// apart.
struct LoopbackAddress {
  char magic[8] = {'M', 'A', 'D', 'L', 'O', 'O', 'P', '1'};
  std::uint64_t process = 0;
  std::uint64_t network = 0;
  std::uint64_t port = 0;
};

using Lock = std::lock_guard<std::mutex>;
using Connection = LoopbackConnection;

}  // namespace

LoopbackBuffer* LoopbackPort::take_buffer(std::size_t bytes) {
  if (free_buffers.empty()) {
    buffers.push_back(std::make_unique<LoopbackBuffer>(bytes));
    free_buffers.reserve(buffers.size());
    return buffers.back().get();
  }
  LoopbackBuffer* buffer = free_buffers.back();
  free_buffers.pop_back();
  return buffer;
}

LoopbackConnection* LoopbackPort::find(const std::vector<std::byte>& peer_address,
                                       ConnectionId* id) {
  const auto found = live.find(peer_address);
  if (found == live.end()) return nullptr;
  *id = found->second;
  return &connections[*id];
}

ConnectionId LoopbackPort::add_connection(const std::vector<std::byte>& peer_address) {
  const auto id = static_cast<ConnectionId>(connections.size());
  connections.emplace_back();
  connections.back().address = peer_address;
  live[peer_address] = id;
  return id;
}

void LoopbackPort::mark_gone(ConnectionId id, const Status& why) {
  Connection& connection = connections[id];
  if (connection.state == Connection::State::kGone) return;
  connection.state = Connection::State::kGone;
  connection.gone = why;
  connection.peer.reset();
  live.erase(connection.address);
  for (auto it = exposures.begin(); it != exposures.end();) {
    it = it->second.connection == id ? exposures.erase(it) : std::next(it);
  }
}

Completion LoopbackPort::receive_to(std::size_t room, ConnectionId id) {
  LoopbackBuffer* const buffer = take_buffer(room);
  buffer->connection = id;
  ++connections[id].unreleased;
  Completion received;
  received.kind = Completion::Kind::kReceived;
  received.connection = id;
  received.bytes = {buffer->bytes.get(), room};
  received.buffer = buffer;
  return received;
}

Completion LoopbackPort::take_piece(std::size_t most) {
  Completion& packet = inbox.front();
  const std::size_t left = packet.bytes.size - pieces.given;
  std::byte* const next = packet.bytes.begin() + pieces.given;
  Completion piece = packet;
  if (pieces.memory == nullptr && left > most) {
    piece.bytes = {next, most};
    piece.rest = left - most;
    piece.buffer = nullptr;  // the last one has it
    pieces.given += most;
    return piece;
  }
  piece.bytes = {next, left};
  if (pieces.memory != nullptr) {
    for (std::size_t done = 0; done < left;) {
      Segment run;
      if (pieces.memory->runs(pieces.first + done, left - done, &run, 1) == 0) break;
      std::memcpy(run.data, next + done, run.size);
      done += run.size;
    }
    piece.bytes = {next, 0};
  }
  pieces = {};
  inbox.pop();
  return piece;
}

LoopbackNetwork::LoopbackNetwork(const LoopbackOptions& options)
    : queue_depth_(options.queue_depth),
      cut_bytes_(options.piece_bytes),
      state_(std::make_unique<State>()) {
  caps_.name = "loopback";
  caps_.beyond_host = false;
  caps_.remote_write = options.remote_write;
  caps_.one_sided = options.remote_write && options.one_sided;
  LinkCaps& link = caps_.links.front();
  link.prices = caps_.name;
  link.max_iov = options.max_iov;
  link.max_packet_bytes = options.max_packet_bytes;
  link.inject_bytes = options.inject_bytes;
  link.piece_bytes = options.lent_bytes > 0 ? options.lent_bytes : options.piece_bytes;
  link.cork_bytes = options.cork_bytes;
  link.lent_bytes = options.lent_bytes;
  link.short_bytes = options.lent_bytes > 0 ? options.lent_bytes : options.short_bytes;
  if (options.remote_write) {
    link.max_write_iov = options.max_write_iov;
    link.max_write_bytes = options.max_write_bytes;
    link.write_runs_from = 0;
  }
  link.offered_from = options.offered_from;
  link.most_offered = options.most_offered;
  link.weighs_offers = link.offers_are_weighed = options.weighs_offers;
}

LoopbackNetwork::~LoopbackNetwork() = default;

LoopbackDriver::LoopbackDriver(std::shared_ptr<LoopbackNetwork> network)
    : network_(std::move(network)), port_(std::make_shared<LoopbackPort>()) {
  const Lock lock(network_->state_->mutex);
  LoopbackAddress address;
  address.process = static_cast<std::uint64_t>(getpid());
  address.network = reinterpret_cast<std::uintptr_t>(network_->state_.get());
  address.port = network_->state_->next_port++;
  port_->address.resize(sizeof(address));
  std::memcpy(port_->address.data(), &address, sizeof(address));
  network_->state_->ports[port_->address] = port_;
}

LoopbackDriver::~LoopbackDriver() { fail(); }

const DriverCaps& LoopbackDriver::caps() const { return network_->caps_; }

const std::vector<std::byte>& LoopbackDriver::address() const { return port_->address; }

const std::vector<std::byte>& LoopbackDriver::peer_address(ConnectionId connection) const {
  return port_->connections[connection].address;
}

Result<ConnectionId> LoopbackDriver::connect(const std::byte* address, std::size_t size) {
  const LoopbackAddress expected;
  if (size != sizeof(expected) ||
      std::memcmp(address, expected.magic, sizeof(expected.magic)) != 0) {
    return Status(StatusCode::kInvalidArgument, "not an address of a loopback engine");
  }
  const std::vector<std::byte> peer_address(address, address + size);
  const Lock lock(network_->state_->mutex);
  if (!port_->alive) return Status(StatusCode::kClosed, "this loopback engine has failed");
  ConnectionId id = 0;
  if (port_->find(peer_address, &id)) return id;
  id = port_->add_connection(peer_address);
  Connection& connection = port_->connections[id];
  Completion news;
  news.connection = id;
  const auto peer = network_->state_->ports.find(peer_address);
  if (peer_address == port_->address) {
    connection.state = Connection::State::kConnected;
    connection.peer = port_;
    connection.peer_id = id;
    news.kind = Completion::Kind::kConnected;
    port_->push(news);
  } else if (peer == network_->state_->ports.end()) {
    news.kind = Completion::Kind::kDisconnected;
    news.status = Status(StatusCode::kUnreachable, "no loopback engine at this address");
    port_->mark_gone(id, news.status);
    port_->push(news);
  } else {
    peer->second->requests.push_back(port_->address);
    peer->second->signal.store(true, std::memory_order_release);
  }
  return id;
}

Status LoopbackDriver::post_send(ConnectionId id, SegmentList packet, void* context) {
  const std::size_t bytes = packet.bytes();
  if (packet.count > caps().nearest().max_iov || bytes > caps().nearest().max_packet_bytes) {
    return Status(StatusCode::kInvalidArgument, "packet beyond the limits of the loopback fabric");
  }
  const Lock lock(network_->state_->mutex);
  Connection& connection = port_->connections[id];
  if (connection.state == Connection::State::kGone) return connection.gone;
  if (connection.state == Connection::State::kConnecting) return StatusCode::kAgain;
  const bool inject = bytes <= caps().nearest().inject_bytes;
  LoopbackPort& peer = *connection.peer;
  Connection& theirs = peer.connections[connection.peer_id];
  if (theirs.unreleased >= network_->queue_depth_) return StatusCode::kAgain;
  if (!inject && port_->own_posts >= network_->queue_depth_) return StatusCode::kAgain;

  Completion received = peer.receive_to(caps().nearest().max_packet_bytes, connection.peer_id);
  std::byte* out = received.bytes.begin();
  for (const Segment& segment : packet) {
    if (segment.size > 0) std::memcpy(out, segment.data, segment.size);
    out += segment.size;
  }
  received.bytes.size = bytes;
  peer.push(received);
  if (inject) return StatusCode::kOk;

  Completion sent;
  sent.kind = Completion::Kind::kSent;
  sent.connection = id;
  sent.context = context;
  port_->push(sent);
  ++port_->own_posts;
  return StatusCode::kInProgress;
}

const LinkCaps& LoopbackDriver::link(ConnectionId /*connection*/) const { return caps().nearest(); }

Status LoopbackDriver::post_lent(ConnectionId id, PacketWriter& writer) {
  const Lock lock(network_->state_->mutex);
  const Connection& connection = port_->connections[id];
  if (connection.state == Connection::State::kGone) return connection.gone;
  if (connection.state == Connection::State::kConnecting) return StatusCode::kAgain;
  LoopbackPort& peer = *connection.peer;
  if (peer.connections[connection.peer_id].unreleased >= network_->queue_depth_) {
    return StatusCode::kAgain;
  }
  Completion received = peer.receive_to(caps().nearest().max_packet_bytes, connection.peer_id);
  const std::size_t left = writer.left();
  const std::size_t most = caps().nearest().short_bytes;
  const std::size_t pieces = (left + most - 1) / most;
  received.bytes.size = (left + pieces - 1) / pieces;
  received.rest = left - received.bytes.size;
  writer.write(received.bytes);
  peer.push(received);
  return {};
}

Result<ExposureToken> LoopbackDriver::expose(ConnectionId id, Segment memory) {
  const Lock lock(network_->state_->mutex);
  if (!caps().remote_write) return Status(StatusCode::kInvalidArgument, "no remote writes here");
  const Connection& connection = port_->connections[id];
  if (connection.state == Connection::State::kGone) return connection.gone;
  ExposureToken token;
  token.key = port_->next_key++;
  port_->exposures[token.key] = {id, memory};
  return token;
}

void LoopbackDriver::withdraw(ConnectionId id, const ExposureToken& token) {
  const Lock lock(network_->state_->mutex);
  const auto found = port_->exposures.find(token.key);
  if (found != port_->exposures.end() && found->second.connection == id) {
    port_->exposures.erase(found);
  }
}

namespace {

void copy_out(SegmentList packet, std::byte* out) {
  for (const Segment& segment : packet) {
    if (segment.size > 0) std::memcpy(out, segment.data, segment.size);
    out += segment.size;
  }
}

/// Where `bytes` bytes stand from `offset` on; null: not within the memory.
std::byte* within(Segment memory, std::uint64_t offset, std::size_t bytes) {
  const bool is = offset <= memory.size && bytes <= memory.size - offset;
  return is ? memory.begin() + offset : nullptr;
}

Status no_access() { return {StatusCode::kProtocol, "remote access outside of exposed memory"}; }

}  // namespace

Status LoopbackDriver::may_write(ConnectionId id) const {
  const Connection& connection = port_->connections[id];
  if (connection.state == Connection::State::kGone) return connection.gone;
  if (connection.state == Connection::State::kConnecting) return StatusCode::kAgain;
  return port_->own_posts >= network_->queue_depth_ ? StatusCode::kAgain : StatusCode::kOk;
}

void LoopbackDriver::push_written(ConnectionId id, void* context, const Status& status) {
  Completion written;
  written.kind = Completion::Kind::kWritten;
  written.connection = id;
  written.context = context;
  written.status = status;
  port_->push(written);
  ++port_->own_posts;
}

Status LoopbackDriver::post_write(ConnectionId id, SegmentList packet, const ExposureToken& token,
                                  std::uint64_t offset, void* context) {
  const std::size_t bytes = packet.bytes();
  if (packet.count > caps().nearest().max_write_iov || bytes > caps().nearest().max_write_bytes) {
    return Status(StatusCode::kInvalidArgument, "write beyond the limits of the loopback fabric");
  }
  const Lock lock(network_->state_->mutex);
  Status status = may_write(id);
  if (!status.ok()) return status;
  const Connection& connection = port_->connections[id];
  const auto found = connection.peer->exposures.find(token.key);
  const bool exposed =
      found != connection.peer->exposures.end() && found->second.connection == connection.peer_id;
  std::byte* const out = exposed ? within(found->second.memory, offset, bytes) : nullptr;
  if (out != nullptr) copy_out(packet, out);
  push_written(id, context, out != nullptr ? Status() : no_access());
  return StatusCode::kInProgress;
}

Result<ExposureToken> LoopbackDriver::share(Segment memory) {
  const Lock lock(network_->state_->mutex);
  if (!caps().one_sided) return Status(StatusCode::kInvalidArgument, "no memory is shared here");
  ExposureToken token;
  token.key = port_->next_key++;
  port_->shared[token.key] = memory;
  return token;
}

void LoopbackDriver::unshare(const ExposureToken& token) {
  const Lock lock(network_->state_->mutex);
  port_->shared.erase(token.key);
}

std::byte* LoopbackDriver::shared_at(const LoopbackPort& peer, const ExposureToken& token,
                                     std::uint64_t offset, std::size_t bytes) const {
  const auto found = peer.shared.find(token.key);
  return found == peer.shared.end() ? nullptr
                                    : within(found->second, token.address + offset, bytes);
}

Status LoopbackDriver::post_put(ConnectionId id, SegmentList packet, const ExposureToken& token,
                                std::uint64_t offset, void* context) {
  const std::size_t bytes = packet.bytes();
  if (!caps().one_sided || packet.count > caps().nearest().max_write_iov ||
      bytes > caps().nearest().max_write_bytes) {
    return Status(StatusCode::kInvalidArgument, "put beyond the limits of the loopback fabric");
  }
  const Lock lock(network_->state_->mutex);
  Status status = may_write(id);
  if (!status.ok()) return status;
  std::byte* const out = shared_at(*port_->connections[id].peer, token, offset, bytes);
  if (out != nullptr) copy_out(packet, out);
  push_written(id, context, out != nullptr ? Status() : no_access());
  return StatusCode::kInProgress;
}

Result<std::size_t> LoopbackDriver::post_get(ConnectionId id, Segment memory,
                                             const ExposureToken& token, std::uint64_t offset,
                                             void* context) {
  if (!caps().one_sided) {
    return Status(StatusCode::kInvalidArgument, "the loopback fabric shares no memory");
  }
  const Lock lock(network_->state_->mutex);
  Status status = may_write(id);
  if (!status.ok()) return status;
  const std::size_t bytes = std::min(memory.size, caps().nearest().max_write_bytes);
  const std::byte* const from = shared_at(*port_->connections[id].peer, token, offset, bytes);
  if (from != nullptr) std::memcpy(memory.data, from, bytes);
  push_written(id, context, from != nullptr ? Status() : no_access());
  return bytes;
}

Status LoopbackDriver::read_offered(ConnectionId id, std::uint64_t address, std::uint64_t bytes,
                                    ScatteredMemory& memory) {
  const Lock lock(network_->state_->mutex);
  const Connection& connection = port_->connections[id];
  if (connection.state == Connection::State::kGone) return connection.gone;
  if (bytes > caps().nearest().most_offered) {
    return {StatusCode::kInvalidArgument, "more than the loopback fabric reads"};
  }
  const auto* from = reinterpret_cast<const std::byte*>(address);
  for (std::uint64_t done = 0; done < bytes;) {
    Segment run;
    if (memory.runs(done, bytes - done, &run, 1) == 0) {
      return {StatusCode::kInvalidArgument, "memory that lists no runs"};
    }
    std::memcpy(run.data, from + done, run.size);
    done += run.size;
  }
  return {};
}

Status LoopbackDriver::place_rest(ConnectionId id, ScatteredMemory& memory, std::uint64_t first) {
  const Lock lock(network_->state_->mutex);
  LoopbackPieces& pieces = port_->pieces;
  const std::size_t whole = caps().nearest().piece_bytes;
  if (pieces.given == 0 || pieces.given != whole || pieces.memory != nullptr) {
    return StatusCode::kAgain;
  }
  if (port_->inbox.front().connection != id || port_->connections[id].left) {
    return StatusCode::kAgain;
  }
  pieces.memory = &memory;
  pieces.first = first;
  return {};
}

std::size_t LoopbackDriver::poll(Completion* out, std::size_t capacity) {
  return port_->signal.load(std::memory_order_acquire) ? take_news(out, capacity) : 0;
}

std::size_t LoopbackDriver::take_news(Completion* out, std::size_t capacity) {
  const Lock lock(network_->state_->mutex);
  LoopbackPort& port = *port_;
  for (const std::vector<std::byte>& from : port.requests) {
    const auto peer = network_->state_->ports.find(from);
    if (!port.alive || peer == network_->state_->ports.end()) continue;
    ConnectionId their_id = 0;
    Connection* theirs = peer->second->find(port.address, &their_id);
    // Connected meanwhile, by a request in the other direction, or withdrawn.
    if (!theirs || theirs->state != Connection::State::kConnecting) continue;
    ConnectionId id = 0;
    if (!port.find(from, &id)) id = port.add_connection(from);
    Connection& ours = port.connections[id];
    ours.state = theirs->state = Connection::State::kConnected;
    ours.peer = peer->second;
    ours.peer_id = their_id;
    theirs->peer = port_;
    theirs->peer_id = id;
    Completion connected;
    connected.kind = Completion::Kind::kConnected;
    connected.connection = id;
    port.push(connected);
    connected.connection = their_id;
    peer->second->push(connected);
  }
  port.requests.clear();

  std::size_t count = 0;
  const std::size_t piece = network_->cut_bytes_;
  while (count < capacity && !port.inbox.empty()) {
    Completion& next = out[count++];
    if (piece > 0 && port.inbox.front().kind == Completion::Kind::kReceived) {
      next = port.take_piece(piece);
      if (next.rest > 0) break;  // what follows waits for what the caller makes of it
      continue;
    }
    next = port.inbox.pop();
    if (next.kind == Completion::Kind::kSent || next.kind == Completion::Kind::kWritten) {
      --port.own_posts;
    }
  }
  port.signal.store(!port.inbox.empty(), std::memory_order_relaxed);
  return count;
}

Status LoopbackDriver::watch(std::vector<pollfd>* /*out*/) {
  if (port_->signal.load(std::memory_order_acquire)) return StatusCode::kAgain;
  const Lock lock(network_->state_->mutex);
  return network_->state_->ports.size() == 1 ? StatusCode::kOk : StatusCode::kNotFound;
}

void LoopbackDriver::release(void* buffer) {
  const Lock lock(network_->state_->mutex);
  auto* released = static_cast<LoopbackBuffer*>(buffer);
  --port_->connections[released->connection].unreleased;
  port_->free_buffers.push_back(released);
}

void LoopbackDriver::disconnect(ConnectionId id) {
  const Lock lock(network_->state_->mutex);
  Connection& connection = port_->connections[id];
  const std::shared_ptr<LoopbackPort> peer = connection.peer;
  const ConnectionId peer_id = connection.peer_id;
  connection.left = true;
  port_->mark_gone(id, StatusCode::kClosed);
  if (port_->pieces.given > 0 && port_->inbox.front().connection == id) {
    port_->pieces.memory = nullptr;
  }
  if (!peer || peer == port_) return;
  peer->mark_gone(peer_id, StatusCode::kClosed);
  Completion news;
  news.kind = Completion::Kind::kDisconnected;
  news.connection = peer_id;
  news.status = StatusCode::kClosed;
  peer->push(news);
}

void LoopbackDriver::fail() {
  const Lock lock(network_->state_->mutex);
  if (!port_->alive) return;
  port_->alive = false;
  network_->state_->ports.erase(port_->address);
  const Status died(StatusCode::kPeerFailed, "the loopback engine died");
  for (ConnectionId id = 0; id < port_->connections.size(); ++id) {
    const std::shared_ptr<LoopbackPort> peer = port_->connections[id].peer;
    const ConnectionId peer_id = port_->connections[id].peer_id;
    port_->mark_gone(id, died);
    if (!peer || peer == port_) continue;
    peer->mark_gone(peer_id, died);
    Completion news;
    news.kind = Completion::Kind::kDisconnected;
    news.connection = peer_id;
    news.status = died;
    peer->push(news);
  }
  // Engines whose request nobody will answer any more.
  for (const std::vector<std::byte>& from : port_->requests) {
    const auto peer = network_->state_->ports.find(from);
    if (peer == network_->state_->ports.end()) continue;
    Completion news;
    if (!peer->second->find(port_->address, &news.connection)) continue;
    news.kind = Completion::Kind::kDisconnected;
    news.status = Status(StatusCode::kUnreachable, "the loopback engine at this address is gone");
    peer->second->mark_gone(news.connection, news.status);
    peer->second->push(news);
  }
  port_->requests.clear();
}

std::size_t LoopbackDriver::buffers() const {
  const Lock lock(network_->state_->mutex);
  return port_->buffers.size();
}

}  // namespace mad
