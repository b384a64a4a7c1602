#include "madlike/message/outgoing.h"

#include <new>

namespace mad {

bool OutgoingTable::reserve() {
  if (free_ != 0) return true;
  try {
    slots_.push_back({});
  } catch (const std::bad_alloc&) {
    return false;
  }
  free_ = last_id();
  return true;
}

std::uint32_t OutgoingTable::add(OutgoingMessage* message) {
  const std::uint32_t id = free_;
  Slot& slot = slots_[id - 1];
  free_ = slot.next_free;
  slot = {message, 0};
  return id;
}

void OutgoingTable::remove(std::uint32_t id) {
  slots_[id - 1] = {nullptr, free_};
  free_ = id;
}

}  // namespace mad
