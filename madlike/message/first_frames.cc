#include "madlike/message/first_frames.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace mad {
namespace {

constexpr std::size_t kShortHeader = 64;
constexpr std::size_t kMostSpares = 32;

}  // namespace

FirstFrames::~FirstFrames() {
  while (!empty()) pop();
  while (!spares_.empty()) free(spares_.pop());
}

FirstFrames::Waiting* FirstFrames::take(std::size_t header_bytes) {
  if (header_bytes <= kShortHeader && !spares_.empty()) {
    --spare_count_;
    return spares_.pop();
  }
  const std::size_t room = std::max(header_bytes, kShortHeader);
  void* const memory = ::operator new(sizeof(Waiting) + room, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const waiting = new (memory) Waiting;
  waiting->room = room;
  return waiting;
}

void FirstFrames::free(Waiting* waiting) {
  waiting->~Waiting();
  ::operator delete(waiting);
}

bool FirstFrames::push(std::uint8_t handler, Segment header, OutgoingMessage* message) {
  Waiting* const waiting = take(header.size);
  if (waiting == nullptr) return false;
  waiting->message = message;
  waiting->handler = handler;
  waiting->header_bytes = header.size;
  if (header.size > 0) std::memcpy(waiting->header().data, header.data, header.size);
  list_.push(waiting);
  return true;
}

void FirstFrames::pop() {
  Waiting* const waiting = list_.pop();
  if (waiting->room > kShortHeader || spare_count_ == kMostSpares) return free(waiting);
  spares_.push(waiting);
  ++spare_count_;
}

}  // namespace mad
