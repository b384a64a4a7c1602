// Poster: between the frames of a messenger and its drivers - takes packets from the pools, posts
// them, and keeps, per endpoint, the one packet that the driver pushed back.
//
// A packet's life: take(), fill it, post(), then either the driver copied it (back to the pool), or
// it has it (posted() gives it back), or it is the endpoint's `unposted` packet, which retry()
// posts. Nothing is built for an endpoint that has an unposted packet, so there is at most one.
#ifndef MADLIKE_MESSAGE_POSTER_H_
#define MADLIKE_MESSAGE_POSTER_H_

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/core.h"
#include "madlike/message/wire.h"

namespace mad {

class Poster {
 public:
  explicit Poster(Core& core) : core_(core) {}

  /// A staging packet for `to`, or null: the pool's or the endpoint's share is in use.
  OutgoingPacket* take(Endpoint& to, OutgoingPacket::Use use);
  /// A taken packet that is not needed.
  void give_back(OutgoingPacket& packet);

  /// Gives the packet to the driver, now or later.  Does not finish its message.
  void post(OutgoingPacket& packet);
  /// Posts the unposted packet, if there is one; false when it stays.
  bool retry(Endpoint& to);
  /// Posts a small frame with credit to return added; false when that cannot be done now, and
  /// nothing has happened.
  bool post_control(Endpoint& to, Frame frame, Segment body = {});

  /// The driver is done with the packet.
  void posted(OutgoingPacket& packet, const Status& status);
  /// Forgets the unposted packet of an endpoint that ended.
  void drop_unposted(Endpoint& to);

 private:
  void let_wait(OutgoingMessage& message, Endpoint& to);
  static Status post_to_driver(OutgoingPacket& packet);
  void count_sent(const OutgoingPacket& packet);
  void release(OutgoingPacket& packet);

  Core& core_;
};

/// Appends payload of `message`, at most `limit` bytes, and returns how many.
std::uint64_t fill_packet(Core& core, OutgoingPacket& packet, OutgoingMessage& message,
                          std::uint64_t limit);

/// The part of the endpoint's credit to return that one frame can carry.
std::uint32_t returnable_credit(const Endpoint& endpoint);
/// That credit is on its way.
void credit_returned(Endpoint& endpoint, std::uint32_t bytes);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_POSTER_H_
