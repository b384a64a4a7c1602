#include "madlike/message/first_frames.h"

#include <cstring>
#include <new>

namespace mad {

FirstFrames::~FirstFrames() {
  while (!empty()) pop();
}

bool FirstFrames::push(std::uint8_t handler, Segment header, OutgoingMessage* message) {
  void* const memory = ::operator new(sizeof(Waiting) + header.size, std::nothrow);
  if (memory == nullptr) return false;
  auto* const waiting = new (memory) Waiting;
  waiting->message = message;
  waiting->handler = handler;
  waiting->header_bytes = header.size;
  if (header.size > 0) std::memcpy(waiting->header().data, header.data, header.size);
  list_.push(waiting);
  return true;
}

void FirstFrames::pop() {
  Waiting* const waiting = list_.pop();
  waiting->~Waiting();
  ::operator delete(waiting);
}

}  // namespace mad
