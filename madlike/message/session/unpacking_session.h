// UnpackingSession: a Madeleine message on its way in, taken apart by the mirrored sequence of
// calls.
//
// The sender's pieces are asked for in the order in which they were packed and with their sizes; a
// call that does not mirror them fails with a sentence and never waits for what will not come.
// kExpress: the bytes are there when unpack() returns.  kCheaper: when end() returns; they are
// placed as they arrive, and several long pieces may be on their way at once.
//
// Chunks that nobody asked for stay with the messenger, whose credit bounds them; this side holds
// one staged chunk, a record for each of at most kMostPending pieces that were asked for and have
// not come, and a few words for each chunk announced.
#ifndef MADLIKE_MESSAGE_SESSION_UNPACKING_SESSION_H_
#define MADLIKE_MESSAGE_SESSION_UNPACKING_SESSION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/bytes_payload.h"
#include "madlike/message/session/inbound_message.h"
#include "madlike/message/session/operations.h"
#include "madlike/message/session/waiter.h"

namespace mad {

enum class ReceiveMode { kExpress, kCheaper };

/// A piece whose memory is not one run: who writes it, and its bytes.
struct PieceSink {
  std::unique_ptr<PayloadSink> sink;
  std::uint64_t bytes = 0;
};

class UnpackingSession {
 public:
  static constexpr std::size_t kSlots = 8;
  static constexpr std::size_t kMostPending = 256;

  /// Throws std::bad_alloc, before it takes `message`.
  UnpackingSession(const Waiter& waiter, std::unique_ptr<InboundMessage>&& message);
  UnpackingSession(const UnpackingSession&) = delete;
  UnpackingSession& operator=(const UnpackingSession&) = delete;

  /// kTruncated, kProtocol: the sender's piece is longer, or shorter or not there; kPeerFailed,
  /// kClosed: the sender went before the message was complete; kCorrupt: bytes of it changed on
  /// their way; kNoMemory; or what a piece's sink says of it.  All are final.
  Status unpack(Segment memory, ReceiveMode mode);
  Status unpack(PieceSink piece, ReceiveMode mode);

  /// Waits until every piece is in place and the sender has ended the message.  kTruncated: it has
  /// more pieces.  Afterwards, and after any error, no memory of the caller is used any more.
  /// Does not throw std::bad_alloc.
  Status end();

  /// The chunks, which the hub adds to; whoever does calls advance().
  InboundMessage& message() const { return *message_; }
  /// Serves the pieces that were asked for, as far as their bytes are here.  Does not throw
  /// std::bad_alloc, also where there is no memory to say what is wrong.
  void advance();

 private:
  struct Piece {
    Segment run;  // or else:
    PieceSink layout;
    std::uint64_t number = 0;
    std::uint64_t bytes() const { return layout.sink ? layout.bytes : run.size; }
  };
  // A long piece on its way into its place.
  struct Slot final : IncomingOperation {
    void finished(std::uint64_t bytes, const Status& status) override;
    UnpackingSession* session = nullptr;
    bool busy = false;
    Piece piece;
    BytesSink run;
  };
  // The staged chunk on its way into staged_.
  struct Arriving final : IncomingOperation {
    void finished(std::uint64_t bytes, const Status& status) override;
    UnpackingSession* session = nullptr;
    bool busy = false;
    BytesSink run;
  };

  Status take(Piece piece, ReceiveMode mode);
  void serve();
  bool read_record();
  bool take_chunk();
  void receive_long(const InboundMessage::Chunk& chunk, Slot& slot);
  void receive_staged(const InboundMessage::Chunk& chunk);
  bool fits(const Piece& piece, std::uint64_t sent);
  void check(const Piece& piece);
  Slot* free_slot();
  bool in_flight(std::uint64_t piece) const;
  bool busy() const;
  bool at_end_of_message() const;
  void check_nothing_left();
  void fail(const Status& why) {
    if (!error_.error()) error_ = why;
  }
  void fail(StatusCode code, const std::string& sentence) { fail(Status(code, sentence)); }

  Waiter waiter_;
  std::unique_ptr<InboundMessage> message_;
  Status error_;  // why this message cannot be completed

  std::uint64_t pieces_ = 0;   // asked for so far
  std::deque<Piece> pending_;  // asked for, and neither in place nor on their way into it
  std::array<Slot, kSlots> slots_;
  Arriving arriving_;
  const std::unique_ptr<std::byte[]> staged_memory_;  // kMaxChunkBytes
  Segment staged_;                                    // unread records
  bool staged_last_ = false;                          // they end the message
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_UNPACKING_SESSION_H_
