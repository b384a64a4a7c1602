#include "madlike/message/poster.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace mad {

void no_bytes(Core& core, Endpoint& to) {
  core.end(to, {StatusCode::kInternal, "a payload source gave no bytes"});
}

std::uint64_t fill_packet(Core& core, Packet& packet, Endpoint& to, PayloadSource& source) {
  const std::size_t before = packet.bytes();
  const std::size_t staged = packet.staged_bytes();
  source.fill(packet, packet.bytes_room());
  while (packet.lent() && packet.bytes_room() > 0) {
    const std::size_t room = packet.bytes_room();
    source.fill(packet, room);
    if (packet.bytes_room() < room) continue;
    packet.stage(room);  // nobody reads it
    no_bytes(core, to);
  }
  const std::size_t bytes = packet.bytes() - before;
  const std::size_t copied = packet.staged_bytes() - staged;
  core.counters.staged_bytes += copied;
  core.counters.referenced_bytes += bytes - copied;
  return bytes;
}

// Streamed payload that may be ahead of another frame: fast fabrics are kept busy by this much, and
// remote writes take few packets for many bytes.
constexpr std::uint64_t kStreamingBytes = 4 * 1024 * 1024;

// An endpoint that is alone has half of the packets for its first frames, an eighth for its
// streams.
constexpr std::size_t kStreamingDivisor = 7;

OutgoingPacket* Poster::take(Endpoint& to, OutgoingPacket::Use use, std::uint64_t bytes) {
  const bool streamed = is_streamed(use);
  if (streamed && to.packets.streaming_bytes >= kStreamingBytes) return nullptr;
  std::size_t& held = to.packets.held(use);
  OutgoingPacket* const packet = core_.packets.take(held, streamed ? kStreamingDivisor : 1);
  if (packet == nullptr) return nullptr;
  packet->endpoint = &to;
  packet->use = use;
  ++held;
  const bool is_write = is_remote_write(use);
  packet->packet.reset(is_write ? to.link.max_write_iov : to.link.max_iov,
                       std::min<std::uint64_t>(
                           bytes, is_write ? to.link.max_write_bytes : to.link.max_packet_bytes));
  return packet;
}

void Poster::give_back(OutgoingPacket& packet) {
  --packet.endpoint->packets.held(packet.use);
  packet.pool->give_back(&packet);
}

// The packet's memory and that of its message are not in use any more.
void Poster::release(OutgoingPacket& packet) {
  --core_.posts;
  if (packet.message != nullptr) {
    --state_of(*packet.message).posts;
    --packet.endpoint->packets.of_messages;
  }
  if (is_streamed(packet.use)) packet.endpoint->packets.streaming_bytes -= packet.packet.bytes();
  give_back(packet);
}

Status Poster::post_to_driver(OutgoingPacket& packet) {
  Endpoint& to = *packet.endpoint;
  packet.connections_left = to.state.connections_left();
  const SegmentList segments = packet.packet.segments();
  const ConnectionId connection = to.state.connection();
  if (packet.use == OutgoingPacket::Use::kPut) {
    return to.driver->post_put(connection, segments, packet.window, packet.window_offset, &packet);
  }
  if (packet.use == OutgoingPacket::Use::kWrite) {
    return to.driver->post_write(connection, segments, packet.window, packet.window_offset,
                                 &packet);
  }
  return to.driver->post_send(connection, segments, &packet);
}

std::size_t Poster::get(Endpoint& from, const ExposureToken& memory, std::uint64_t offset,
                        Segment place, OutgoingMessage& message) {
  OutgoingPacket* const packet = take_control(from, OutgoingPacket::Use::kGet);
  if (packet == nullptr) return 0;
  packet->connections_left = from.state.connections_left();
  const Result<std::size_t> posted =
      from.driver->post_get(from.state.connection(), place, memory, offset, packet);
  if (!posted.ok()) {
    give_back(*packet);
    (void)not_posted(from, posted.status());
    return 0;
  }
  packet->message = &message;
  let_wait(message, from);
  ++core_.posts;
  ++from.packets.posts;
  return *posted;
}

OutgoingPacket* Poster::take_control(Endpoint& to, OutgoingPacket::Use use) {
  OutgoingPacket* const packet = core_.controls.take(to.packets.controls);
  if (packet == nullptr) {
    core_.activate(to);
    return nullptr;
  }
  packet->endpoint = &to;
  packet->use = use;
  ++to.packets.controls;
  return packet;
}

void Poster::let_wait(OutgoingMessage& message, Endpoint& to) {
  ++state_of(message).posts;
  ++to.packets.of_messages;
}

void Poster::post(OutgoingPacket& packet) {
  ++core_.posts;
  Endpoint& to = *packet.endpoint;
  if (packet.message != nullptr) let_wait(*packet.message, to);
  if (is_streamed(packet.use)) to.packets.streaming_bytes += packet.packet.bytes();
  to.queue.unposted = &packet;
  (void)retry_unposted(to);
}

bool Poster::retry(Endpoint& to) { return retry_unposted(to) && finish_lent(to); }

bool Poster::retry_unposted(Endpoint& to) {
  if (to.queue.unposted == nullptr) return true;
  OutgoingPacket& packet = *to.queue.unposted;
  const Status status = post_to_driver(packet);
  if (status.again()) {
    core_.activate(to);
    return false;
  }
  if (status.error()) {
    core_.fail_posts(to, status);
    return false;
  }
  to.queue.unposted = nullptr;
  count_sent(to, packet.packet.bytes());
  if (status.in_progress()) {
    ++to.packets.posts;
  } else {
    release(packet);
  }
  return true;
}

// False: the driver took nothing.
bool Poster::not_posted(Endpoint& to, const Status& posted) {
  if (posted.again()) {
    core_.activate(to);
  } else {
    core_.fail_posts(to, posted);
  }
  return false;
}

void Poster::wait_for_pieces(Endpoint& to, OutgoingMessage& message, std::uint64_t left) {
  to.queue.unfinished = {left, &message};
  let_wait(message, to);
  ++core_.posts;
  (void)finish_lent(to);
}

bool Poster::finish_lent(Endpoint& to) {
  std::uint64_t& left = to.queue.unfinished.left;
  OutgoingMessage* const message = to.queue.unfinished.message;
  const auto build = [&](Packet& packet) {
    return fill_packet(core_, packet, to, *message->source);
  };
  while (left > 0) {
    LentPacket<decltype(build)> piece(&core_.lent, left, message->run_bytes, build);
    const Status posted = to.driver->post_lent(to.state.connection(), piece);
    if (!posted.ok()) return not_posted(to, posted);
    left = piece.left();
  }
  if (message != nullptr) forget_pieces(to);
  return true;
}

// They left, or never will.
void Poster::forget_pieces(Endpoint& to) {
  --core_.posts;
  --state_of(*to.queue.unfinished.message).posts;
  --to.packets.of_messages;
  to.queue.unfinished = {};
}

namespace {

class ControlFrame final : public PacketWriter {
 public:
  ControlFrame(const Frame& frame, Segment body)
      : PacketWriter(kFrameBytes + body.size), frame_(frame), body_(body) {}

 private:
  void write_next(Segment room) override {
    encode_frame(frame_, room.begin());
    if (body_.size > 0) std::memcpy(room.begin() + kFrameBytes, body_.data, body_.size);
  }

  const Frame& frame_;
  const Segment body_;
};

}  // namespace

bool Poster::post_control(Endpoint& to, Frame& frame, Segment body, OutgoingMessage* message) {
  if (!to.state.live() || to.state.refused() || to.queue.is_posting()) return false;
  const bool first = frame.kind == FrameKind::kHello;
  if (!first) frame.credit = to.credit.returnable();
  frame.body_bytes = static_cast<std::uint32_t>(body.size);
  const std::size_t bytes = kFrameBytes + body.size;
  if (first || message != nullptr || to.link.lent_bytes < bytes) {
    return post_as_packet(to, frame, body, message);
  }
  ControlFrame control(frame, body);
  if (!post_lent(to, control, bytes)) return false;
  to.credit.returned(frame.credit);
  return true;
}

// Where no memory is lent, or not yet, or a message waits until it has left.
bool Poster::post_as_packet(Endpoint& to, const Frame& frame, Segment body,
                            OutgoingMessage* message) {
  OutgoingPacket* const packet = take_control(to, OutgoingPacket::Use::kControl);
  if (packet == nullptr) return false;
  packet->packet.reset(1, core_.controls.packet_bytes());
  const Segment room = packet->packet.staging_room();
  encode_frame(frame, room.begin());
  if (body.size > 0) std::memcpy(room.begin() + kFrameBytes, body.data, body.size);
  packet->packet.stage(kFrameBytes + body.size);

  const Status status = post_to_driver(*packet);
  if (status.again() || status.error()) {
    give_back(*packet);
    if (status.again()) {
      core_.activate(to);
    } else {
      core_.fail_posts(to, status);
    }
    return false;
  }
  to.credit.returned(frame.credit);
  count_sent(to, packet->packet.bytes());
  if (status.in_progress()) {
    ++core_.posts;
    ++to.packets.posts;
    packet->message = message;
    if (message != nullptr) let_wait(*message, to);
  } else {
    give_back(*packet);
  }
  return true;
}

// A message whose last packet did not leave fails; one that waits in a list fails with its
// endpoint.
void Poster::posted(OutgoingPacket& packet, const Status& status) {
  Endpoint& to = *packet.endpoint;
  OutgoingMessage* const message = packet.message;
  const bool by_this_connection = packet.connections_left == to.state.connections_left();
  --to.packets.posts;
  release(packet);
  if (status.error() && by_this_connection) core_.fail_posts(to, status);
  if (message == nullptr) return;
  auto& phase = state_of(*message).phase;
  if (status.error() && phase == OutgoingPhase::kFinished) phase = OutgoingPhase::kFailed;
  core_.finish_if_done(*message);
}

void Poster::drop_unposted(Endpoint& to) {
  OutgoingMessage* message = to.queue.unfinished.message;
  if (message != nullptr) forget_pieces(to);
  if (to.queue.unposted != nullptr) {
    OutgoingPacket& packet = *to.queue.unposted;
    message = packet.message;
    to.queue.unposted = nullptr;
    release(packet);
  }
  if (message == nullptr) return;
  auto& phase = state_of(*message).phase;
  if (phase == OutgoingPhase::kFinished) phase = OutgoingPhase::kFailed;
  core_.finish_if_done(*message);
}

}  // namespace mad
