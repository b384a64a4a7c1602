// Poster: between the frames of a messenger and its drivers - takes packets from the pools, posts
// them, and keeps, per endpoint, the one packet that the driver pushed back.
//
// A packet's life: take(), fill it, post(), then either it has left (back to the pool), or the
// driver has it (posted() gives it back), or it is the endpoint's `unposted` packet, which retry()
// posts. Nothing is built for an endpoint that has an unposted packet, so there is at most one.
// The packet's message is not complete before it has left this process, though its payload was
// copied: who is told that it is complete may not come back for long.
//
// Where the driver lends its memory no packet is taken: post_lent() builds it right there.  A head
// may leave in pieces then, and finish_lent() posts those that the driver had no room for.
#ifndef MADLIKE_MESSAGE_POSTER_H_
#define MADLIKE_MESSAGE_POSTER_H_

#include <algorithm>
#include <array>
#include <cstddef>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/core.h"
#include "madlike/message/wire.h"

namespace mad {

class Poster {
 public:
  static constexpr std::size_t kMostShort = 256;  // bytes

  explicit Poster(Core& core) : core_(core) {}

  /// A staging packet for `to`, or null: the endpoint's share of the pool is in use.
  OutgoingPacket* take(Endpoint& to, OutgoingPacket::Use use);
  /// A taken packet that is not needed.
  void give_back(OutgoingPacket& packet);

  /// Gives the packet to the driver, now or later.  Does not finish its message.
  void post(OutgoingPacket& packet);
  /// Posts the unposted packet, if there is one; false when it stays.
  bool retry(Endpoint& to);
  /// Has the driver lend memory for one packet of `bytes`, in which `build(Packet&)` builds it, or
  /// as much as there is room for: what is left is payload of `message`.  False when the driver had
  /// no memory, and `build` was not called.
  template <typename Build>
  bool post_lent(Endpoint& to, std::size_t bytes, OutgoingMessage* message, const Build& build);
  /// The same for a packet of at most caps().short_bytes and kMostShort, built here and copied;
  /// `build` may have been called in vain.
  template <typename Build>
  bool post_short(Endpoint& to, std::size_t bytes, const Build& build);
  /// Posts the other pieces; false when some stay.  Does not finish their message.
  bool finish_lent(Endpoint& to);

  /// Posts a small frame with credit to return added; false when that cannot be done now, and
  /// nothing has happened.  `message` waits until it has left.
  bool post_control(Endpoint& to, Frame frame, Segment body = {},
                    OutgoingMessage* message = nullptr);

  /// The driver is done with the packet.
  void posted(OutgoingPacket& packet, const Status& status);
  /// Forgets the unposted packet of an endpoint that ended, and pieces that did not leave.
  void drop_unposted(Endpoint& to);

 private:
  template <typename Build>
  class LentPacket;
  bool lent(Endpoint& to, const Status& posted);
  void forget_pieces(Endpoint& to);
  void wait_for_pieces(Endpoint& to, OutgoingMessage& message, std::uint64_t left);
  void let_wait(OutgoingMessage& message, Endpoint& to);
  static std::size_t& held(const OutgoingPacket& packet);
  static Status post_to_driver(OutgoingPacket& packet);
  void count_sent(const Endpoint& to, std::uint64_t bytes);
  void release(OutgoingPacket& packet);

  Core& core_;
};

/// Appends payload, at most `limit` bytes, and returns how many.
std::uint64_t fill_packet(Core& core, Packet& packet, PayloadSource& source, std::uint64_t limit);
/// Fills all of a packet in lent memory; a source without so much ends the endpoint.
void fill_lent(Core& core, Packet& packet, Endpoint& to, PayloadSource& source);
/// The part of the endpoint's credit to return that one frame can carry.
std::uint32_t returnable_credit(const Endpoint& endpoint);
/// That credit is on its way.
void credit_returned(Endpoint& endpoint, std::uint32_t bytes);

template <typename Build>
class Poster::LentPacket : public PacketWriter {
 public:
  LentPacket(Packet* packet, std::size_t bytes, const Build& build)
      : packet_(packet), left_(bytes), build_(build) {}
  std::size_t left() const override { return left_; }
  void write(Segment room) override {
    packet_->lend({room.data, std::min(room.size, left_)});
    left_ -= packet_->bytes_room();
    build_(*packet_);
  }

 private:
  Packet* packet_;
  std::size_t left_;
  const Build& build_;
};

template <typename Build>
bool Poster::post_lent(Endpoint& to, std::size_t bytes, OutgoingMessage* message,
                       const Build& build) {
  LentPacket<Build> packet(&core_.lent, bytes, build);
  if (!lent(to, to.driver->post_lent(to.connection, packet))) return false;
  count_sent(to, bytes);
  if (packet.left() > 0) wait_for_pieces(to, *message, packet.left());
  return true;
}

template <typename Build>
bool Poster::post_short(Endpoint& to, std::size_t bytes, const Build& build) {
  alignas(std::max_align_t) std::array<std::byte, kMostShort> room;
  const std::uint64_t staged = core_.counters.staged_bytes;
  const std::uint64_t referenced = core_.counters.referenced_bytes;
  core_.lent.lend({room.data(), bytes});
  build(core_.lent);
  if (!lent(to, to.driver->post_send(to.connection, core_.lent.segments(), nullptr))) {
    core_.counters.staged_bytes = staged;
    core_.counters.referenced_bytes = referenced;
    return false;
  }
  count_sent(to, bytes);
  return true;
}

}  // namespace mad

#endif  // MADLIKE_MESSAGE_POSTER_H_
