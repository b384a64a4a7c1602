// Receiver: everything of a messenger that arrives - checks frames against the state of their
// connection, puts payload where it belongs, and tells the user's events.
//
// A frame is checked in full before it has any effect.  Its events are the last thing that happens
// to it, so they may call back into the messenger.
#ifndef MADLIKE_MESSAGE_RECEIVER_H_
#define MADLIKE_MESSAGE_RECEIVER_H_

#include <cstdint>

#include "madlike/message/core.h"
#include "madlike/message/sender.h"
#include "madlike/message/wire.h"

namespace mad {

class Receiver {
 public:
  Receiver(Core& core, Sender& sender) : core_(core), sender_(sender) {}

  /// Handles one packet from a live endpoint and releases its buffer.  A violation, or a goodbye,
  /// decides the endpoint's end.
  void packet(Endpoint& from, Segment bytes, void* buffer);

  Status accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes, void* context);
  void discard(IncomingMessage& message);

  /// The endpoint ended: fails what was on its way in.  Messages nobody accepted yet stay.
  void abandon(Endpoint& from);

 private:
  static void hello(Endpoint& from, const Frame& frame);
  Status message(Endpoint& from, const Frame& frame, Segment body);
  Status clear(Endpoint& from, const Frame& frame, Segment body);
  Status refuse(Endpoint& from, const Frame& frame);
  Status data(Endpoint& from, const Frame& frame, Segment body, void** buffer);
  Status placed(Endpoint& from, const Frame& frame);

  OutgoingMessage* waiting(const Endpoint& from, std::uint32_t id) const;
  IncomingMessage* receiving(const Endpoint& from, std::uint32_t id) const;
  void keep_head(IncomingMessage& message);
  void open_window(IncomingMessage& message);
  void close_window(IncomingMessage& message);
  void finish(IncomingMessage& message, const Status& status);

  Core& core_;
  Sender& sender_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_RECEIVER_H_
