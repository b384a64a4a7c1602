// Outgoing messages inside the message layer: their state, lists of them, and the table of ids by
// which receivers name them.  The messages themselves belong to the messenger's user.
#ifndef MADLIKE_MESSAGE_OUTGOING_H_
#define MADLIKE_MESSAGE_OUTGOING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/message/fifo.h"
#include "madlike/message/messenger.h"

namespace mad {

/// The messenger's key to the private part of an OutgoingMessage.
struct OutgoingAccess {
  using State = OutgoingMessage::State;
  using Phase = OutgoingMessage::Phase;
  static State& state(OutgoingMessage& message) { return message.state_; }
  static OutgoingMessage*& next(OutgoingMessage& message) { return message.state_.next; }
};

using OutgoingPhase = OutgoingAccess::Phase;
using OutgoingList = Fifo<OutgoingMessage, OutgoingAccess>;

inline OutgoingAccess::State& state_of(OutgoingMessage& message) {
  return OutgoingAccess::state(message);
}

/// Messages that wait for their receiver's word, by id (1...).  Grows with the largest number
/// waiting at once; ids are used again.
class OutgoingTable {
 public:
  /// Makes sure that the next add() has an id; false when memory has run out.
  bool reserve();
  std::uint32_t add(OutgoingMessage* message);
  /// The message, or null for an id that nothing has.
  OutgoingMessage* find(std::uint32_t id) const {
    return id == 0 || id > slots_.size() ? nullptr : slots_[id - 1].message;
  }
  void remove(std::uint32_t id);
  /// Ids are at most this.
  std::uint32_t last_id() const { return static_cast<std::uint32_t>(slots_.size()); }

 private:
  struct Slot {
    OutgoingMessage* message = nullptr;
    std::uint32_t next_free = 0;
  };
  std::vector<Slot> slots_;
  std::uint32_t free_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_OUTGOING_H_
