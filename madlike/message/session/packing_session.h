// PackingSession: a Madeleine message on its way out, built from pieces (RT-0306, section 1.2).
//
// Pieces travel in the order in which they were packed.  Short ones are copied together into
// chunks, a chunk leaves when it is full; a long one is an engine message of its own, gathered or
// written from where it is.  The modes say when the memory of a piece is free again:
//
//   kSafer    when pack() returns.  Short: copied.  Long: pack() waits until it has left.
//   kCheaper  when end() returns.
//   kLater    when end() returns, and it is read in end(), not before.  So that the order is kept,
//   it
//             holds back every piece after it until end(); kSafer ones among those are copied, at
//             most Tuning::held_bytes of them.
//
// Memory: at most kSlots chunks, the copies just named, and a record for each piece held back.  One
// chunk is there from the beginning; where there is no memory for another, it waits for one that
// leaves.  A piece that cannot be copied or held back is not taken.
#ifndef MADLIKE_MESSAGE_SESSION_PACKING_SESSION_H_
#define MADLIKE_MESSAGE_SESSION_PACKING_SESSION_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/messenger.h"
#include "madlike/message/session/bytes_payload.h"
#include "madlike/message/session/operations.h"
#include "madlike/message/session/waiter.h"

namespace mad {

enum class SendMode { kSafer, kLater, kCheaper };

struct SessionTuning {
  std::size_t chunk_bytes = 32 * 1024;   // at which a chunk of short pieces leaves; 64..65536
  std::size_t long_bytes = 4 * 1024;     // pieces from here on are messages of their own
  std::size_t held_bytes = 1024 * 1024;  // copies of kSafer pieces behind a kLater one
};

/// A piece that is not one run of memory: who reads it, its bytes, and
/// OutgoingMessage::flush_bytes.
struct PieceSource {
  std::unique_ptr<PayloadSource> source;
  std::uint64_t bytes = 0;
  std::uint64_t flush_bytes = 0;
};

class PackingSession {
 public:
  static constexpr std::size_t kSlots = 8;

  /// Message number `number` of this engine, to `to`.  Where that is this very engine, nobody
  /// unpacks while a packing call waits: then `give_up` makes the arriving side refuse the message.
  /// Throws std::bad_alloc.
  PackingSession(const Waiter& waiter, const SessionTuning& tuning, Endpoint& to,
                 std::uint32_t number, std::function<void()> give_up);
  PackingSession(const PackingSession&) = delete;
  PackingSession& operator=(const PackingSession&) = delete;

  /// After an error the message cannot be completed any more, except after kInvalidArgument or
  /// std::bad_alloc of a single piece, which was not taken.
  Status pack(Segment bytes, SendMode mode);
  Status pack(PieceSource piece, SendMode mode);

  /// Sends what is left and waits until the memory of all pieces is free, also after an error.
  /// Does not throw std::bad_alloc.
  Status end();

  Endpoint& to() const { return to_; }
  std::uint32_t number() const { return number_; }

 private:
  struct Piece {
    Segment run;  // or else:
    PieceSource layout;
    std::unique_ptr<std::byte[]> copy;  // what `run` stands in, of a copied piece
    std::uint64_t bytes() const { return layout.source ? layout.bytes : run.size; }
  };

  // One engine message in flight, or the chunk that is being filled.
  struct Slot final : OutgoingOperation {
    void finished(const Status& status) override;
    PackingSession* session = nullptr;
    bool busy = false;
    std::unique_ptr<std::byte[]> memory;  // chunk_bytes, of the first one and of who was a chunk
    BytesSource run;
    Piece piece;
  };

  Status take(Piece piece, SendMode mode);
  Status hold(Piece piece, SendMode mode);
  void send_now(Piece piece, bool wait_for_it);
  void stage(Piece& piece);
  void open_chunk();
  void flush_chunk(bool last);
  void send_rest();
  void send_long(Piece piece, bool wait_for_it);
  void post(Slot& slot, Segment header);
  Slot* free_slot(bool for_chunk);
  Slot* slot_with_memory();
  bool busy() const;
  template <typename Done>
  void wait(Done done);
  void too_long_for_oneself();

  Waiter waiter_;
  const SessionTuning tuning_;
  Endpoint& to_;
  const std::uint32_t number_;
  const std::function<void()> give_up_;  // empty: to another engine
  std::uint32_t sequence_ = 0;
  Status error_;
  std::array<Slot, kSlots> slots_;
  Slot* chunk_ = nullptr;  // being filled
  Packet records_;         // over chunk_'s memory
  std::vector<Piece> held_;
  std::size_t held_copies_ = 0;  // bytes
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_PACKING_SESSION_H_
