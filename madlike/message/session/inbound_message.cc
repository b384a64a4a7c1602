#include "madlike/message/session/inbound_message.h"

namespace mad {

void InboundMessage::add(const ChunkHeader& header, std::uint64_t payload_bytes,
                         IncomingMessage* message) {
  if (header.sequence != next_sequence_) {
    messenger_.discard(*message);
    fail_rest(Status(StatusCode::kProtocol, "a chunk of a Madeleine message is out of sequence"));
    return;
  }
  ++next_sequence_;
  announced_all_ = header.last;
  if (empty()) {
    chunks_.clear();
    taken_ = 0;
  }
  chunks_.push_back({header.kind, header.last, payload_bytes, message});
}

InboundMessage::Chunk InboundMessage::take() { return chunks_[taken_++]; }

void InboundMessage::discard() {
  while (!empty()) messenger_.discard(*take().message);
}

}  // namespace mad
