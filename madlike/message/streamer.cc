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

// The next bytes, at most `limit`; 0 ends the endpoint, whose receiver would wait for ever.
std::uint64_t Streamer::fill(OutgoingPacket& packet, OutgoingMessage& message,
                             std::uint64_t limit) {
  auto& state = state_of(message);
  limit = std::min<std::uint64_t>({limit, state.accepted - state.sent, packet.packet.bytes_room()});
  if (message.flush_bytes > 0) limit = std::min(limit, message.flush_bytes);
  const std::uint64_t bytes = fill_packet(core_, packet, message, limit);
  if (bytes == 0) {
    core_.end(*packet.endpoint, {StatusCode::kInternal, "a payload source gave no bytes"});
    poster_.give_back(packet);
  }
  state.sent += bytes;
  return bytes;
}

bool Streamer::data(Endpoint& to, OutgoingMessage& message) {
  OutgoingPacket* const packet = poster_.take(to, OutgoingPacket::Use::kData);
  if (packet == nullptr) return false;
  auto& state = state_of(message);
  std::byte* const place = packet->packet.staging_room().begin();
  packet->packet.stage(kFrameBytes);
  Frame frame;
  frame.kind = FrameKind::kData;
  frame.id = state.peer_id;
  frame.offset = state.sent;
  frame.length = fill(*packet, message, state.accepted);
  if (frame.length == 0) return false;
  if (core_.config.checksum) add_checksum(packet->packet, frame);
  frame.body_bytes = static_cast<std::uint32_t>(frame.length);
  frame.credit = returnable_credit(to);
  credit_returned(to, frame.credit);
  encode_frame(frame, place);
  if (state.sent == state.accepted) state.phase = OutgoingPhase::kFinished;
  poster_.post(*packet);
  return true;
}

bool Streamer::write(Endpoint& to, OutgoingMessage& message) {
  OutgoingPacket* const packet = poster_.take(to, OutgoingPacket::Use::kWrite);
  if (packet == nullptr) return false;
  auto& state = state_of(message);
  const Window::Place place = state.window.place(state.sent - state.window_start);
  packet->window = state.window.token;
  packet->window_offset = place.offset;
  if (fill(*packet, message, place.bytes) == 0) return false;
  poster_.post(*packet);
  return true;
}

// The fabric brings it after the bytes.
bool Streamer::placed(Endpoint& to, OutgoingMessage& message) {
  auto& state = state_of(message);
  Frame frame;
  frame.kind = FrameKind::kPlaced;
  frame.id = state.peer_id;
  frame.length = state.accepted;
  if (!poster_.post_control(to, frame)) return false;
  state.phase = OutgoingPhase::kFinished;
  return true;
}

}  // namespace mad
