#include "madlike/message/sender.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "madlike/base/copy_bytes.h"

namespace mad {
namespace {

constexpr int kTurns = 16;  // packets of one endpoint per pump()
// Turns that credit waits for an answer which takes it along, once all of its message is here.  A
// frame of its own costs either side more than that.
constexpr std::uint32_t kHeldTurns = 8;
constexpr std::size_t kEagerLimit = 64 * 1024;
constexpr std::size_t kEagerLimitInPlace = 256 * 1024;

std::size_t eager_limit(const MessengerConfig& config, const LinkCaps& link) {
  return config.eager_limit.value_or(default_eager_limit(link));
}

// What is posted meanwhile leaves together, if there may be much of it.
class Cork {
 public:
  explicit Cork(const Endpoint& to) : to_(to), corked_(to.queue.has_frames()) {
    if (corked_) to_.driver->cork(to_.state.connection());
  }
  ~Cork() {
    if (corked_) to_.driver->uncork(to_.state.connection());
  }
  Cork(const Cork&) = delete;
  Cork& operator=(const Cork&) = delete;

 private:
  const Endpoint& to_;
  const bool corked_;
};

}  // namespace

/// What a first frame is built of.
struct Sender::Opening {
  Opening(std::uint8_t its_handler, Segment its_header, OutgoingMessage* its_message)
      : handler(its_handler), header(its_header), message(its_message) {
    if (message == nullptr) return;
    source = message->source;
    payload_bytes = message->payload_bytes;
    run_bytes = message->run_bytes;
  }
  /// Of the packet, before the head.
  std::size_t bytes() const {
    return is_short ? short_frame_bytes(header.size) : kFrameBytes + padded_bytes(header.size);
  }
  /// Makes room for them; returns where the fixed header goes.
  std::byte* stage(Packet& packet) const {
    std::byte* const start = packet.staging_room().begin();
    if (header.size > 0 && !is_short) {
      const std::size_t padding = padded_bytes(header.size) - header.size;
      std::memcpy(start + kFrameBytes, header.data, header.size);
      std::memset(start + kFrameBytes + header.size, 0, padding);
    }
    packet.stage(bytes());
    return start;
  }

  std::uint8_t handler;
  bool is_short = false;  // the message header is in the fixed one, and all payload behind it
  Segment header;
  OutgoingMessage* message;  // null: nothing has to remember it
  PayloadSource* source = nullptr;
  std::uint64_t payload_bytes = 0;
  std::uint64_t run_bytes = UINT64_MAX;
};

std::size_t default_eager_limit(const LinkCaps& link) {
  return link.piece_bytes > 0 ? kEagerLimitInPlace : kEagerLimit;
}

Status Sender::send_header(Endpoint& to, std::uint8_t handler, Segment header) {
  // Nobody looks after it, but the end of this turn.
  const bool collect = core_.arriving && to.can_post() && is_one_of_many(to, header.size, 0, true);
  Opening opening(handler, header, nullptr);
  if (!collect && to.can_start() && start(to, opening)) return {};
  if (!to.queue.first_frames.push(handler, header, nullptr)) return StatusCode::kNoMemory;
  ++core_.waiting;
  core_.activate(to);
  if (to.queue.count_queued(collect)) (void)pump(to);
  return {};
}

Status Sender::send(Endpoint& to, std::uint8_t handler, Segment header, OutgoingMessage& message) {
  auto& state = state_of(message);
  state = {};
  state.endpoint = &to;
  state.phase = OutgoingPhase::kStarting;
  const bool collect = to.can_post() && is_one_of_many(to, header.size, message.payload_bytes,
                                                       core_.arriving || message.may_wait);
  Opening opening(handler, header, &message);
  if (!collect && to.can_start() && start(to, opening)) {
    if (state.phase == OutgoingPhase::kFinished && state.posts == 0) {
      state.phase = OutgoingPhase::kNone;
      return {};
    }
  } else {
    if (!to.queue.first_frames.push(handler, header, &message)) {
      state.phase = OutgoingPhase::kNone;
      return StatusCode::kNoMemory;
    }
    state.phase = OutgoingPhase::kQueued;
    ++core_.waiting;
    core_.activate(to);
  }
  ++core_.messages;
  if (to.queue.count_queued(collect)) (void)pump(to);
  return StatusCode::kInProgress;
}

// Whether the message is better sent together with those behind it, also if it is the second of
// them
// (`soon`).  It is not complete before it is sent, so that its sender looks after it.
bool Sender::is_one_of_many(Endpoint& to, std::size_t header, std::uint64_t payload,
                            bool soon) const {
  const std::uint64_t head =
      std::min<std::uint64_t>({payload, to.credit.available(), eager_limit(core_.config, to.link)});
  if (kFrameBytes + padded_bytes(header) + head > to.link.cork_bytes) return false;
  const bool is_one = to.queue.is_one_of_many(core_.turn, soon);
  to.queue.count_small(core_.turn);
  return is_one;
}

// Builds and posts the first frame; false when no packet can be had.
bool Sender::start(Endpoint& to, Opening& opening) {
  if (opening.message == nullptr) return start_with(to, opening, 0);
  if (!core_.outgoing.reserve()) return false;
  opening.is_short = may_be_short(to, opening);
  if (start_with(to, opening, head_limit(to, *opening.message, opening.bytes()))) return true;
  undo(*opening.message);
  return false;
}

// A driver may find out that a packet never leaves when it has had it written: nobody is to answer.
void Sender::undo(OutgoingMessage& message) {
  auto& state = state_of(message);
  if (state.id != 0) core_.outgoing.remove(std::exchange(state.id, 0));
  state.offered = state.wants_window = false;
  state.phase = OutgoingPhase::kQueued;
}

// Whether the message is tagged, and all of its payload travels in its first packet whatever that
// is made of: it is one run, or is written to lent memory.
bool Sender::may_be_short(const Endpoint& to, const Opening& opening) const {
  if (opening.handler != kTaggedHandler || core_.config.checksum) return false;
  const OutgoingMessage& message = *opening.message;
  const std::size_t before = short_frame_bytes(opening.header.size);
  if (message.answered || head_limit(to, message, before) < message.payload_bytes) return false;
  if (to.link.lent_bytes > 0 || message.payload_bytes == 0) return true;
  const std::size_t room = std::min(to.link.max_packet_bytes, core_.packets.packet_bytes());
  return message.run != nullptr && before + message.payload_bytes <= room;
}

bool Sender::start_with(Endpoint& to, const Opening& opening, std::uint64_t head) {
  return poster_.send(to, OutgoingPacket::Use::kFirst, opening.bytes() + head, opening.run_bytes,
                      opening.message, [&](Packet& packet) {
                        build(to, packet, opening, head);
                        return true;
                      });
}

// Whether the fabric would rather have it written.
bool Sender::may_be_written_whole(const Endpoint& to, const OutgoingMessage& message) {
  const std::size_t from = to.link.write_whole_from;
  const std::uint64_t bytes = message.payload_bytes;
  if (from == 0 || bytes < from || !to.link.prefers_writes(message.run_bytes)) return false;
  return !to.link.offers_are_weighed || is_offered_in_runs(to, message);
}

// Whether the peer finds out if it is faster to have it written.  What is one run has offers, and
// the time of more than one write says too little.
bool Sender::is_offered_in_runs(const Endpoint& to, const OutgoingMessage& message) {
  return message.run == nullptr && message.payload_bytes <= to.link.most_in_runs();
}

// Whether none of it leaves until its receiver has said where it may be written.
bool Sender::stays(const Endpoint& to, const OutgoingMessage& message) const {
  return !core_.config.checksum && !core_.config.eager_limit && may_be_written_whole(to, message) &&
         (!to.link.offers_are_weighed ||
          to.offered.of(message.payload_bytes, true).is_worth_another());
}

// What has a checksum travels in packets, and who chose an eager limit meant it.
bool Sender::may_be_offered(const Endpoint& to, const OutgoingMessage& message) const {
  const std::uint64_t bytes = message.payload_bytes;
  return !core_.config.checksum && !core_.config.eager_limit && message.run != nullptr &&
         bytes > 0 && bytes >= to.link.offered_from && bytes <= to.link.most_offered;
}

bool Sender::is_offered(const Endpoint& to, const OutgoingMessage& message) const {
  return may_be_offered(to, message) &&
         (!to.link.offers_are_weighed || to.offered.of(message.payload_bytes).is_worth_another());
}

// How much of the payload may travel with the frame and header of `before` bytes, if a packet
// takes so much.  A checksum stands in front of what it is of, so that all of that must be in one
// piece of lent memory, as a header must.
std::uint64_t Sender::head_limit(const Endpoint& to, const OutgoingMessage& message,
                                 std::size_t before) const {
  if (stays(to, message) || is_offered(to, message)) return 0;
  const std::uint64_t limit = std::min<std::uint64_t>(
      {message.payload_bytes, to.credit.available(), eager_limit(core_.config, to.link)});
  const std::size_t lent = to.link.lent_bytes;
  if (lent == 0 || (!core_.config.checksum && before <= lent / 2)) return limit;
  return std::min<std::uint64_t>(limit, lent - before);
}

// The frame, its header and, of the payload, `head` bytes, or as many as the packet takes.  In lent
// memory it is the first piece of them, and the packet leaves: only then credit may change here.
void Sender::build(Endpoint& to, Packet& packet, const Opening& opening, std::uint64_t head) {
  std::byte* const place = opening.stage(packet);
  if (head > 0) {
    const std::uint64_t filled = fill_packet(core_, packet, to, *opening.source);
    if (opening.is_short) {
      fill_rest(to, packet, *opening.source);
    } else if (!packet.lent()) {
      head = filled;
    }
  }
  const std::uint32_t credit = to.credit.returnable();
  to.credit.spend(head);
  to.credit.we_spoke();
  if (opening.is_short) {
    encode_short_frame(opening.header, credit, place);
    if (opening.message != nullptr) expect_answer(to, *opening.message, head, nullptr);
  } else {
    Frame frame;
    frame.kind = FrameKind::kMessage;
    frame.handler = opening.handler;
    frame.header_bytes = static_cast<std::uint16_t>(opening.header.size);
    frame.credit = credit;
    frame.length = opening.payload_bytes;
    if (core_.config.checksum && head > 0) add_checksum(packet, frame);
    if (opening.message != nullptr) expect_answer(to, *opening.message, head, &frame);
    frame.body_bytes = static_cast<std::uint32_t>(padded_bytes(opening.header.size) + head);
    encode_frame(frame, place);
  }
  to.credit.returned(credit);
}

// A source that gives less than there is room for is asked again.
void Sender::fill_rest(Endpoint& to, Packet& packet, PayloadSource& source) {
  while (packet.bytes_room() > 0) {
    if (fill_packet(core_, packet, to, source) == 0) return no_bytes(core_, to);
  }
}

// Of a message whose first frame has this head: whether its receiver is to say more.  A short frame
// (null) has all.
void Sender::expect_answer(Endpoint& to, OutgoingMessage& message, std::uint64_t head,
                           Frame* frame) {
  auto& state = state_of(message);
  state.sent = head;
  if (head == 0 && is_offered(to, message)) {
    state.offered = frame->offered = true;
    frame->offset = reinterpret_cast<std::uintptr_t>(message.run);
  } else if (head == 0 && stays(to, message)) {
    state.wants_window = frame->window = true;
  }
  if (may_be_offered(to, message)) {
    to.offered.of(message.payload_bytes).count_message(message.payload_bytes);
  } else if (to.link.offers_are_weighed && may_be_written_whole(to, message)) {
    to.offered.of(message.payload_bytes, true).count_message(message.payload_bytes);
  }
  if (head == message.payload_bytes && !message.answered) {
    state.phase = OutgoingPhase::kFinished;
    return;
  }
  frame->answered = head == message.payload_bytes;
  state.id = frame->id = core_.outgoing.add(&message);
  state.phase = OutgoingPhase::kWaiting;
}

// A message with a handler, of at most one piece of lent memory, that nothing has to remember.
Status Sender::send_at_once(Endpoint& to, std::uint8_t handler, Segment header,
                            PayloadSource& source, std::uint64_t payload_bytes,
                            std::uint64_t run_bytes) {
  Opening opening(handler, header, nullptr);
  opening.source = &source;
  opening.payload_bytes = payload_bytes;
  opening.run_bytes = run_bytes;
  const bool now = opening.bytes() + payload_bytes <= to.link.lent_bytes && to.can_start() &&
                   payload_bytes <= to.credit.available() &&
                   payload_bytes <= eager_limit(core_.config, to.link);
  if (!now || core_.config.checksum) return StatusCode::kAgain;
  return start_with(to, opening, payload_bytes) ? Status() : Status(StatusCode::kAgain);
}

namespace {

/// As WholePayload, of one run.
struct RunPayload {
  std::size_t bytes() const { return run.size; }
  static std::uint64_t run_bytes() { return UINT64_MAX; }
  void write(std::byte* out) const { copy_bytes(out, run.data, run.size); }

  const Segment run;
};

}  // namespace

// A short frame and its payload, written to memory of the fabric.
template <typename Payload>
class Sender::ShortPacket final : public PacketWriter {
 public:
  ShortPacket(std::uint32_t credit, const TaggedHeader& header, const Payload& payload)
      : PacketWriter(short_frame_bytes(bytes_of(header)) + payload.bytes(), payload.run_bytes()),
        credit_(credit),
        header_(header),
        payload_(payload) {}

 private:
  void write_next(Segment room) override {
    std::byte* const out = room.begin();
    encode_tagged_header(header_, out);
    encode_short_frame({out, bytes_of(header_)}, credit_, out);
    payload_.write(room.end() - payload_.bytes());
  }

  const std::uint32_t credit_;
  const TaggedHeader& header_;
  const Payload& payload_;
};

template <typename Payload>
bool Sender::post_short(Endpoint& to, const TaggedHeader& header, const Payload& payload) {
  const std::uint32_t credit = to.credit.returnable();
  ShortPacket<Payload> packet(credit, header, payload);
  const std::size_t bytes = packet.left();
  const bool now = bytes <= to.link.short_bytes && to.can_start() &&
                   payload.bytes() <= to.credit.available() &&
                   payload.bytes() <= eager_limit(core_.config, to.link);
  if (!now || core_.config.checksum) return false;
  const bool collects = bytes <= to.link.cork_bytes;
  if (collects && to.queue.is_one_of_many(core_.turn, core_.arriving)) return false;
  if (!poster_.post_lent(to, packet, bytes)) return false;
  if (collects) to.queue.count_small(core_.turn);
  to.credit.spend(payload.bytes());
  to.credit.we_spoke();
  to.credit.returned(credit);
  core_.counters.staged_bytes += payload.bytes();
  return true;
}

bool Sender::send_short(Endpoint& to, const TaggedHeader& header, Segment payload) {
  return post_short(to, header, RunPayload{payload});
}

bool Sender::send_short(Endpoint& to, const TaggedHeader& header, const WholePayload& payload) {
  return post_short(to, header, payload);
}

Status Sender::access(Endpoint& peer, const ExposureToken& memory, std::uint64_t offset,
                      std::byte* into, OutgoingMessage& access) {
  auto& state = state_of(access);
  state = {};
  state.endpoint = &peer;
  state.one_sided = state.has_window = true;
  state.into = into;
  state.accepted = access.payload_bytes;
  state.window.token = {memory.address + offset, memory.key};
  ++core_.messages;
  streamer_.start(access);
  (void)streamer_.next(peer);
  return StatusCode::kInProgress;
}

void Sender::clear(IncomingMessage& message, bool just_arrived) {
  Endpoint& to = *message.endpoint;
  const bool now = to.queue.push_clearance(message, just_arrived, core_.turn);
  ++core_.waiting;
  if (now && to.can_post() && post_clearance(to)) return;
  core_.activate(to);
}

bool Sender::tell_taken(Endpoint& to, std::uint32_t id, std::uint64_t bytes) {
  if (!to.queue.clearances.empty() || !to.can_post()) return false;
  Frame frame;
  frame.kind = FrameKind::kTaken;
  frame.id = id;
  frame.length = bytes;
  return poster_.post_control(to, frame);
}

bool Sender::pump(Endpoint& to) {
  if (!to.state.may_post()) return false;
  const Cork cork(to);
  to.queue.forget_collected();
  OutgoingMessage* const message = to.queue.posting();
  if (!poster_.retry(to)) return false;
  if (message != nullptr) core_.finish_if_done(*message);
  if (!to.state.said_hello() && !post_hello(to)) return false;
  while (!to.queue.clearances.empty()) {
    if (!post_clearance(to)) return false;
  }
  bool moved = true;
  for (int turn = 0; turn < kTurns && moved; ++turn) {
    const bool started = start_next(to);
    const bool streamed = streamer_.next(to);
    moved = started || streamed;
  }
  const bool credit_waits = return_credit(to);
  if (to.state.leaving() && !to.queue.holds_messages()) post_goodbye(to);
  return moved || credit_waits;
}

bool Sender::has_work(const Endpoint& to) const {
  if (!to.state.may_post()) return false;
  return to.queue.is_posting() || to.queue.has_frames() || !to.state.said_hello() ||
         to.state.leaving() || credit_is_due(to);
}

// Whether so much credit is to be returned that it is worth a frame of its own.
bool Sender::credit_is_due(const Endpoint& to) const {
  return to.credit.to_return() >= core_.credit_threshold;
}

// Whether it waits for an answer, to be asked again soon.  While the message still comes nobody is
// kept awake: its next piece is something to wake up for.
bool Sender::return_credit(Endpoint& to) {
  if (!credit_is_due(to) || (to.credit.takes_turns() && to.begun.left > 0)) return false;
  const bool waits = to.credit.takes_turns() && to.credit.hold() <= kHeldTurns;
  Frame frame;
  if (!waits) (void)poster_.post_control(to, frame);
  return waits;
}

bool Sender::post_hello(Endpoint& to) {
  Frame frame;
  frame.kind = FrameKind::kHello;
  frame.length = core_.config.peer_credit;
  const std::vector<std::byte>& said = core_.config.greeting;
  const Segment greeting{const_cast<std::byte*>(said.data()), said.size()};  // only read
  if (!poster_.post_control(to, frame, greeting)) return false;
  to.state.set_said_hello();
  return true;
}

void Sender::post_goodbye(Endpoint& to) {
  Frame frame;
  frame.kind = FrameKind::kGoodbye;
  if (poster_.post_control(to, frame)) to.state.set_said_goodbye();
}

bool Sender::post_clearance(Endpoint& to) {
  IncomingMessage& message = *to.queue.clearances.front();
  Frame frame;
  frame.id = message.peer_id;
  const bool refuse = message.phase == IncomingMessage::Phase::kRefusing;
  std::byte window[kWindowBytes];
  Segment body;
  if (refuse) {
    frame.kind = message.received > 0 ? FrameKind::kTaken : FrameKind::kRefuse;
    frame.length = message.received;
  } else {
    frame.kind = FrameKind::kClear;
    frame.reply_id = message.id;
    frame.offset = message.received;
    frame.length = message.accepted;
    frame.window = message.has_window;
    if (message.has_window) {
      encode_window(message.window, window);
      body = {window, kWindowBytes};
    }
  }
  if (!poster_.post_control(to, frame, body)) return false;
  to.queue.clearances.pop();
  --core_.waiting;
  if (refuse) {
    core_.remove(message);
  } else {
    message.phase = IncomingMessage::Phase::kReceiving;
  }
  return true;
}

bool Sender::start_next(Endpoint& to) {
  if (to.queue.first_frames.empty() || !to.can_post()) return false;
  FirstFrames::Waiting& next = to.queue.first_frames.front();
  OutgoingMessage* const message = next.message;
  Opening opening(next.handler, next.header(), message);
  if (!start(to, opening)) return false;
  to.queue.first_frames.pop();
  --core_.waiting;
  if (message != nullptr) core_.finish_if_done(*message);
  return true;
}

// Once: it is told of from the list that this puts it into.
void Sender::fail(OutgoingMessage& message) {
  if (state_of(message).phase == OutgoingPhase::kFailed) return;
  state_of(message).phase = OutgoingPhase::kFailed;
  core_.finish_if_done(message);
}

void Sender::abandon(Endpoint& to) {
  poster_.drop_unposted(to);
  while (!to.queue.first_frames.empty()) {
    OutgoingMessage* const message = to.queue.first_frames.front().message;
    to.queue.first_frames.pop();
    --core_.waiting;
    if (message != nullptr) fail(*message);
  }
  while (!to.queue.streaming.empty()) fail(*to.queue.streaming.pop());
  for (std::uint32_t id = 1; id <= core_.outgoing.last_id(); ++id) {
    OutgoingMessage* const message = core_.outgoing.find(id);
    if (message == nullptr || state_of(*message).endpoint != &to) continue;
    core_.outgoing.remove(id);
    fail(*message);
  }
}

}  // namespace mad
