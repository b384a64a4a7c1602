#include "madlike/message/messenger.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "madlike/message/core.h"
#include "madlike/message/peers.h"
#include "madlike/message/progress.h"
#include "madlike/message/receiver.h"
#include "madlike/message/sender.h"
#include "madlike/message/wire.h"

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxHeaderBytes = 32 * 1024;
constexpr std::chrono::microseconds kMoment{20};
// Drivers have deadlines of their own, of a connection under way for instance.
constexpr std::chrono::microseconds kLongestSleep{10000};
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace

class Messenger::Impl {
 public:
  Impl(const MessengerConfig& config, MessageEvents& events,
       std::vector<std::unique_ptr<Driver>> drivers);

  /// Whether contact() has nothing to do.
  bool in_contact(const Endpoint& peer) const {
    return !closed_ && peer.state.live() && peer.state.has_connection() && !peer.state.refused();
  }
  Status contact(Endpoint& peer);
  std::size_t progress() { return progress_.turn(); }
  bool take_from(Endpoint& from, bool waits) { return progress_.take_from(from, waits); }
  bool take_from_any(bool waits) { return progress_.take_from_any(waits); }
  void wait(std::chrono::microseconds longest);
  bool idle() const { return core_.messages == 0 && flushed(); }
  bool flushed() const { return core_.waiting == 0 && core_.posts == 0; }
  bool arrived() const;
  Status close(int timeout_ms);

  Peers& peers() { return peers_; }

  Core& core() { return core_; }
  Sender& sender() { return sender_; }
  Receiver& receiver() { return receiver_; }
  std::size_t max_header_bytes() const { return max_header_bytes_; }

 private:
  template <typename Done>
  bool progress_until(Clock::time_point deadline, Done done);
  bool goodbyes_left() const;

  Core core_;
  Sender sender_{core_};
  Receiver receiver_{core_, sender_};
  Peers peers_;  // ends before the packets that its drivers hold
  Progress progress_{core_, peers_, sender_, receiver_};
  std::size_t max_header_bytes_ = kMaxHeaderBytes;
  std::vector<pollfd> watched_;
  bool closed_ = false;
};

Messenger::Impl::Impl(const MessengerConfig& config, MessageEvents& events,
                      std::vector<std::unique_ptr<Driver>> drivers)
    : core_(config, events), peers_(core_, std::move(drivers)) {
  for (std::size_t i = 0; i < peers_.fabrics(); ++i) {
    for (const LinkCaps& link : peers_.driver(i).caps().links) {
      std::size_t room = std::min(link.max_packet_bytes, core_.packets.packet_bytes());
      if (link.piece_bytes > 0) room = std::min(room, link.piece_bytes);  // a header comes whole
      max_header_bytes_ = std::min(max_header_bytes_, (room - kFrameBytes) & ~std::size_t{7});
    }
  }
}

template <typename Done>
bool Messenger::Impl::progress_until(Clock::time_point deadline, Done done) {
  for (;;) {
    if (done()) return true;
    const std::size_t moved = progress();
    if (done()) return true;
    if (Clock::now() >= deadline) return false;
    if (moved == 0) std::this_thread::yield();
  }
}

void Messenger::Impl::wait(std::chrono::microseconds longest) {
  if (progress_.has_work()) return;
  longest = std::min(longest, kLongestSleep);
  watched_.clear();
  for (std::size_t i = 0; i < peers_.fabrics(); ++i) {
    const Status status = peers_.driver(i).watch(&watched_);
    if (status.again()) return;
    if (!status.ok()) return std::this_thread::sleep_for(std::min(longest, kMoment));
  }
  const auto nanoseconds = std::chrono::nanoseconds(longest).count();
  const timespec at_most{nanoseconds / kNanosecondsPerSecond, nanoseconds % kNanosecondsPerSecond};
  (void)ppoll(watched_.data(), watched_.size(), &at_most, nullptr);  // progress() finds out why
}

Status Messenger::Impl::contact(Endpoint& peer) {
  if (closed_) return {StatusCode::kClosed, "this engine was closed"};
  return peers_.contact(peer);
}

bool Messenger::Impl::arrived() const {
  const auto& peers = peers_.all();
  return std::all_of(peers.begin(), peers.end(), [](const Endpoint& peer) {
    return !peer.state.live() || !peer.state.has_connection() ||
           peer.driver->arrived(peer.state.connection());
  });
}

bool Messenger::Impl::goodbyes_left() const {
  for (const Endpoint& endpoint : peers_.all()) {
    if (!endpoint.state.live() || !endpoint.state.leaving() || endpoint.state.refused()) continue;
    if (!endpoint.state.said_goodbye() || endpoint.packets.posts > 0) return false;
  }
  return true;
}

// A quarter of the time is kept for the goodbyes of peers that take nothing else any more.
Status Messenger::Impl::close(int timeout_ms) {
  if (closed_) return {};
  const auto start = Clock::now();
  const auto timeout = std::chrono::milliseconds(std::max(timeout_ms, 0));
  bool left = progress_until(start + timeout * 3 / 4, [this] { return idle(); });
  for (Endpoint& endpoint : peers_.all()) {
    if (!endpoint.state.live() || !endpoint.state.said_hello()) continue;
    endpoint.state.set_leaving();
    core_.activate(endpoint);
  }
  left = progress_until(start + timeout, [this] { return goodbyes_left(); }) && left;
  closed_ = true;
  for (Endpoint& endpoint : peers_.all()) {
    if (endpoint.state.has_connection() || endpoint.attempts.waits) {
      core_.end(endpoint, {StatusCode::kClosed, "this engine was closed"});
    }
  }
  left = progress_until(start + timeout, [this] { return progress_.ends_told(); }) && left;
  if (left) return {};
  return {StatusCode::kUnreachable, "not everything left within " + std::to_string(timeout_ms) +
                                        " ms; peers may see an engine that died"};
}

Messenger::Messenger(const MessengerConfig& config, MessageEvents& events,
                     std::vector<std::unique_ptr<Driver>> drivers)
    : impl_(std::make_unique<Impl>(config, events, std::move(drivers))) {}

Messenger::~Messenger() = default;

Result<Endpoint*> Messenger::connect(std::vector<Route> routes) {
  return impl_->peers().find(std::move(routes));
}

Driver& Messenger::driver(std::size_t index) { return impl_->peers().driver(index); }

void Messenger::release(Endpoint& peer) { impl_->peers().release(peer); }

void Messenger::reject(Endpoint& peer, const Status& why) { impl_->core().end(peer, why); }

Status Messenger::touch(Endpoint& peer) { return impl_->contact(peer); }

std::size_t Messenger::max_header_bytes() const { return impl_->max_header_bytes(); }

Status Messenger::send_header(Endpoint& to, std::uint8_t handler, Segment header) {
  if (header.size > max_header_bytes()) {
    return {StatusCode::kInvalidArgument, "the message header is too long"};
  }
  if (!impl_->in_contact(to)) {
    Status status = impl_->contact(to);
    if (!status.ok()) return status;
  }
  return impl_->sender().send_header(to, handler, header);
}

Status Messenger::send(Endpoint& to, std::uint8_t handler, Segment header,
                       OutgoingMessage& message) {
  if (header.size > max_header_bytes()) {
    return {StatusCode::kInvalidArgument, "the message header is too long"};
  }
  if (!impl_->in_contact(to)) {
    Status status = impl_->contact(to);
    if (!status.ok()) return status;
  }
  return impl_->sender().send(to, handler, header, message);
}

std::size_t Messenger::max_at_once(const Endpoint& to, bool one_run) {
  const std::size_t most = to.link.lent_bytes;
  return one_run && to.link.most_offered > 0 ? std::min(most, to.link.offered_from) : most;
}

std::size_t Messenger::max_short(const Endpoint& to, bool one_run) {
  return to.link.lent_bytes > 0 ? max_at_once(to, one_run) : to.link.short_bytes;
}

bool Messenger::is_lent(const Endpoint& to) { return to.link.lent_bytes > 0; }

bool Messenger::waits_for_credit(const Endpoint& to, std::uint64_t bytes) {
  return bytes <= to.link.lent_bytes && to.state.may_send() && to.credit.is_short_of(bytes);
}

Status Messenger::send_at_once(Endpoint& to, std::uint8_t handler, Segment header,
                               PayloadSource& source, std::uint64_t payload_bytes,
                               std::uint64_t run_bytes) {
  return impl_->sender().send_at_once(to, handler, header, source, payload_bytes, run_bytes);
}

bool Messenger::send_short(Endpoint& to, const TaggedHeader& header, Segment payload) {
  return impl_->sender().send_short(to, header, payload);
}

bool Messenger::send_short(Endpoint& to, const TaggedHeader& header, const WholePayload& payload) {
  return impl_->sender().send_short(to, header, payload);
}

bool Messenger::is_one_sided(const Endpoint& peer) {
  return peer.state.may_send() && !peer.foreign && peer.driver->caps().one_sided;
}

Status Messenger::put(Endpoint& to, const ExposureToken& memory, std::uint64_t offset,
                      OutgoingMessage& put) {
  return impl_->sender().access(to, memory, offset, nullptr, put);
}

Status Messenger::get(Endpoint& from, const ExposureToken& memory, std::uint64_t offset,
                      Segment into, OutgoingMessage& get) {
  get.payload_bytes = into.size;
  return impl_->sender().access(from, memory, offset, into.begin(), get);
}

Status Messenger::accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes,
                         void* context) {
  return impl_->receiver().accept(message, sink, bytes, context);
}

void Messenger::discard(IncomingMessage& message) { impl_->receiver().discard(message); }

std::size_t Messenger::progress() { return impl_->progress(); }

bool Messenger::take_from(Endpoint& from, bool waits) { return impl_->take_from(from, waits); }

bool Messenger::take_from_any(bool waits) { return impl_->take_from_any(waits); }

void Messenger::wait(std::chrono::microseconds longest) { impl_->wait(longest); }

bool Messenger::idle() const { return impl_->idle(); }

bool Messenger::flushed() const { return impl_->flushed(); }

bool Messenger::arrived() const { return impl_->arrived(); }

Status Messenger::close(int timeout_ms) { return impl_->close(timeout_ms); }

const MessageCounters& Messenger::counters() const { return impl_->core().counters; }

void set_user_data(Endpoint& endpoint, void* data) { endpoint.user_data = data; }
void* user_data(const Endpoint& endpoint) { return endpoint.user_data; }
const Route& route(const Endpoint& endpoint) { return endpoint.route(); }
const LinkCaps& link(const Endpoint& endpoint) { return endpoint.link; }
bool is_foreign(const Endpoint& endpoint) { return endpoint.foreign; }
Segment foreign_greeting(const Endpoint& endpoint) {
  auto& bytes = const_cast<Endpoint&>(endpoint).greeting.bytes;  // only read
  return {bytes.data(), endpoint.greeting.size};
}

Segment payload_here(const IncomingMessage& message) {
  return message.readable() ? message.head : Segment();
}

}  // namespace mad
