// FirstFrames: messages of one endpoint whose first frame could not leave yet, in the order they
// were sent.
//
// Each keeps a copy of its header and, with a payload, its OutgoingMessage; payload is never copied
// here.  Memory is taken per waiting message and given back when it leaves, so it is bounded by
// what the user sends without waiting.  Nothing passes through here while the fabric keeps up.
#ifndef MADLIKE_MESSAGE_FIRST_FRAMES_H_
#define MADLIKE_MESSAGE_FIRST_FRAMES_H_

#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/message/fifo.h"
#include "madlike/message/messenger.h"

namespace mad {

class FirstFrames {
 public:
  struct Waiting {
    Waiting* next = nullptr;
    OutgoingMessage* message = nullptr;  // null: no payload
    std::uint8_t handler = 0;
    std::size_t header_bytes = 0;
    Segment header() { return {this + 1, header_bytes}; }  // the copy follows the record
  };

  FirstFrames() = default;
  ~FirstFrames();
  FirstFrames(const FirstFrames&) = delete;
  FirstFrames& operator=(const FirstFrames&) = delete;

  bool empty() const { return list_.empty(); }
  Waiting& front() const { return *list_.front(); }
  /// False when memory has run out.
  bool push(std::uint8_t handler, Segment header, OutgoingMessage* message);
  void pop();

 private:
  struct Link {
    static Waiting*& next(Waiting& waiting) { return waiting.next; }
  };
  Fifo<Waiting, Link> list_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_FIRST_FRAMES_H_
