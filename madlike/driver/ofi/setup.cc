// How connections come and end.
//
// Both sides may ask for a connection at the same time.  Then the request of the engine with the
// smaller address stands: that engine refuses the other's request (kCrossing), and the other one
// accepts and drops its own.  No packet is posted before the connection stands, so none is lost.
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <exception>
#include <random>
#include <thread>

#include "madlike/driver/ofi/address.h"
#include "madlike/driver/ofi/driver.h"
#include "madlike/driver/ofi/status.h"

namespace mad {
namespace {

constexpr std::size_t kInjectLimit = 512;  // what post_inject() can gather
constexpr std::size_t kIovLimit = 64;      // what post.cc has room for

bool settled(OfiConnection::State state) {
  return state == OfiConnection::State::kConnected || state == OfiConnection::State::kGone;
}

}  // namespace

OfiDriver::OfiDriver(const OfiOptions& options, std::unique_ptr<OfiFabric> fabric,
                     std::uint64_t seed)
    : options_(options),
      fabric_(std::move(fabric)),
      random_(seed),
      incarnation_(next_random(random_)),
      receives_(options.receive_buffers, options.max_packet_bytes),
      exposures_(next_random(random_)) {
  const fi_info& info = fabric_->info();
  caps_.name = "ofi:" + options.provider;
  caps_.max_iov = std::min(info.tx_attr->iov_limit, kIovLimit);
  caps_.max_packet_bytes = std::min(options.max_packet_bytes, info.ep_attr->max_msg_size);
  caps_.inject_bytes = std::min({info.tx_attr->inject_size, caps_.max_packet_bytes, kInjectLimit});
  caps_.remote_write = true;
  caps_.max_write_iov = caps_.max_iov;
  // A connection carries one thing at a time: a longer write would keep small packets waiting.
  caps_.max_write_bytes = std::min<std::size_t>(info.ep_attr->max_msg_size, 1024 * 1024);
  receives_.replenish(fabric_->receives(), endpoints_.size());
}

OfiDriver::~OfiDriver() {
  linger();
  for (OfiConnection& connection : connections_) close_endpoint(connection);
  read_events();  // requests that nobody will answer any more
  for (Event& event : events_) {
    if (event.request) fi_reject(fabric_->listener(), event.request->handle, nullptr, 0);
  }
}

Result<std::unique_ptr<Driver>> open_ofi(const OfiOptions& options) {
  if (options.receive_buffers == 0 || options.max_packet_bytes < 256) {
    return Status(StatusCode::kInvalidArgument, "ofi: too few or too small receive buffers");
  }
  Result<std::unique_ptr<OfiFabric>> fabric = OfiFabric::open(options);
  if (!fabric.ok()) return fabric.status();
  try {
    std::random_device device;
    const std::uint64_t seed = (std::uint64_t{device()} << 32) | device();
    return std::unique_ptr<Driver>(std::make_unique<OfiDriver>(options, std::move(*fabric), seed));
  } catch (const std::exception& error) {
    return Status(StatusCode::kNoMemory, std::string("opening ofi: ") + error.what());
  }
}

const std::vector<std::byte>& OfiDriver::peer_address(ConnectionId connection) const {
  return connections_[connection].address;
}

void OfiDriver::set_state(OfiConnection& connection, State state) {
  if (!settled(connection.state)) --unsettled_;
  if (!settled(state)) ++unsettled_;
  connection.state = state;
}

OfiConnection& OfiDriver::add_connection(std::vector<std::byte> address) {
  const auto id = static_cast<ConnectionId>(connections_.size());
  live_[address] = id;
  connections_.emplace_back(id, std::move(address), next_random(random_));
  ++unsettled_;  // kConnecting
  return connections_.back();
}

Result<ConnectionId> OfiDriver::connect(const std::byte* address, std::size_t size) {
  Result<std::vector<std::byte>> peer = to_address(address, size);
  if (!peer.ok()) return peer.status();
  if (peer->size() != fabric_->address().size()) {
    return Status(
        StatusCode::kInvalidArgument,
        to_text(*peer) + " is of another address family than " + to_text(this->address()));
  }
  if (*peer == this->address()) {
    return Status(StatusCode::kInvalidArgument, "an engine does not connect to itself over ofi");
  }
  const auto found = live_.find(*peer);
  if (found != live_.end()) {
    connections_[found->second].told = true;
    return found->second;
  }
  OfiConnection& connection = add_connection(std::move(*peer));
  connection.told = true;
  start_request(connection);
  return connection.id;
}

bool OfiDriver::attach_endpoint(OfiConnection& connection, fi_info* request) {
  // Events of an endpoint closed before must not be taken for those of a new one at the same place.
  read_events();
  Result<FidPtr<fid_ep>> endpoint = fabric_->open_endpoint(request);
  if (!endpoint.ok()) {
    end_soon(connection.id, endpoint.status());
    return false;
  }
  connection.endpoint = std::move(*endpoint);
  ++connection.endpoints_opened;
  endpoints_[&connection.endpoint->fid] = connection.id;
  return true;
}

void OfiDriver::start_request(OfiConnection& connection) {
  set_state(connection, State::kConnecting);
  connection.deadline = Clock::now() + options_.connect_timeout;
  if (!attach_endpoint(connection, nullptr)) return;
  Greeting greeting;
  greeting.kind = Greeting::Kind::kRequest;
  greeting.incarnation = incarnation_;
  greeting.sequence = next_sequence_++;
  greeting.tag = connection.tag;
  greeting.address = fabric_->address();
  const std::vector<std::byte> data = greeting.pack();
  const int error =
      fi_connect(connection.endpoint.get(), connection.address.data(), data.data(), data.size());
  if (error != 0) {
    end_soon(connection.id, ofi_status(StatusCode::kUnreachable,
                                       "connecting to " + to_text(connection.address), error));
  }
}

void OfiDriver::refuse(fi_info* request, Greeting::Kind why) {
  Greeting greeting;
  greeting.kind = why;
  const std::vector<std::byte> data = greeting.pack();
  fi_reject(fabric_->listener(), request->handle, data.data(), data.size());
}

void OfiDriver::accept(OfiConnection& connection, const Greeting& greeting, InfoPtr request) {
  connection.peer_tag = greeting.tag;
  connection.peer_incarnation = greeting.incarnation;
  connection.peer_sequence = greeting.sequence;
  set_state(connection, State::kAccepting);
  connection.deadline = Clock::now() + options_.connect_timeout;
  if (!attach_endpoint(connection, request.get())) {
    refuse(request.get(), Greeting::Kind::kForeign);
    return;
  }
  Greeting answer;
  answer.kind = Greeting::Kind::kAcceptance;
  answer.incarnation = incarnation_;
  answer.sequence = next_sequence_++;
  answer.tag = connection.tag;
  const std::vector<std::byte> data = answer.pack();
  const int error = fi_accept(connection.endpoint.get(), data.data(), data.size());
  if (error != 0) {
    end_soon(connection.id, ofi_status(StatusCode::kPeerFailed,
                                       "accepting " + to_text(connection.address), error));
  }
}

void OfiDriver::close_endpoint(OfiConnection& connection) {
  if (!connection.endpoint) return;
  endpoints_.erase(&connection.endpoint->fid);
  // Closing is enough for the peer to notice.  No fi_shutdown() before: sockets 1.17 closes its
  // connection socket there and its connection thread closes the same number again, which may be
  // another one's by then (sock_ep_msg.c, sock_ep_cm_shutdown() and sock_ep_cm_shutdown_handler()).
  connection.endpoint.reset();
}

void OfiDriver::disconnect(ConnectionId id) {
  OfiConnection& connection = connections_[id];
  if (connection.state == State::kGone || connection.state == State::kClosing) return;
  const auto found = live_.find(connection.address);
  if (found != live_.end() && found->second == id) live_.erase(found);
  const bool stands = connection.state == State::kConnected;
  const bool accepting = connection.state == State::kAccepting;
  connection.gone = Status(StatusCode::kClosed, "this connection was disconnected");
  set_state(connection, State::kClosing);
  connection.deadline = Clock::now() + options_.close_timeout;
  if (connection.exposed > 0) {
    // A write may have come in half.  The provider looked at its key when it began and would go on
    // with it after withdraw(), for as long as this connection stands.
    close_endpoint(connection);
    end_soon(id, connection.gone);
  } else if (stands) {
    post_last(connection);
  } else if (!accepting) {
    // Nothing was accepted: the request is withdrawn.
    end_soon(id, StatusCode::kClosed);
  }
}

void OfiDriver::post_last(OfiConnection& connection) {
  OfiOperation* operation = connection.take_operation(OfiOperation::Kind::kLast, nullptr);
  if (!operation) return;  // cannot be: one record is kept for it
  std::uint64_t nothing = 0;
  iovec iov{&nothing, sizeof(nothing)};
  fi_msg message{};
  message.msg_iov = &iov;
  message.iov_count = 1;
  message.context = static_cast<OfiContext*>(operation);
  message.data = connection.peer_tag | OfiTag::kLast;
  const ssize_t error = fi_sendmsg(connection.endpoint.get(), &message,
                                   FI_COMPLETION | FI_INJECT | FI_REMOTE_CQ_DATA);
  connection.last_posted = error == 0;
  if (error == 0) return;
  connection.free_operation(operation);
  if (error != -FI_EAGAIN) end_soon(connection.id, StatusCode::kClosed);
}

void OfiDriver::end_soon(ConnectionId connection, Status why) {
  ending_.emplace_back(connection, std::move(why));
}

void OfiDriver::end_all_due() {
  // end() may find more connections that end.
  while (!ending_.empty()) {
    const auto [id, why] = ending_.back();
    ending_.pop_back();
    end(connections_[id], why);
  }
}

void OfiDriver::end(OfiConnection& connection, Status why) {
  if (connection.state == State::kGone) return;
  close_endpoint(connection);
  // What came before the end is told before it; the provider gives back its operations as failed.
  drain_completions();
  if (connection.peer_finished) why = Status(StatusCode::kClosed, "the peer disconnected");
  for (OfiOperation& operation : connection.operations) {
    if (!operation.busy) continue;
    Completion completion;
    if (finish(&operation, why, &completion)) news_.push_back(std::move(completion));
  }
  const auto found = live_.find(connection.address);
  if (found != live_.end() && found->second == connection.id) live_.erase(found);
  if (connection.state != State::kClosing) {
    connection.gone = why;
    if (connection.told) tell(connection, Completion::Kind::kDisconnected, why);
  }
  set_state(connection, State::kGone);
}

void OfiDriver::tell(OfiConnection& connection, Completion::Kind kind, const Status& status) {
  connection.told = true;
  Completion news;
  news.kind = kind;
  news.connection = connection.id;
  news.status = status;
  news_.push_back(std::move(news));
}

void OfiDriver::check_deadlines() {
  const Clock::time_point now = Clock::now();
  for (OfiConnection& connection : connections_) {
    if (settled(connection.state)) continue;
    if (connection.state == State::kClosing && !connection.last_posted && connection.endpoint &&
        connection.peer_tag != 0) {
      post_last(connection);  // the queue was full before
    }
    if (now >= connection.deadline) on_deadline(connection, now);
  }
}

void OfiDriver::on_deadline(OfiConnection& connection, Clock::time_point now) {
  switch (connection.state) {
    case State::kConnecting: {
      sockaddr_storage peer;
      std::size_t size = sizeof(peer);
      if (fi_getpeer(connection.endpoint.get(), &peer, &size) == 0) {
        connection.deadline = now + options_.connect_timeout;  // it answered, its engine is busy
      } else {
        end_soon(connection.id, Status(StatusCode::kUnreachable,
                                       to_text(connection.address) + " does not answer"));
      }
      return;
    }
    case State::kAwaiting:
      start_request(connection);
      return;
    case State::kAccepting:
      end_soon(connection.id,
               Status(StatusCode::kPeerFailed,
                      to_text(connection.address) + " asked for a connection and gave up"));
      return;
    case State::kClosing:
      end_soon(connection.id, connection.gone);
      return;
    case State::kConnected:
    case State::kGone:
      return;
  }
}

void OfiDriver::linger() {
  const Clock::time_point deadline = Clock::now() + options_.linger;
  std::size_t closing = 0;
  do {
    slow_progress();
    drain_completions();
    for (Completion& news : news_) {
      if (news.kind == Completion::Kind::kReceived) release(news.buffer);
    }
    news_.clear();
    receives_.replenish(fabric_->receives(), endpoints_.size());
    closing = 0;
    for (const OfiConnection& connection : connections_) {
      if (connection.state == State::kClosing) ++closing;
    }
    if (closing > 0) std::this_thread::yield();
  } while (closing > 0 && Clock::now() < deadline);
}

}  // namespace mad
