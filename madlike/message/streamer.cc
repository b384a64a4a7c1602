#include "madlike/message/streamer.h"

#include <algorithm>

namespace mad {

void Streamer::start(OutgoingMessage& message) {
  auto& state = state_of(message);
  state.phase = OutgoingPhase::kStreaming;
  state.endpoint->streaming.push(&message);
  core_.activate(*state.endpoint);
}

bool Streamer::next(Endpoint& to) {
  if (to.streaming.empty() || !to.can_post()) return false;
  OutgoingMessage& message = *to.streaming.front();
  auto& state = state_of(message);
  bool moved = false;
  if (!state.has_window) {
    moved = data(to, message);
  } else if (state.sent < state.accepted) {
    moved = write(to, message);
  } else {
    moved = placed(to, message);
  }
  if (!moved) return false;
  to.streaming.pop();
  if (state.phase == OutgoingPhase::kFinished) {
    core_.finish_if_done(message);
  } else {
    to.streaming.push(&message);
  }
  return true;
}

// Of the rest, what a packet with so much room carries.
std::uint64_t Streamer::limit(OutgoingMessage& message, std::uint64_t room) {
  const auto& state = state_of(message);
  const std::uint64_t most = std::min(room, state.accepted - state.sent);
  return message.flush_bytes > 0 ? std::min<std::uint64_t>(most, message.flush_bytes) : most;
}

// The next bytes; 0 ends the endpoint, whose receiver would wait for ever.
std::uint64_t Streamer::fill(Endpoint& to, Packet& packet, OutgoingMessage& message,
                             std::uint64_t room) {
  const std::uint64_t most = limit(message, std::min<std::uint64_t>(room, packet.bytes_room()));
  std::uint64_t bytes = most;
  if (packet.lent()) {
    fill_lent(core_, packet, to, *message.source);
  } else {
    bytes = fill_packet(core_, packet, *message.source, most);
  }
  if (bytes == 0) core_.end(to, {StatusCode::kInternal, "a payload source gave no bytes"});
  state_of(message).sent += bytes;
  return bytes;
}

bool Streamer::data(Endpoint& to, OutgoingMessage& message) {
  if (to.link.lends_memory) {
    const std::size_t bytes =
        kFrameBytes + limit(message, to.driver->caps().piece_bytes - kFrameBytes);
    return poster_.post_lent(to, bytes, &message,
                             [&](Packet& packet) { (void)build_data(to, packet, message); });
  }
  OutgoingPacket* const packet = poster_.take(to, OutgoingPacket::Use::kData);
  if (packet == nullptr) return false;
  if (!build_data(to, packet->packet, message)) {
    poster_.give_back(*packet);
    return false;
  }
  packet->message = &message;
  poster_.post(*packet);
  return true;
}

bool Streamer::build_data(Endpoint& to, Packet& packet, OutgoingMessage& message) {
  auto& state = state_of(message);
  std::byte* const place = packet.staging_room().begin();
  packet.stage(kFrameBytes);
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.id = state.peer_id;
  frame.offset = state.sent;
  frame.length = fill(to, packet, message, state.accepted);
  if (frame.length > 0 && core_.config.checksum) add_checksum(packet, frame);
  frame.body_bytes = static_cast<std::uint32_t>(frame.length);
  frame.credit = returnable_credit(to);
  credit_returned(to, frame.credit);
  encode_frame(frame, place);
  if (state.sent == state.accepted) state.phase = OutgoingPhase::kFinished;
  return frame.length > 0;
}

bool Streamer::write(Endpoint& to, OutgoingMessage& message) {
  OutgoingPacket* const packet = poster_.take(to, OutgoingPacket::Use::kWrite);
  if (packet == nullptr) return false;
  auto& state = state_of(message);
  const Window::Place place = state.window.place(state.sent - state.window_start);
  packet->window = state.window.token;
  packet->window_offset = place.offset;
  const std::uint64_t bytes = fill(to, packet->packet, message, place.bytes);
  if (bytes == 0) {
    poster_.give_back(*packet);
    return false;
  }
  core_.counters.written_bytes += bytes;
  packet->message = &message;
  poster_.post(*packet);
  if (state.sent == state.accepted) (void)placed(to, message);
  return true;
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
