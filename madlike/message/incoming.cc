#include "madlike/message/incoming.h"

#include <new>
#include <utility>

namespace mad {

IncomingMessage* IncomingTable::add() {
  if (free_ == nullptr && !grow()) return nullptr;
  IncomingMessage* const message = free_;
  free_ = message->next;
  message->next = nullptr;
  message->phase = IncomingMessage::Phase::kArriving;
  return message;
}

IncomingMessage* IncomingTable::find(std::uint32_t id) const {
  if (id == 0 || id > messages_.size()) return nullptr;
  IncomingMessage* const message = messages_[id - 1];
  return message->phase == IncomingMessage::Phase::kFree ? nullptr : message;
}

void IncomingTable::remove(IncomingMessage& message) {
  const std::uint32_t id = message.id;
  message.~IncomingMessage();
  new (&message) IncomingMessage;  // half the work of an assignment
  message.id = id;
  message.next = free_;
  free_ = &message;
}

bool IncomingTable::grow() {
  try {
    if (messages_.capacity() - messages_.size() < kSlabMessages) {
      messages_.reserve(2 * messages_.size() + kSlabMessages);
    }
    auto slab = std::make_unique<IncomingMessage[]>(kSlabMessages);
    slabs_.push_back(std::move(slab));
  } catch (const std::bad_alloc&) {
    return false;
  }
  IncomingMessage* const first = slabs_.back().get();
  for (std::size_t i = 0; i < kSlabMessages; ++i) {
    messages_.push_back(&first[i]);
    first[i].id = last_id();
    first[i].next = i + 1 < kSlabMessages ? &first[i + 1] : nullptr;
  }
  free_ = first;
  return true;
}

}  // namespace mad
