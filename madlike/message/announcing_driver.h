// AnnouncingDriver: for tests, an engine's driver that also hands out pieces of packets that the
// test announces, as fabrics do that read lengths from a peer's memory.
#ifndef MADLIKE_MESSAGE_ANNOUNCING_DRIVER_H_
#define MADLIKE_MESSAGE_ANNOUNCING_DRIVER_H_

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>

#include "madlike/driver/loopback/loopback.h"
#include "tests/support/bytes.h"

namespace mad {

class AnnouncingDriver final : public LoopbackDriver {
 public:
  using LoopbackDriver::LoopbackDriver;

  void announce(ConnectionId from, const Bytes& piece, std::size_t rest) {
    // Of the piece's length, so that a sanitizer sees who reads on.
    auto memory = std::make_unique<std::byte[]>(piece.size());
    std::copy(piece.begin(), piece.end(), memory.get());
    Completion received;
    received.kind = Completion::Kind::kReceived;
    received.connection = from;
    received.bytes = {memory.get(), piece.size()};
    received.rest = rest;
    received.buffer = memory.get();
    announced_.push_back(received);
    buffers_[memory.get()] = std::move(memory);
  }
  std::size_t poll(Completion* out, std::size_t capacity) override {
    if (announced_.empty()) return LoopbackDriver::poll(out, capacity);
    *out = announced_.front();
    announced_.pop_front();
    return 1;
  }
  void release(void* buffer) override {
    if (buffers_.erase(buffer) == 0) LoopbackDriver::release(buffer);
  }
  bool all_released() const { return buffers_.empty(); }

 private:
  std::deque<Completion> announced_;
  std::map<void*, std::unique_ptr<std::byte[]>> buffers_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_ANNOUNCING_DRIVER_H_
