// InboundMessage: the chunks of one Madeleine message that have arrived and were not taken yet.
//
// It exists from the message's first chunk on, also for a message that nobody has begun to unpack,
// and so it is small: the chunks' bytes stay with the messenger.
#ifndef MADLIKE_MESSAGE_SESSION_INBOUND_MESSAGE_H_
#define MADLIKE_MESSAGE_SESSION_INBOUND_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/chunk.h"

namespace mad {

class InboundMessage {
 public:
  struct Chunk {
    ChunkHeader::Kind kind;
    bool last;
    std::uint64_t bytes;
    IncomingMessage* message;
  };

  InboundMessage(Messenger& messenger, Endpoint& from, std::uint32_t number)
      : messenger_(messenger), from_(from), number_(number) {}
  InboundMessage(const InboundMessage&) = delete;
  InboundMessage& operator=(const InboundMessage&) = delete;

  Endpoint& from() const { return from_; }
  std::uint32_t number() const { return number_; }

  /// The next chunk has arrived.  Throws std::bad_alloc, before it names `message`.
  void add(const ChunkHeader& header, std::uint64_t payload_bytes, IncomingMessage* message);
  /// No further chunk will come, or none that makes sense.
  void fail_rest(const Status& why) {
    if (!rest_.error()) rest_ = why;
  }
  /// Why no further chunk will come; ok: more may.
  const Status& rest() const { return rest_; }
  bool announced_all() const { return announced_all_; }

  bool empty() const { return taken_ == chunks_.size(); }
  const Chunk& front() const { return chunks_[taken_]; }
  /// Takes the front chunk; its message is the caller's to accept.
  Chunk take();
  /// Gives the chunks back that nobody took.
  void discard();

 private:
  Messenger& messenger_;
  Endpoint& from_;
  const std::uint32_t number_;
  std::uint32_t next_sequence_ = 0;
  bool announced_all_ = false;
  Status rest_;
  std::vector<Chunk> chunks_;
  std::size_t taken_ = 0;  // of chunks_
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_INBOUND_MESSAGE_H_
