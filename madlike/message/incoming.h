// IncomingMessage: a payload that has arrived or is arriving; IncomingTable: all of them, by id.
//
// A message is the table's from the arrival of its first frame until it is received, refused or its
// peer is gone.  The first bytes of a payload nobody waited for (its head) are kept in memory of
// their own, which the credit granted to each peer bounds; a message without head is a record of
// fixed size.
#ifndef MADLIKE_MESSAGE_INCOMING_H_
#define MADLIKE_MESSAGE_INCOMING_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "madlike/message/fifo.h"
#include "madlike/message/head_pool.h"
#include "madlike/message/messenger.h"
#include "madlike/message/offer_times.h"

namespace mad {

class IncomingMessage {
 public:
  enum class Phase {
    kFree,      // in the table's free list
    kArriving,  // on_message() is running; the head is in the driver's buffer
    kKept,      // nobody waited; the head is in `kept`, or on its way there
    kHead,      // accepted, nothing is wanted but the head, of which some is on its way
    kClearing,  // accepted, the clear-to-send waits for its turn
    kRefusing,  // done here, the refusal waits for its turn
    kReceiving  // the rest is on its way
  };

  /// Whether what is here of the head may be read: it was kept, and nothing is wrong with it.
  bool readable() const {
    const bool sum_to_come = head_checked && head.size < head_bytes;
    return !head_lost && !sum_to_come && corrupt.ok();
  }

  Phase phase = Phase::kFree;
  bool head_lost = false;  // no memory was left to keep it
  bool by_data = false;    // the rest comes in DATA frames
  bool has_window = false;
  bool wants_window = false;     // its sender would rather write it than send it
  bool head_checked = false;     // the head came, or comes, with a checksum
  bool weighed = false;          // it was offered, and is sent since `weighed_from`
  std::uint64_t offered_at = 0;  // where all of it may be read in the sender's memory; 0: nowhere
  ArrivalMark weighed_from;
  std::uint32_t id = 0;       // ours; fixed
  std::uint32_t peer_id = 0;  // the sender's; 0 when the head is all
  Endpoint* endpoint = nullptr;
  IncomingMessage* next = nullptr;
  std::uint64_t payload_bytes = 0;
  std::uint64_t accepted = 0;  // bytes wanted
  std::uint64_t received = 0;  // bytes in place, the head counted as soon as it is accepted
  Segment head;                // of which this is here and not in place
  std::size_t head_bytes = 0;  // all of it
  std::size_t charged = 0;     // bytes of credit it holds
  KeptHead kept;
  PayloadSink* sink = nullptr;
  void* context = nullptr;
  Window window;
  Status corrupt;  // why its bytes are known to be wrong
};

struct IncomingLink {
  static IncomingMessage*& next(IncomingMessage& message) { return message.next; }
};
using IncomingList = Fifo<IncomingMessage, IncomingLink>;

class IncomingTable {
 public:
  /// A message in phase kArriving with its id; null when memory has run out.
  IncomingMessage* add();
  /// The message in use under `id`, or null.
  IncomingMessage* find(std::uint32_t id) const;
  void remove(IncomingMessage& message);
  /// Ids are at most this.
  std::uint32_t last_id() const { return static_cast<std::uint32_t>(messages_.size()); }

 private:
  static constexpr std::size_t kSlabMessages = 64;
  bool grow();

  std::vector<std::unique_ptr<IncomingMessage[]>> slabs_;
  std::vector<IncomingMessage*> messages_;  // by id - 1
  IncomingMessage* free_ = nullptr;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_INCOMING_H_
