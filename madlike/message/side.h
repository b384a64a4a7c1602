// Side: one engine's messenger in a test, with a memory of everything that happened to it.
//
// Payloads are runs of bytes in the test's hands.  What a side does with an arriving message is the
// test's choice (`on_arrival`); by default it accepts all of it at once.
#ifndef MADLIKE_MESSAGE_SIDE_H_
#define MADLIKE_MESSAGE_SIDE_H_

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "madlike/base/copy_bytes.h"
#include "madlike/driver/loopback/loopback.h"
#include "madlike/message/messenger.h"
#include "tests/support/bytes.h"

namespace mad {

/// Pieces of at least `reference_from` bytes are referenced; no call appends more than `step`
/// bytes.
class BytesSource final : public PayloadSource {
 public:
  BytesSource(const Bytes& bytes, std::size_t reference_from, std::size_t step)
      : next_(bytes.data()), left_(bytes.size()), reference_from_(reference_from), step_(step) {}

  void fill(Packet& packet, std::uint64_t limit) override {
    std::size_t size = std::min<std::uint64_t>({limit, left_, step_});
    if (size >= reference_from_ && packet.can_reference()) {
      size = packet.reference({const_cast<std::byte*>(next_), size});
    } else {
      const Segment room = packet.staging_room();
      size = std::min(size, room.size);
      copy_bytes(room.data, next_, size);
      packet.stage(size);
    }
    next_ += size;
    left_ -= size;
  }

 private:
  const std::byte* next_;
  std::size_t left_, reference_from_, step_;
};

class BytesSink final : public PayloadSink {
 public:
  explicit BytesSink(std::size_t size, bool one_run = true) : bytes(size), one_run_(one_run) {}
  void place(std::uint64_t offset, Segment piece) override {
    ++places;
    if (offset > bytes.size() || piece.size > bytes.size() - offset) {
      overrun = true;
      return;
    }
    copy_bytes(bytes.data() + offset, piece.data, piece.size);
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    if (!one_run_ || offset + size > bytes.size()) return 0;
    *out = {bytes.data() + offset, static_cast<std::size_t>(size)};
    return 1;
  }

  Bytes bytes;
  int places = 0;
  bool overrun = false;

 private:
  bool one_run_;
};

/// A message on its way out, with its payload.
struct Sent : OutgoingMessage {
  Sent(Bytes its_bytes, std::size_t reference_from, std::size_t step)
      : bytes(std::move(its_bytes)), reader(bytes, reference_from, step) {
    source = &reader;
    payload_bytes = bytes.size();
    bytes.reserve(1);  // no payload has a place, too
    run = bytes.data();
  }
  Bytes bytes;
  BytesSource reader;
  bool started = false;
  int done = 0;  // how often the messenger said so
  Status status;
};

/// A message that arrived.
struct Arrived {
  Endpoint* from = nullptr;
  std::uint8_t handler = 0;
  std::string header;
  std::uint64_t payload_bytes = 0;
  IncomingMessage* message = nullptr;  // until accepted or discarded
  std::unique_ptr<BytesSink> sink;
  int done = 0;
  std::uint64_t received = 0;
  Status status;
};

class Side final : public MessageEvents {
 public:
  explicit Side(std::shared_ptr<LoopbackNetwork> network, const MessengerConfig& config = {})
      : Side(std::vector<std::shared_ptr<LoopbackNetwork>>{std::move(network)}, config) {}
  /// With a driver on each of the networks.
  explicit Side(const std::vector<std::shared_ptr<LoopbackNetwork>>& networks,
                const MessengerConfig& config = {}) {
    std::vector<std::unique_ptr<Driver>> drivers;
    for (const auto& network : networks) {
      drivers.push_back(std::make_unique<LoopbackDriver>(network));
    }
    start(std::move(drivers), config);
  }
  /// With these drivers on loopback networks.
  explicit Side(std::vector<std::unique_ptr<Driver>> drivers, const MessengerConfig& config = {}) {
    start(std::move(drivers), config);
  }

  Endpoint& to(const Side& other) { return *messenger->connect(other.routes).value(); }

  Status send_header(Endpoint& to, std::uint8_t handler, const std::string& text) {
    return messenger->send_header(to, handler, segment(text));
  }

  Sent& send(Endpoint& to, std::uint8_t handler, Bytes payload, const std::string& header = "") {
    sent.emplace_back(std::move(payload), reference_from, fill_step);
    Sent& message = sent.back();
    message.flush_bytes = flush_bytes;
    message.run_bytes = run_bytes;
    message.answered = answered;
    message.may_wait = may_wait;
    message.status = messenger->send(to, handler, segment(header), message);
    message.started = true;
    if (message.status.ok()) ++message.done;
    return message;
  }

  void accept(Arrived& arrived, std::uint64_t bytes) {
    arrived.sink = std::make_unique<BytesSink>(bytes, one_run);
    IncomingMessage& message = *std::exchange(arrived.message, nullptr);
    arrived.status = messenger->accept(message, *arrived.sink, bytes, &arrived);
    if (!arrived.status.ok()) return;
    ++arrived.done;
    arrived.received = std::min(bytes, arrived.payload_bytes);
  }
  void accept(Arrived& arrived) { accept(arrived, arrived.payload_bytes); }
  void discard(Arrived& arrived) { messenger->discard(*std::exchange(arrived.message, nullptr)); }

  bool all_sent() const {
    return std::all_of(sent.begin(), sent.end(), [](const Sent& s) { return s.done == 1; });
  }

  Status on_greeting(Endpoint& from, Segment greeting) override {
    if (on_foreign) return on_foreign(greeting);
    return MessageEvents::on_greeting(from, greeting);
  }
  bool take(Endpoint&, const TaggedHeader& header, Segment payload) override {
    return on_take && on_take(header, payload);
  }
  bool take_offered(Endpoint&, const TaggedHeader& header, std::uint64_t bytes,
                    OfferedPayload& payload) override {
    return on_take_offered && on_take_offered(header, bytes, payload);
  }
  void on_message(Endpoint& from, std::uint8_t handler, Segment header, std::uint64_t payload_bytes,
                  IncomingMessage* message) override {
    arrived.emplace_back();
    Arrived& a = arrived.back();
    a.from = &from;
    a.handler = handler;
    a.header.assign(static_cast<const char*>(header.data), header.size);
    a.payload_bytes = payload_bytes;
    a.message = message;
    misaligned = misaligned || reinterpret_cast<std::uintptr_t>(header.data) % 8 != 0;
    if (on_arrival) {
      on_arrival(a);
    } else if (message != nullptr) {
      accept(a);
    }
  }
  void on_sent(OutgoingMessage& message, const Status& status) override {
    auto& s = static_cast<Sent&>(message);
    ++s.done;
    s.status = status;
    if (on_left) on_left(s);
  }
  void on_received(void* context, std::uint64_t bytes, const Status& status) override {
    auto& a = *static_cast<Arrived*>(context);
    ++a.done;
    a.received = bytes;
    a.status = status;
    if (on_complete) on_complete(a);
  }
  void on_peer_gone(Endpoint& peer, const Status& status) override {
    gone.emplace_back(&peer, status);
  }

  std::size_t reference_from = 1024;  // of payloads sent from now on
  std::size_t fill_step = 1024 * 1024;
  std::uint64_t flush_bytes = 0;
  std::uint64_t run_bytes = UINT64_MAX;
  bool answered = false;  // of tagged messages sent from now on
  bool may_wait = false;  // messages sent from now on
  bool one_run = true;    // whether memory accepted into is one run
  std::function<Status(Segment greeting)> on_foreign;
  std::function<bool(const TaggedHeader& header, Segment payload)> on_take;
  std::function<bool(const TaggedHeader& header, std::uint64_t bytes, OfferedPayload& payload)>
      on_take_offered;
  std::function<void(Arrived&)> on_arrival;
  std::function<void(Sent&)> on_left;
  std::function<void(Arrived&)> on_complete;

  std::deque<Sent> sent;
  std::deque<Arrived> arrived;
  std::vector<std::pair<Endpoint*, Status>> gone;
  bool misaligned = false;
  LoopbackDriver* driver = nullptr;      // the first one
  std::vector<Route> routes;             // to this side
  std::unique_ptr<Messenger> messenger;  // last: ends first

 private:
  void start(std::vector<std::unique_ptr<Driver>> drivers, const MessengerConfig& config) {
    for (const auto& each : drivers) routes.push_back({routes.size(), each->address()});
    driver = static_cast<LoopbackDriver*>(drivers.front().get());
    messenger = std::make_unique<Messenger>(config, *this, std::move(drivers));
  }
  static Segment segment(const std::string& text) {
    return {const_cast<char*>(text.data()), text.size()};
  }
};

/// Progresses both until `done`, a bounded number of times.
template <typename Done>
bool settle(Side& a, Side& b, Done done) {
  for (int i = 0; i < 20000; ++i) {
    if (done()) return true;
    (void)a.messenger->progress();
    (void)b.messenger->progress();
  }
  return done();
}

/// Progresses both until nothing happens for longer than credit waits for an answer.
inline void settle(Side& a, Side& b) {
  for (int quiet = 0, i = 0; quiet < 20 && i < 100000; ++i) {
    const std::size_t moved = a.messenger->progress() + b.messenger->progress();
    quiet = moved == 0 ? quiet + 1 : 0;
  }
}

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SIDE_H_
