#include "madlike/message/session/inbound_message.h"

namespace mad {

void InboundMessage::add(const ChunkHeader& header, std::uint64_t payload_bytes,
                         IncomingMessage* message) {
  if (header.sequence != next_sequence_) {
    messenger_.discard(*message);
    fail_rest(Status(StatusCode::kProtocol, "a chunk of a Madeleine message is out of sequence"));
    return;
  }
  // Also while some wait all the time: what is kept of a message does not grow with its length.
  if (2 * taken_ >= chunks_.size()) {
    chunks_.erase(chunks_.begin(), chunks_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  chunks_.push_back({header.kind, header.last, payload_bytes, message});
  ++next_sequence_;
  announced_all_ = header.last;
}

InboundMessage::Chunk InboundMessage::take() { return chunks_[taken_++]; }

void InboundMessage::discard() {
  while (!empty()) messenger_.discard(*take().message);
}

}  // namespace mad
