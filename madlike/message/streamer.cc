#include "madlike/message/streamer.h"

#include <algorithm>

namespace mad {

void Streamer::start(OutgoingMessage& message) {
  auto& state = state_of(message);
  state.phase = OutgoingPhase::kStreaming;
  state.endpoint->queue.streaming.push(&message);
  core_.activate(*state.endpoint);
}

bool Streamer::next(Endpoint& to) {
  if (to.queue.streaming.empty() || !to.can_post()) return false;
  OutgoingMessage& message = *to.queue.streaming.front();
  auto& state = state_of(message);
  bool moved = false;
  if (!state.has_window) {
    moved = data(to, message);
  } else if (state.into != nullptr) {
    moved = get(to, message);
  } else if (state.sent < state.accepted) {
    moved = write(to, message);
  } else {
    moved = placed(to, message);
  }
  if (!moved) return false;
  to.queue.streaming.pop();
  if (state.phase == OutgoingPhase::kFinished) {
    core_.finish_if_done(message);
  } else {
    to.queue.streaming.push(&message);
  }
  return true;
}

// Bytes of the rest that the next packet may carry.
std::uint64_t Streamer::limit(OutgoingMessage& message) {
  const auto& state = state_of(message);
  const std::uint64_t rest = state.accepted - state.sent;
  return message.flush_bytes > 0 ? std::min<std::uint64_t>(rest, message.flush_bytes) : rest;
}

// The next bytes, as many as there is room for; 0 ends the endpoint, whose receiver would wait for
// ever.
std::uint64_t Streamer::fill(Endpoint& to, Packet& packet, OutgoingMessage& message) {
  const std::uint64_t bytes = fill_packet(core_, packet, to, *message.source);
  if (bytes == 0) no_bytes(core_, to);
  state_of(message).sent += bytes;
  return bytes;
}

bool Streamer::data(Endpoint& to, OutgoingMessage& message) {
  std::uint64_t bytes = kFrameBytes + limit(message);
  if (to.link.lent_bytes > 0) bytes = std::min<std::uint64_t>(bytes, to.link.lent_bytes);
  return poster_.send(to, OutgoingPacket::Use::kData, bytes, message.run_bytes, &message,
                      [&](Packet& packet) { return build_data(to, packet, message); });
}

bool Streamer::build_data(Endpoint& to, Packet& packet, OutgoingMessage& message) {
  auto& state = state_of(message);
  std::byte* const place = packet.staging_room().begin();
  packet.stage(kFrameBytes);
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.id = state.peer_id;
  frame.offset = state.sent;
  frame.length = fill(to, packet, message);
  if (frame.length > 0 && core_.config.checksum) add_checksum(packet, frame);
  frame.body_bytes = static_cast<std::uint32_t>(frame.length);
  frame.credit = to.credit.returnable();
  to.credit.returned(frame.credit);
  encode_frame(frame, place);
  if (state.sent == state.accepted) state.phase = OutgoingPhase::kFinished;
  return frame.length > 0;
}

bool Streamer::write(Endpoint& to, OutgoingMessage& message) {
  auto& state = state_of(message);
  const Window::Place place = state.window.place(state.sent - state.window_start);
  const auto build = [&](Packet& packet) {
    const std::uint64_t bytes = fill(to, packet, message);
    core_.counters.written_bytes += bytes;
    return bytes > 0;
  };
  const std::uint64_t most = std::min(limit(message), place.bytes);
  const auto use = state.one_sided ? OutgoingPacket::Use::kPut : OutgoingPacket::Use::kWrite;
  if (!poster_.write(to, use, state.window.token, place.offset, most, message, build)) return false;
  if (state.sent < state.accepted) return true;
  if (state.one_sided) {
    state.phase = OutgoingPhase::kFinished;
  } else {
    (void)placed(to, message);
  }
  return true;
}

bool Streamer::get(Endpoint& from, OutgoingMessage& message) {
  auto& state = state_of(message);
  const Segment rest{state.into + state.sent, static_cast<std::size_t>(limit(message))};
  const std::size_t bytes = poster_.get(from, state.window.token, state.sent, rest, message);
  state.sent += bytes;
  core_.counters.written_bytes += bytes;
  if (state.sent == state.accepted) state.phase = OutgoingPhase::kFinished;
  return bytes > 0;
}

// The fabric brings it after the bytes.  What cannot leave now gets another turn.
bool Streamer::placed(Endpoint& to, OutgoingMessage& message) {
  auto& state = state_of(message);
  Frame frame;
  frame.kind = FrameKind::kPlaced;
  frame.id = state.peer_id;
  frame.length = state.accepted;
  if (!poster_.post_control(to, frame, {}, &message)) return false;
  state.phase = OutgoingPhase::kFinished;
  return true;
}

}  // namespace mad
