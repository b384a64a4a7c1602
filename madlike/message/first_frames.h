// FirstFrames: messages of one endpoint whose first frame has not left yet, in the order they were
// sent.
//
// Each keeps a copy of its header and, with a payload, its OutgoingMessage; payload is never copied
// here.  Memory is taken per waiting message and given back when it leaves, but for that of a few
// short headers, so it is bounded by what the user sends without waiting.  While the fabric keeps
// up, only small messages of which there are many pass through here.
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
    std::size_t room = 0;                                  // for the header
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
  using List = Fifo<Waiting, Link>;

  Waiting* take(std::size_t header_bytes);
  static void free(Waiting* waiting);

  List list_;
  List spares_;  // to be used again
  std::size_t spare_count_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_FIRST_FRAMES_H_
