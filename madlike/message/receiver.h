// Receiver: everything of a messenger that arrives - checks frames against the state of their
// connection, puts payload where it belongs, and tells the user's events.
//
// A frame is checked in full before it has any effect.  Its events are the last thing that happens
// to it, so they may call back into the messenger.
#ifndef MADLIKE_MESSAGE_RECEIVER_H_
#define MADLIKE_MESSAGE_RECEIVER_H_

#include <cstdint>

#include "madlike/message/core.h"
#include "madlike/message/offer_reader.h"
#include "madlike/message/sender.h"
#include "madlike/message/wire.h"

namespace mad {

class Receiver {
 public:
  Receiver(Core& core, Sender& sender) : core_(core), sender_(sender), reader_(core, sender) {}

  /// Receives a packet that is all here, from a live endpoint, if it is a short message for which a
  /// receive waits, or offers payload that one waits for.  False: nothing was done.
  bool take(Endpoint& from, Segment packet) {
    return take_short(from, packet) || take_offered(from, packet);
  }
  /// Handles a packet, or a piece of one, from a live endpoint and releases its buffer.  A
  /// violation, or a goodbye, decides the endpoint's end.
  void packet(Endpoint& from, const Completion& arrived);
  /// The same of one that is all here and that take() did not receive; its memory stays its
  /// owner's.
  void packet(Endpoint& from, Segment bytes);

  Status accept(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes, void* context);
  void discard(IncomingMessage& message);

  /// The endpoint ended: fails what was on its way in.  Messages that were kept for later stay.
  void abandon(Endpoint& from);

 private:
  class Offer;
  bool take_short(Endpoint& from, Segment packet);
  bool take_offered(Endpoint& from, Segment packet);
  bool is_better_written(IncomingMessage& message) const;
  void handle(Endpoint& from, Segment bytes, std::size_t rest, void* buffer);
  Status first_piece(Endpoint& from, Segment bytes, std::size_t rest, void** buffer);
  static void begin(Endpoint& from, const Frame& frame, std::size_t rest);
  Status next_piece(Endpoint& from, Segment bytes, std::size_t rest);
  Status hello(Endpoint& from, const Frame& frame, Segment body);
  Status short_message(Endpoint& from, Segment packet, std::size_t header_bytes, std::size_t rest);
  Status message(Endpoint& from, const Frame& frame, Segment packet);
  bool admits(const Endpoint& from, std::uint32_t credit, std::size_t head) const;
  static Status why_not(const Endpoint& from, std::uint32_t credit);
  static void admit(Endpoint& from, std::uint32_t credit, std::size_t head);
  void count(const Endpoint& from, std::uint64_t bytes);
  bool take(Endpoint& from, const TaggedHeader& header, Segment payload);
  Status deliver(Endpoint& from, const Frame& frame, Segment packet);
  Status not_heard(IncomingMessage* arrival);
  IncomingMessage* arrive(Endpoint& from, const Frame& frame, Segment head);
  Status clear(Endpoint& from, const Frame& frame, Segment body);
  Status refuse(Endpoint& from, const Frame& frame);
  Status taken(Endpoint& from, const Frame& frame);
  void wants_no_more(Endpoint& from, const Frame& frame, OutgoingMessage& message);
  Status data(Endpoint& from, const Frame& frame, Segment body, void** buffer);
  Status placed(Endpoint& from, const Frame& frame);

  OutgoingMessage* waiting(const Endpoint& from, std::uint32_t id) const;
  void check(PayloadSum& sum, Segment payload, std::size_t rest, IncomingMessage& message);
  IncomingMessage* receiving(const Endpoint& from, std::uint32_t id) const;
  static void release(const Endpoint& from, void* buffer);
  void give_credit_back(IncomingMessage& message);
  void keep_head(IncomingMessage& message);
  bool take_offer(IncomingMessage& message, PayloadSink& sink, std::uint64_t bytes);
  static void claim_rest_of_head(IncomingMessage& message);
  bool may_write(const Endpoint& peer, std::uint64_t run_bytes) const;
  void open_window(IncomingMessage& message);
  void close_window(IncomingMessage& message);
  void finish(IncomingMessage& message, const Status& status);
  void finish_head(IncomingMessage& message);

  Core& core_;
  Sender& sender_;
  OfferReader reader_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_RECEIVER_H_
