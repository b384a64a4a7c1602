#include "netmod/abi/self_messages.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace mad {
namespace {

// The first `size` bytes (> 0), which both have.
void copy_bytes(const Payload& from, const Payload& into, std::size_t size) {
  copy_elements(from.base, from.count, from.type, into.base, into.count, into.type, 0, size);
}

Payload run_payload(void* base, std::uint64_t bytes) {
  Payload run;
  run.base = base;
  run.count = run.bytes = bytes;
  return run;
}

}  // namespace

std::uint64_t SelfMessages::receive(const Payload& from, const Payload& into) {
  const std::uint64_t bytes = std::min(from.bytes, into.bytes);
  if (bytes > 0) copy_bytes(from, into, static_cast<std::size_t>(bytes));
  ++messages_;
  bytes_ += bytes;
  return bytes;
}

SelfMessage* SelfMessages::keep(const Payload& payload) {
  const std::uint64_t bytes = payload.bytes;
  if (bytes > longest_ || bytes > kMostKept || kept_ + bytes + kOwnBytes > kMostKept) {
    return nullptr;
  }
  KeptHead copy;
  const auto size = static_cast<std::size_t>(bytes);
  if (size > 0) {
    copy = copies_.take(size);
    if (copy == nullptr) return nullptr;
    copy_bytes(payload, run_payload(copy.get(), bytes), size);
  }
  const Payload run = run_payload(copy.get(), bytes);
  SelfMessage* const message = waiting_.acquire(run, std::move(copy), nullptr, bytes + kOwnBytes);
  kept_ += message->kept;
  unexpected_bytes_ += bytes;
  return message;
}

SelfMessage* SelfMessages::refer(const Payload& payload, mad_op* sender) {
  SelfMessage* const message = waiting_.acquire(payload, KeptHead(), sender, 0);
  ++senders_;
  return message;
}

mad_op* SelfMessages::release(SelfMessage& message) {
  mad_op* const sender = take_sender(message);
  kept_ -= message.kept;
  waiting_.release(&message);
  return sender;
}

mad_op* SelfMessages::take_sender(SelfMessage& message) {
  mad_op* const sender = std::exchange(message.sender, nullptr);
  if (sender != nullptr) --senders_;
  return sender;
}

}  // namespace mad
