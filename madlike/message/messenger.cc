#include "madlike/message/messenger.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "madlike/message/core.h"
#include "madlike/message/receiver.h"
#include "madlike/message/sender.h"
#include "madlike/message/wire.h"

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 32;           // completions taken by one poll
constexpr int kPollsPerDriver = 4;           // in one progress()
constexpr std::uint32_t kQuietPolls = 1000;  // a driver that refused posts has them to say why
constexpr std::size_t kMaxHeaderBytes = 32 * 1024;

Status gone_by(const Endpoint& endpoint, const Status& reported) {
  if (endpoint.goodbye_sent) return {StatusCode::kClosed, "the connection was closed"};
  if (reported.code() == StatusCode::kUnreachable) return reported;
  const std::string why = reported.ok() ? "without a reason" : std::string(reported.message());
  return {StatusCode::kPeerFailed, "the peer's connection ended without goodbye: " + why};
}

}  // namespace

class Messenger::Impl {
 public:
  Impl(const MessengerConfig& config, MessageEvents& events,
       std::vector<std::unique_ptr<Driver>> drivers);
  ~Impl();

  Result<Endpoint*> connect(std::size_t driver, const std::byte* address, std::size_t size);
  Status contact(Endpoint& peer);
  std::size_t progress();
  bool idle() const { return core_.messages == 0 && core_.waiting == 0 && core_.posts == 0; }
  Status close(int timeout_ms);
  Driver& driver(std::size_t index) { return *fabrics_[index].driver; }

  Core& core() { return core_; }
  Sender& sender() { return sender_; }
  Receiver& receiver() { return receiver_; }
  std::size_t max_header_bytes() const { return max_header_bytes_; }

 private:
  /// A driver and the endpoints reached by it.
  struct Fabric {
    std::unique_ptr<Driver> driver;
    std::map<std::vector<std::byte>, Endpoint*> by_address;  // those that have not ended
    std::vector<Endpoint*> by_connection;
    bool drained = false;  // the last poll took everything there was
  };

  Endpoint& add_endpoint(std::size_t fabric, std::vector<std::byte> address);
  void bind(Endpoint& endpoint, ConnectionId connection);
  Endpoint* endpoint_of(std::size_t fabric, ConnectionId connection, bool create);
  std::size_t poll(std::size_t fabric);
  void handle(std::size_t fabric, const Completion& completion);
  void received(std::size_t fabric, const Completion& completion);
  void pump_active();
  void deliver_sent();
  void check_refused();
  void carry_out_ends();
  void carry_out_end(Endpoint& endpoint);
  void tell_gone();
  template <typename Done>
  bool progress_until(Clock::time_point deadline, Done done);
  bool goodbyes_left() const;

  Core core_;
  Sender sender_{core_};
  Receiver receiver_{core_, sender_};
  std::deque<Endpoint> endpoints_;
  std::vector<Fabric> fabrics_;
  std::vector<Endpoint*> gone_;  // on_peer_gone() is still to be called
  std::array<Completion, kBatch> batch_;
  std::size_t max_header_bytes_ = kMaxHeaderBytes;
  std::size_t first_active_ = 0;
};

Messenger::Impl::Impl(const MessengerConfig& config, MessageEvents& events,
                      std::vector<std::unique_ptr<Driver>> drivers)
    : core_(config, events) {
  for (auto& driver : drivers) {
    const DriverCaps& caps = driver->caps();
    const std::size_t room = std::min(caps.max_packet_bytes, core_.packets.packet_bytes());
    max_header_bytes_ = std::min(max_header_bytes_, (room - kFrameBytes) & ~std::size_t{7});
    Fabric fabric;
    fabric.driver = std::move(driver);
    fabrics_.push_back(std::move(fabric));
  }
}

// The drivers go first: until then they may hold packets.
Messenger::Impl::~Impl() { fabrics_.clear(); }

Endpoint& Messenger::Impl::add_endpoint(std::size_t fabric, std::vector<std::byte> address) {
  Driver* const driver = fabrics_[fabric].driver.get();
  endpoints_.emplace_back(fabric, driver, address);
  Endpoint& endpoint = endpoints_.back();
  fabrics_[fabric].by_address[std::move(address)] = &endpoint;
  return endpoint;
}

Result<Endpoint*> Messenger::Impl::connect(std::size_t fabric, const std::byte* address,
                                           std::size_t size) {
  if (fabric >= fabrics_.size() || size == 0 || size > kMaxAddressBytes) {
    return Status(StatusCode::kInvalidArgument, "no driver has an address like this");
  }
  std::vector<std::byte> key(address, address + size);
  const auto known = fabrics_[fabric].by_address.find(key);
  if (known != fabrics_[fabric].by_address.end()) return known->second;
  return &add_endpoint(fabric, std::move(key));
}

void Messenger::Impl::bind(Endpoint& endpoint, ConnectionId connection) {
  auto& by_connection = fabrics_[endpoint.driver_index].by_connection;
  if (connection >= by_connection.size()) by_connection.resize(connection + 1);
  by_connection[connection] = &endpoint;
  endpoint.has_connection = true;
  endpoint.connection = connection;
  core_.activate(endpoint);
}

Status Messenger::Impl::contact(Endpoint& peer) {
  if (!peer.live() || peer.post_failed) return peer.end;
  if (peer.has_connection) return {};
  auto connection = peer.driver->connect(peer.address.data(), peer.address.size());
  if (!connection.ok()) {
    core_.end(peer, connection.status());
    return connection.status();
  }
  bind(peer, *connection);
  return {};
}

// An engine that was restarted at the address of one whose end we have not seen yet is another
// endpoint.
Endpoint* Messenger::Impl::endpoint_of(std::size_t fabric, ConnectionId connection, bool create) {
  Fabric& of = fabrics_[fabric];
  if (connection < of.by_connection.size() && of.by_connection[connection] != nullptr) {
    return of.by_connection[connection];
  }
  if (!create) return nullptr;
  const std::vector<std::byte>& address = of.driver->peer_address(connection);
  const auto known = of.by_address.find(address);
  const bool unbound = known != of.by_address.end() && !known->second->has_connection;
  Endpoint& endpoint = unbound ? *known->second : add_endpoint(fabric, address);
  bind(endpoint, connection);
  return &endpoint;
}

std::size_t Messenger::Impl::progress() {
  std::size_t handled = 0;
  for (std::size_t fabric = 0; fabric < fabrics_.size(); ++fabric) handled += poll(fabric);
  deliver_sent();
  pump_active();
  if (!core_.refused.empty()) check_refused();
  if (!core_.ending.empty()) carry_out_ends();
  deliver_sent();
  if (!gone_.empty()) tell_gone();
  return handled;
}

std::size_t Messenger::Impl::poll(std::size_t fabric) {
  std::size_t handled = 0;
  for (int round = 0; round < kPollsPerDriver; ++round) {
    const std::size_t count = fabrics_[fabric].driver->poll(batch_.data(), batch_.size());
    for (std::size_t i = 0; i < count; ++i) {
      handle(fabric, batch_[i]);
      if (!batch_[i].status.ok()) batch_[i].status = Status();
    }
    handled += count;
    fabrics_[fabric].drained = count < batch_.size();
    if (fabrics_[fabric].drained) break;
  }
  return handled;
}

void Messenger::Impl::handle(std::size_t fabric, const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::kSent:
    case Completion::Kind::kWritten: {
      auto* const packet = static_cast<OutgoingPacket*>(completion.context);
      sender_.posted(*packet, completion.status);
      return;
    }
    case Completion::Kind::kReceived:
      return received(fabric, completion);
    case Completion::Kind::kConnected:
      (void)endpoint_of(fabric, completion.connection, true);
      return;
    case Completion::Kind::kDisconnected: {
      Endpoint* const endpoint = endpoint_of(fabric, completion.connection, false);
      if (endpoint != nullptr) core_.end(*endpoint, gone_by(*endpoint, completion.status));
      return;
    }
  }
}

void Messenger::Impl::received(std::size_t fabric, const Completion& completion) {
  Endpoint* const from = endpoint_of(fabric, completion.connection, true);
  if (from->live()) return receiver_.packet(*from, completion.bytes, completion.buffer);
  from->driver->release(completion.buffer);
}

// Starts with another endpoint each time, so that all get their share of the packets.
void Messenger::Impl::pump_active() {
  auto& active = core_.active;
  if (active.empty()) return;
  const std::size_t count = active.size();
  first_active_ = (first_active_ + 1) % count;
  for (std::size_t i = 0; i < count; ++i) sender_.pump(*active[(first_active_ + i) % count]);
  const auto rested = [this](Endpoint* endpoint) {
    if (sender_.has_work(*endpoint)) return false;
    endpoint->active = false;
    return true;
  };
  active.erase(std::remove_if(active.begin(), active.end(), rested), active.end());
}

void Messenger::Impl::deliver_sent() {
  while (!core_.finished.empty()) {
    OutgoingMessage& message = *core_.finished.pop();
    auto& state = state_of(message);
    const bool failed = state.phase == OutgoingPhase::kFailed;
    const Status status = failed ? state.endpoint->end : Status();
    state.phase = OutgoingPhase::kNone;
    --core_.messages;
    core_.events.on_sent(message, status);
  }
}

// A driver that refuses posts says kDisconnected soon, after what arrived before.  One that does
// not is not waited for.
void Messenger::Impl::check_refused() {
  const auto settled = [this](Endpoint* endpoint) {
    if (!endpoint->live()) return true;
    if (!fabrics_[endpoint->driver_index].drained) return false;
    if (++endpoint->quiet_polls < kQuietPolls) return false;
    core_.end(*endpoint, gone_by(*endpoint, endpoint->end));
    return true;
  };
  auto& refused = core_.refused;
  refused.erase(std::remove_if(refused.begin(), refused.end(), settled), refused.end());
}

void Messenger::Impl::carry_out_ends() {
  for (std::size_t i = 0; i < core_.ending.size(); ++i) carry_out_end(*core_.ending[i]);
  core_.ending.clear();
}

void Messenger::Impl::carry_out_end(Endpoint& endpoint) {
  endpoint.life = Endpoint::Life::kGone;
  auto& by_address = fabrics_[endpoint.driver_index].by_address;
  const auto known = by_address.find(endpoint.address);
  if (known != by_address.end() && known->second == &endpoint) by_address.erase(known);
  sender_.abandon(endpoint);
  gone_.push_back(&endpoint);
  receiver_.abandon(endpoint);
  if (endpoint.has_connection) endpoint.driver->disconnect(endpoint.connection);
}

void Messenger::Impl::tell_gone() {
  for (std::size_t i = 0; i < gone_.size(); ++i) {
    Endpoint& endpoint = *gone_[i];
    if (endpoint.message_posts > 0 || !core_.finished.empty()) continue;
    endpoint.told_gone = true;
    core_.events.on_peer_gone(endpoint, endpoint.end);
  }
  const auto told = [](Endpoint* endpoint) { return endpoint->told_gone; };
  gone_.erase(std::remove_if(gone_.begin(), gone_.end(), told), gone_.end());
}

template <typename Done>
bool Messenger::Impl::progress_until(Clock::time_point deadline, Done done) {
  while (!done()) {
    if (Clock::now() >= deadline) return false;
    if (progress() == 0) std::this_thread::yield();
  }
  return true;
}

bool Messenger::Impl::goodbyes_left() const {
  for (const Endpoint& endpoint : endpoints_) {
    if (!endpoint.live() || !endpoint.leaving || endpoint.post_failed) continue;
    if (!endpoint.goodbye_sent || endpoint.posts > 0) return false;
  }
  return true;
}

Status Messenger::Impl::close(int timeout_ms) {
  const auto start = Clock::now();
  const auto timeout = std::chrono::milliseconds(std::max(timeout_ms, 0));
  bool left = progress_until(start + timeout * 3 / 4, [this] { return idle(); });
  for (Endpoint& endpoint : endpoints_) {
    if (!endpoint.live() || !endpoint.hello_sent) continue;
    endpoint.leaving = true;
    core_.activate(endpoint);
  }
  left = progress_until(start + timeout, [this] { return goodbyes_left(); }) && left;
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    core_.end(endpoints_[i], {StatusCode::kClosed, "this engine was closed"});
  }
  (void)progress();
  if (left) return {};
  return {StatusCode::kUnreachable, "not everything left within " + std::to_string(timeout_ms) +
                                        " ms; peers may see an engine that died"};
}

Messenger::Messenger(const MessengerConfig& config, MessageEvents& events,
                     std::vector<std::unique_ptr<Driver>> drivers)
    : impl_(std::make_unique<Impl>(config, events, std::move(drivers))) {}

Messenger::~Messenger() = default;

Result<Endpoint*> Messenger::connect(std::size_t driver, const std::byte* address,
                                     std::size_t size) {
  return impl_->connect(driver, address, size);
}

Driver& Messenger::driver(std::size_t index) { return impl_->driver(index); }

Status Messenger::touch(Endpoint& peer) { return impl_->contact(peer); }

std::size_t Messenger::max_header_bytes() const { return impl_->max_header_bytes(); }

Status Messenger::send_header(Endpoint& to, std::uint8_t handler, Segment header) {
  if (header.size > max_header_bytes()) {
    return {StatusCode::kInvalidArgument, "the message header is too long"};
  }
  Status status = impl_->contact(to);
  return status.ok() ? impl_->sender().send_header(to, handler, header) : status;
}

Status Messenger::send(Endpoint& to, std::uint8_t handler, Segment header,
                       OutgoingMessage& message) {
  if (message.payload_bytes == 0) return send_header(to, handler, header);
  if (header.size > max_header_bytes()) {
    return {StatusCode::kInvalidArgument, "the message header is too long"};
  }
  Status status = impl_->contact(to);
  return status.ok() ? impl_->sender().send(to, handler, header, message) : status;
}

Status Messenger::accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes,
                         void* context) {
  return impl_->receiver().accept(message, sink, bytes, context);
}

void Messenger::discard(IncomingMessage& message) { impl_->receiver().discard(message); }

std::size_t Messenger::progress() { return impl_->progress(); }

bool Messenger::idle() const { return impl_->idle(); }

Status Messenger::close(int timeout_ms) { return impl_->close(timeout_ms); }

const MessageCounters& Messenger::counters() const { return impl_->core().counters; }

void set_user_data(Endpoint& endpoint, void* data) { endpoint.user_data = data; }
void* user_data(const Endpoint& endpoint) { return endpoint.user_data; }
std::size_t driver_index(const Endpoint& endpoint) { return endpoint.driver_index; }
const std::vector<std::byte>& peer_address(const Endpoint& endpoint) { return endpoint.address; }

}  // namespace mad
