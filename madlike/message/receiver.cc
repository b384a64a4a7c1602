#include "madlike/message/receiver.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "madlike/base/copy_bytes.h"
#include "madlike/base/sentence.h"

namespace mad {
namespace {

// Runs of memory that are worth being written one by one: docs/adr/0020-windows-of-runs.md.
constexpr std::uint64_t kLeastStridedRun = 64 * 1024;

Status violation(const char* what) {
  return {StatusCode::kProtocol, std::string("the peer sent ") + what};
}

}  // namespace

// What the message does to credit is done last: before, it may not be taken.
bool Receiver::take_short(Endpoint& from, Segment packet) {
  const std::size_t header_bytes = short_header_bytes(packet);
  TaggedHeader header;
  if (header_bytes == 0 || from.begun.left > 0 || !from.state.heard_hello() ||
      !decode_tagged_header({packet.data, header_bytes}, &header)) {
    return false;
  }
  const std::size_t before = short_frame_bytes(header_bytes);
  const Segment payload{packet.begin() + before, packet.size - before};
  const std::uint32_t credit = short_frame_credit(packet);
  if (!admits(from, credit, payload.size) || !take(from, header, payload)) return false;
  admit(from, credit, payload.size);
  core_.return_credit(from, payload.size);
  count(from, packet.size);
  return true;
}

class Receiver::Offer final : public OfferedPayload {
 public:
  Offer(Receiver& receiver, Endpoint& from, const Frame& frame)
      : receiver_(receiver), from_(from), frame_(frame) {}
  bool read(void* place) override { return receiver_.reader_.read_all(from_, frame_, place); }

 private:
  Receiver& receiver_;
  Endpoint& from_;
  const Frame& frame_;
};

// Most offers are of one run that fits its receive, which waits for it: no record of them is made.
bool Receiver::take_offered(Endpoint& from, Segment packet) {
  Frame frame;
  TaggedHeader header;
  if (!is_offer(packet) || from.begun.left > 0 || !from.state.heard_hello() || from.foreign ||
      !decode_frame(packet, &frame).ok() || !frame.offered || frame.handler != kTaggedHandler ||
      !decode_tagged_header({packet.begin() + frame.header_at(), frame.header_bytes}, &header) ||
      !admits(from, frame.credit, 0)) {
    return false;
  }
  Offer offer(*this, from, frame);
  if (!core_.events.take_offered(from, header, frame.length, offer)) return false;
  admit(from, frame.credit, 0);
  count(from, packet.size);
  return true;
}

void Receiver::packet(Endpoint& from, const Completion& arrived) {
  if (arrived.rest == 0 && take(from, arrived.bytes)) return release(from, arrived.buffer);
  handle(from, arrived.bytes, arrived.rest, arrived.buffer);
}

void Receiver::packet(Endpoint& from, Segment bytes) { handle(from, bytes, 0, nullptr); }

void Receiver::handle(Endpoint& from, Segment bytes, std::size_t rest, void* buffer) {
  const Status status =
      from.begun.left > 0 ? next_piece(from, bytes, rest) : first_piece(from, bytes, rest, &buffer);
  release(from, buffer);
  if (status.error()) core_.end(from, status);
}

void Receiver::release(const Endpoint& from, void* buffer) {
  if (buffer != nullptr) from.driver->release(buffer);
}

// A whole packet mostly.
Status Receiver::first_piece(Endpoint& from, Segment bytes, std::size_t rest, void** buffer) {
  count(from, bytes.size + rest);
  if (const std::size_t header = short_header_bytes(bytes)) {
    return short_message(from, bytes, header, rest);
  }
  Frame frame;
  Status status = decode_frame(bytes, &frame, rest);
  if (status.ok() && from.state.heard_hello() == (frame.kind == FrameKind::kHello)) {
    status = violation(from.state.heard_hello() ? "a second HELLO" : "a frame before HELLO");
  }
  if (status.ok() && !from.credit.may_regain(frame.credit)) {
    status = violation("more credit than it ever got");
  }
  if (status.error()) return status;
  begin(from, frame, rest);
  if (frame.kind == FrameKind::kMessage) return message(from, frame, bytes);
  const Segment body{bytes.begin() + kFrameBytes, bytes.size - kFrameBytes};
  switch (frame.kind) {
    case FrameKind::kHello:
      return hello(from, frame, body);
    case FrameKind::kMessage:
      break;
    case FrameKind::kClear:
      return clear(from, frame, body);
    case FrameKind::kData:
      return data(from, frame, body, buffer);
    case FrameKind::kPlaced:
      return placed(from, frame);
    case FrameKind::kRefuse:
      return refuse(from, frame);
    case FrameKind::kTaken:
      return taken(from, frame);
    case FrameKind::kCredit:
      from.credit.regain(frame.credit);
      return {};
    case FrameKind::kGoodbye:
      return {StatusCode::kClosed, "the peer left in good order"};
  }
  return {};
}

// Of the packet `rest` bytes are still to come.
void Receiver::begin(Endpoint& from, const Frame& frame, std::size_t rest) {
  from.begun.left = rest;
  from.begun.placed = false;
  from.begun.sum.begin(frame);
}

// More of a packet that has begun: payload of one message.
Status Receiver::next_piece(Endpoint& from, Segment bytes, std::size_t rest) {
  Endpoint::Begun& begun = from.begun;
  if (!begun.may_be_next(bytes.size, rest)) return violation("a piece of a wrong length");
  IncomingMessage* const message = begun.message;
  if (message != nullptr && begun.sum.checked()) check(begun.sum, bytes, rest, *message);
  if (message != nullptr && message->sink == nullptr) {
    copy_bytes(message->head.end(), bytes.data, bytes.size);
    message->head.size += bytes.size;
    core_.counters.unexpected_bytes += bytes.size;
  } else if (message != nullptr && bytes.size > 0 && begun.offset < message->accepted) {
    bytes.size = std::min<std::uint64_t>(bytes.size, message->accepted - begun.offset);
    message->sink->place(begun.offset, bytes);
  }
  begun.offset += begun.left - rest;  // bytes that the driver placed itself, too
  begun.left = rest;
  if (rest > 0 || message == nullptr) return {};
  begun.message = nullptr;
  if (message->phase == IncomingMessage::Phase::kHead) {
    finish_head(*message);
  } else if (message->sink != nullptr) {
    message->received = std::max(message->received, begun.offset);
    if (message->received == message->accepted) finish(*message, {});
  }
  return {};
}

// Payload of the frame that has begun, whatever is done with it, and `rest` bytes more to come.  Of
// several mistakes the first is told.
void Receiver::check(PayloadSum& sum, Segment payload, std::size_t rest, IncomingMessage& message) {
  sum.add(payload);
  core_.counters.checked_bytes += payload.size;
  if (rest == 0 && !message.corrupt.error()) message.corrupt = sum.result(message.payload_bytes);
}

// What a foreign peer sends is not what is wanted here, nor the other way round: memory of the
// other one is neither written nor read.  The peer may write where the packet is: what is
// understood is what is kept.
Status Receiver::hello(Endpoint& from, const Frame& frame, Segment body) {
  Endpoint::Greeting greeting;
  greeting.size = body.size;
  std::copy(body.begin(), body.end(), greeting.bytes.begin());
  const Segment said{greeting.bytes.data(), greeting.size};
  const std::vector<std::byte>& ours = core_.config.greeting;
  const bool foreign = !std::equal(said.begin(), said.end(), ours.begin(), ours.end());
  LinkCaps link = from.driver->link(from.state.connection());
  if (foreign) {
    Status understood = core_.events.on_greeting(from, said);
    if (understood.error()) return understood;
    from.greeting = greeting;
    link.write_runs_from = LinkCaps::kNever;
    link.write_whole_from = link.most_offered = 0;
  }
  from.foreign = foreign;
  from.link = std::move(link);
  from.credit.grant(frame.length);
  from.state.set_heard_hello();
  return {};
}

void Receiver::count(const Endpoint& from, std::uint64_t bytes) {
  DriverCounters& counters = core_.counters.drivers[from.route().driver];
  ++counters.packets_received;
  counters.bytes_received += bytes;
}

// One that take() did not.
Status Receiver::short_message(Endpoint& from, Segment packet, std::size_t header_bytes,
                               std::size_t rest) {
  TaggedHeader header;
  if (!from.state.heard_hello()) return violation("a frame before HELLO");
  if (!decode_tagged_header({packet.data, header_bytes}, &header)) {
    return violation("a tagged message with a wrong header");
  }
  const Frame frame = decode_short_frame(packet, header_bytes, rest);
  if (!admits(from, frame.credit, frame.length)) return why_not(from, frame.credit);
  admit(from, frame.credit, frame.length);
  begin(from, frame, rest);
  return deliver(from, frame, packet);
}

Status Receiver::message(Endpoint& from, const Frame& frame, Segment packet) {
  TaggedHeader header;
  const bool tagged = frame.handler == kTaggedHandler;
  const Segment encoded{packet.begin() + frame.header_at(), frame.header_bytes};
  if (tagged && !decode_tagged_header(encoded, &header)) {
    return violation("a tagged message with a wrong header");
  }
  if (!admits(from, frame.credit, frame.head_bytes())) return why_not(from, frame.credit);
  admit(from, frame.credit, frame.head_bytes());
  const Segment head{packet.begin() + frame.head_at(), packet.size - frame.head_at()};
  const bool whole = frame.id == 0 && from.begun.left == 0 && !frame.checked;
  if (tagged && whole && take(from, header, head)) {
    core_.return_credit(from, head.size);
    return {};
  }
  return deliver(from, frame, packet);
}

// Whether a message may come with so much credit and payload, and what is wrong if it may not.
bool Receiver::admits(const Endpoint& from, std::uint32_t credit, std::size_t head) const {
  return from.credit.may_regain(credit) && head <= core_.config.peer_credit - from.credit.charged();
}

Status Receiver::why_not(const Endpoint& from, std::uint32_t credit) {
  return violation(from.credit.may_regain(credit) ? "a head without credit"
                                                  : "more credit than it ever got");
}

void Receiver::admit(Endpoint& from, std::uint32_t credit, std::size_t head) {
  from.credit.regain(credit);
  from.credit.charge(head);
  from.credit.peer_spoke();
}

// Of a tagged message that is all here: whether it was received.
bool Receiver::take(Endpoint& from, const TaggedHeader& header, Segment payload) {
  return !from.foreign && core_.events.take(from, header, payload);
}

Status Receiver::deliver(Endpoint& from, const Frame& frame, Segment packet) {
  IncomingMessage* arrival = nullptr;
  if (frame.length > 0 || frame.handler == kTaggedHandler) {
    const Segment head{packet.begin() + frame.head_at(), packet.size - frame.head_at()};
    arrival = arrive(from, frame, head);
    if (arrival == nullptr) return {StatusCode::kNoMemory, "no memory for another message"};
  }
  const Segment header{packet.begin() + frame.header_at(), frame.header_bytes};
  try {
    core_.events.on_message(from, frame.handler, header, frame.length, arrival);
  } catch (const std::bad_alloc&) {
    return not_heard(arrival);
  }
  if (arrival == nullptr || arrival->phase != IncomingMessage::Phase::kArriving) return {};
  keep_head(*arrival);
  if (arrival->head_lost) return {StatusCode::kNoMemory, "no memory to keep a message's head"};
  return {};
}

// The user had no memory to hear of it, so that nobody names the message, unless it was accepted or
// discarded before.  Nor is there any for a sentence.
Status Receiver::not_heard(IncomingMessage* arrival) {
  if (arrival != nullptr && arrival->phase == IncomingMessage::Phase::kArriving) {
    core_.remove(*arrival);
  }
  return StatusCode::kNoMemory;
}

// Null: there is no memory for it.
IncomingMessage* Receiver::arrive(Endpoint& from, const Frame& frame, Segment head) {
  IncomingMessage* const arrival = core_.incoming.add();
  if (arrival == nullptr) return nullptr;
  arrival->endpoint = &from;
  ++from.arrivals;
  arrival->peer_id = frame.id;
  arrival->payload_bytes = frame.length;
  if (frame.offered) arrival->offered_at = frame.offset;
  arrival->wants_window = frame.window;
  arrival->head = head;
  arrival->head_bytes = arrival->charged = frame.head_bytes();
  if (from.begun.left > 0) from.begun.message = arrival;
  arrival->head_checked = frame.checked;
  if (frame.checked) check(from.begun.sum, arrival->head, from.begun.left, *arrival);
  from.begun.offset = arrival->head.size;
  return arrival;
}

void Receiver::give_credit_back(IncomingMessage& message) {
  core_.return_credit(*message.endpoint, message.charged);
  message.charged = 0;
}

// Nobody waited: the driver wants its buffer back.
void Receiver::keep_head(IncomingMessage& message) {
  message.phase = IncomingMessage::Phase::kKept;
  if (message.head_bytes == 0) return;
  message.kept = core_.heads.take(message.head_bytes);
  if (message.kept == nullptr) {
    message.head_lost = true;
    return;
  }
  copy_bytes(message.kept.get(), message.head.data, message.head.size);
  message.head.data = message.kept.get();
  core_.counters.unexpected_bytes += message.head.size;
}

Status Receiver::accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes,
                        void* context) {
  Endpoint& from = *message.endpoint;
  if (message.head_lost) {
    core_.remove(message);
    return with_sentence(StatusCode::kNoMemory,
                         [] { return "the message's first bytes could not be kept"; });
  }
  if (message.corrupt.error()) {
    Status why = std::move(message.corrupt);
    discard(message);
    return why;
  }
  const bool just_arrived = message.phase == IncomingMessage::Phase::kArriving;
  const Segment head = message.head;
  const std::uint64_t accepted = std::min(bytes, message.payload_bytes);
  if (accepted <= head.size && message.readable()) {
    if (accepted > 0) sink.place(0, {head.data, static_cast<std::size_t>(accepted)});
    discard(message);
    return {};
  }
  if (!from.state.live()) {
    core_.remove(message);
    return from.state.why();
  }
  if (message.offered_at != 0 && take_offer(message, sink, accepted)) {
    message.received = accepted;
    discard(message);
    return {};
  }
  give_credit_back(message);
  message.sink = &sink;
  message.context = context;
  message.accepted = accepted;
  if (accepted <= message.head_bytes) {
    message.phase = IncomingMessage::Phase::kHead;
  } else {
    message.received = message.head_bytes;
    message.phase = IncomingMessage::Phase::kClearing;
    try {
      open_window(message);
    } catch (const std::bad_alloc&) {  // the rest comes in data packets
    }
    sender_.clear(message, just_arrived);
  }
  if (just_arrived) claim_rest_of_head(message);
  // Placed while the sender already gets to know where the rest goes.
  if (head.size > 0) sink.place(0, {head.data, std::min<std::uint64_t>(head.size, accepted)});
  message.kept.reset();
  message.head = {};
  return StatusCode::kInProgress;
}

// Into short runs it had better come in packets.
bool Receiver::take_offer(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes) {
  Endpoint& from = *message.endpoint;
  Segment first;
  if (sink.runs(0, bytes, &first, 1) == 0) return false;
  if (first.size < bytes && !from.link.prefers_writes(first.size)) return false;
  message.weighed = OfferReader::weighs(from, bytes) && !from.offers.of(bytes).reads(bytes);
  if (!message.weighed && reader_.read(from, message.offered_at, bytes, sink).ok()) return true;
  if (OfferReader::weighs(from, bytes)) from.offers.of(bytes).was_asked_for();
  message.weighed_from = core_.arrival_mark();
  return false;
}

// The rest of the head is read by the driver, if it can do that, to where it belongs.  What is
// summed comes in pieces: in the driver's buffer it is warm, and one run whatever the user's
// layout.
void Receiver::claim_rest_of_head(IncomingMessage& message) {
  Endpoint& from = *message.endpoint;
  if (from.begun.message != &message || message.accepted < message.head_bytes) return;
  if (message.head_checked) return;
  Segment first;
  if (message.sink->runs(from.begun.offset, from.begun.left, &first, 1) == 0) return;
  const Status placed =
      from.driver->place_rest(from.state.connection(), *message.sink, from.begun.offset);
  from.begun.placed = placed.ok();
}

void Receiver::discard(IncomingMessage& message) {
  Endpoint& from = *message.endpoint;
  give_credit_back(message);
  if (from.begun.message == &message) from.begun.message = nullptr;
  if (message.peer_id == 0 || !from.state.live()) {
    core_.remove(message);
    return;
  }
  message.kept.reset();
  message.head = {};
  const bool just_arrived = message.phase == IncomingMessage::Phase::kArriving;
  message.phase = IncomingMessage::Phase::kRefusing;
  sender_.clear(message, just_arrived);
}

bool Receiver::may_write(const Endpoint& peer, std::uint64_t run_bytes) const {
  return !core_.config.checksum && peer.link.prefers_writes(run_bytes);
}

// Without a window the rest comes in data packets, and with one it may: only the sender knows its
// runs, and what a write of so much costs.
void Receiver::open_window(IncomingMessage& message) {
  Driver& driver = *message.endpoint->driver;
  const std::uint64_t rest = message.accepted - message.received;
  if (rest < core_.config.write_threshold || !may_write(*message.endpoint, rest)) return;
  Segment first;
  if (message.sink->runs(message.received, rest, &first, 1) == 0) return;
  if (first.size < rest && !may_write(*message.endpoint, first.size)) return;
  if (message.endpoint->link.weighs_offers && !is_better_written(message)) return;
  const ConnectionId connection = message.endpoint->state.connection();
  if (first.size < rest && driver.caps().scattered_writes) {
    const auto token = driver.expose_scattered(connection, *message.sink, message.received, rest);
    message.has_window = token.ok();
    if (token.ok()) message.window.token = *token;
    return;
  }
  StridedMemory memory{first, {}};
  if (first.size < rest) {
    const auto strided = strided_memory(*message.sink, message.received, rest, kLeastStridedRun);
    if (!strided) return;
    memory = *strided;
  }
  const auto token = driver.expose(connection, memory.span);
  if (!token.ok()) return;
  message.window = memory.window;
  message.window.token = *token;
  message.has_window = true;
}

// Where that is to be found out.  Nobody writes a rest there, or what is longer.
bool Receiver::is_better_written(IncomingMessage& message) const {
  Endpoint& from = *message.endpoint;
  const std::uint64_t bytes = message.accepted;
  const bool whole = message.received == 0 && bytes == message.payload_bytes;
  if (!whole || !message.wants_window || !OfferReader::weighs(from, bytes) ||
      bytes > from.link.most_in_runs()) {
    return false;
  }
  OfferTimes& times = from.offers.of(bytes, true);
  message.weighed_from = core_.arrival_mark();
  message.weighed = !times.reads(bytes, true);
  times.was_asked_for();
  return !message.weighed;
}

void Receiver::close_window(IncomingMessage& message) {
  if (!message.has_window) return;
  message.endpoint->driver->withdraw(message.endpoint->state.connection(), message.window.token);
  message.has_window = false;
}

OutgoingMessage* Receiver::waiting(const Endpoint& from, std::uint32_t id) const {
  OutgoingMessage* const message = core_.outgoing.find(id);
  return message != nullptr && state_of(*message).endpoint == &from ? message : nullptr;
}

Status Receiver::clear(Endpoint& from, const Frame& frame, Segment body) {
  OutgoingMessage* const message = waiting(from, frame.id);
  if (message == nullptr) return violation("a CLEAR for no message of ours");
  auto& state = state_of(*message);
  if (frame.offset != state.sent) return violation("a CLEAR from a wrong offset");
  if (frame.length > message->payload_bytes) return violation("a CLEAR beyond the payload");
  if (frame.window) {
    Status status = decode_window(body, &state.window);
    if (status.error()) return status;
  }
  from.credit.regain(frame.credit);
  if (state.offered) {
    from.offered.of(message->payload_bytes).count_answer(false);
  } else if (state.wants_window && from.link.offers_are_weighed) {
    from.offered.of(message->payload_bytes, true).count_answer(frame.window);
  }
  core_.outgoing.remove(frame.id);
  state.id = 0;
  state.peer_id = frame.reply_id;
  state.accepted = frame.length;
  const std::uint64_t rest = frame.length - std::min(frame.length, frame.offset);
  const bool written = rest >= from.link.write_whole_from && may_write(from, message->run_bytes);
  if (frame.window && written) {
    state.has_window = true;
    state.window_start = frame.offset;
  }
  sender_.stream(*message);
  return {};
}

Status Receiver::refuse(Endpoint& from, const Frame& frame) {
  OutgoingMessage* const message = waiting(from, frame.id);
  if (message == nullptr) return violation("a REFUSE for no message of ours");
  wants_no_more(from, frame, *message);
  return {};
}

Status Receiver::taken(Endpoint& from, const Frame& frame) {
  OutgoingMessage* const message = waiting(from, frame.id);
  if (message == nullptr) return violation("a TAKEN for no message of ours");
  if (!state_of(*message).offered || frame.length > message->payload_bytes) {
    return violation("a TAKEN of what it was not offered");
  }
  from.offered.of(message->payload_bytes).count_answer(true);
  core_.counters.referenced_bytes += frame.length;
  core_.counters.written_bytes += frame.length;
  core_.counters.drivers[from.route().driver].bytes_sent += frame.length;
  wants_no_more(from, frame, *message);
  return {};
}

void Receiver::wants_no_more(Endpoint& from, const Frame& frame, OutgoingMessage& message) {
  from.credit.regain(frame.credit);
  core_.outgoing.remove(frame.id);
  state_of(message).id = 0;
  state_of(message).phase = OutgoingPhase::kFinished;
  core_.finish_if_done(message);
}

IncomingMessage* Receiver::receiving(const Endpoint& from, std::uint32_t id) const {
  IncomingMessage* const message = core_.incoming.find(id);
  const bool ours = message != nullptr && message->endpoint == &from &&
                    message->phase == IncomingMessage::Phase::kReceiving;
  return ours ? message : nullptr;
}

Status Receiver::data(Endpoint& from, const Frame& frame, Segment body, void** buffer) {
  IncomingMessage* const message = receiving(from, frame.id);
  if (message == nullptr) return violation("a DATA frame for no message of ours");
  if (frame.offset != message->received) return violation("a DATA frame out of order");
  if (frame.length > message->accepted - message->received) {
    return violation("a DATA frame beyond what was accepted");
  }
  from.credit.regain(frame.credit);
  if (frame.checked) check(from.begun.sum, body, from.begun.left, *message);
  if (message->weighed && frame.offset == 0) {
    const ArrivalMark placing = core_.arrival_mark();
    message->sink->place(0, body);
    message->weighed_from = sent_since(message->weighed_from, placing, OfferTimes::Clock::now(),
                                       body.size + from.begun.left);
  } else {
    message->sink->place(frame.offset, body);
  }
  message->by_data = true;
  release(from, std::exchange(*buffer, nullptr));
  if (from.begun.left > 0) {
    from.begun.message = message;
    from.begun.offset = frame.offset + body.size;
    return {};
  }
  message->received += frame.length;
  if (message->received == message->accepted) finish(*message, {});
  return {};
}

Status Receiver::placed(Endpoint& from, const Frame& frame) {
  IncomingMessage* const message = receiving(from, frame.id);
  if (message == nullptr) return violation("a PLACED for no message of ours");
  if (!message->has_window || message->by_data) return violation("a PLACED without a window");
  if (frame.length != message->accepted) return violation("a PLACED of a wrong length");
  from.credit.regain(frame.credit);
  message->received = message->accepted;
  core_.written += message->accepted;
  if (from.link.weighs_offers) {
    const ArrivalMark& since = message->weighed_from;
    OfferTimes& times = from.offers.of(message->accepted, true);
    times.was_read_later(core_.written - since.written, OfferTimes::Clock::now() - since.at);
    core_.reading += times.time_of_reading(message->accepted);
  }
  finish(*message, {});
  return {};
}

void Receiver::finish(IncomingMessage& message, const Status& status) {
  close_window(message);
  void* const context = message.context;
  const Status outcome = status.ok() ? message.corrupt : status;
  const std::uint64_t bytes = outcome.ok() ? message.received : 0;
  if (message.weighed && outcome.ok()) {
    const bool in_runs = message.offered_at == 0;
    OfferTimes& times = message.endpoint->offers.of(message.accepted, in_runs);
    times.was_sent(message.weighed_from, core_.arrival_mark());
  }
  core_.remove(message);
  core_.events.on_received(context, bytes, outcome);
}

void Receiver::finish_head(IncomingMessage& message) {
  void* const context = message.context;
  const Status outcome = std::move(message.corrupt);
  const std::uint64_t bytes = outcome.ok() ? message.accepted : 0;
  discard(message);
  core_.events.on_received(context, bytes, outcome);
}

void Receiver::abandon(Endpoint& from) {
  from.begun = {};
  while (!from.queue.clearances.empty()) {
    (void)from.queue.clearances.pop();
    --core_.waiting;
  }
  for (std::uint32_t id = 1; id <= core_.incoming.last_id(); ++id) {
    IncomingMessage* const message = core_.incoming.find(id);
    if (message == nullptr || message->endpoint != &from) continue;
    const bool unheard = message->phase == IncomingMessage::Phase::kArriving;
    if (unheard || message->phase == IncomingMessage::Phase::kRefusing) {
      core_.remove(*message);
    } else if (message->phase != IncomingMessage::Phase::kKept) {
      finish(*message, from.state.why());
    }
  }
}

}  // namespace mad
