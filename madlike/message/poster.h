// Poster: between the frames of a messenger and its drivers - takes packets from the pools, posts
// them, and keeps, per endpoint, the one packet that the driver pushed back.
//
// A packet of a pool is built by send(), write() or post_control(); then either it has left (back
// to the pool), or the driver has it (posted() gives it back), or it is the endpoint's `unposted`
// packet, which retry() posts.  Nothing is built for an endpoint that has an unposted packet, so
// there is at most one.  The packet's message is not complete before it has left this process,
// though its payload was copied: who is told that it is complete may not come back for long.
//
// Where the link lends memory, send() and post_control() build the packet right there.  send()'s
// may leave in pieces then, and retry() posts those that there was no room for.
#ifndef MADLIKE_MESSAGE_POSTER_H_
#define MADLIKE_MESSAGE_POSTER_H_

#include <algorithm>
#include <cstddef>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/message/core.h"
#include "madlike/message/wire.h"

namespace mad {

class Poster {
 public:
  explicit Poster(Core& core) : core_(core) {}

  /// Has `build(Packet&)` build a packet of `bytes` at most, which is the room that the packet has,
  /// or less where the fabric takes less.  Gives it to the driver, now or later.  In lent memory
  /// all of the room is filled, and what is left of `bytes` is payload of `message`, which leaves
  /// by its source; elsewhere `build` says whether the packet is to be sent.  `run_bytes` is how
  /// long the runs are that it is copied from, about.  False: it is not sent, or there is no memory
  /// now and `build` was not called.  Does not finish the message.
  template <typename Build>
  bool send(Endpoint& to, OutgoingPacket::Use use, std::uint64_t bytes, std::uint64_t run_bytes,
            OutgoingMessage* message, const Build& build);
  /// Has `build(Packet&)` build payload of `message` that is written at `offset` in memory of the
  /// peer, or put there.  As send().
  template <typename Build>
  bool write(Endpoint& to, OutgoingPacket::Use use, const ExposureToken& window,
             std::uint64_t offset, std::uint64_t bytes, OutgoingMessage& message,
             const Build& build);
  /// Has the driver read to `place`, or a first part of it, from `offset` of memory that the peer
  /// shares: how many bytes, or 0.  Does not finish the message.
  std::size_t get(Endpoint& from, const ExposureToken& memory, std::uint64_t offset, Segment place,
                  OutgoingMessage& message);
  /// Has `packet`, of `bytes`, written to memory of the fabric.  False: it was not, as send() has
  /// it.
  [[gnu::always_inline]] inline bool post_lent(Endpoint& to, PacketWriter& packet,
                                               std::size_t bytes) {
    const Status posted = to.driver->post_lent(to.state.connection(), packet);
    if (!posted.ok()) return not_posted(to, posted);
    count_sent(to, bytes);
    return true;
  }
  /// Posts what has to leave before any other packet, if there is something; false when some of it
  /// stays.  Does not finish its message.
  bool retry(Endpoint& to);

  /// Posts a small frame, to which the credit to return and the body's length are added; false when
  /// that cannot be done now, and nothing has left.  `message` waits until the frame has left.
  bool post_control(Endpoint& to, Frame& frame, Segment body = {},
                    OutgoingMessage* message = nullptr);

  /// The driver is done with the packet.
  void posted(OutgoingPacket& packet, const Status& status);
  /// Forgets the unposted packet of an endpoint that ended, and pieces that did not leave.
  void drop_unposted(Endpoint& to);

 private:
  template <typename Build>
  class LentPacket;
  OutgoingPacket* take(Endpoint& to, OutgoingPacket::Use use, std::uint64_t bytes);
  OutgoingPacket* take_control(Endpoint& to, OutgoingPacket::Use use);
  void give_back(OutgoingPacket& packet);
  template <typename Build>
  bool build_and_post(OutgoingPacket& packet, OutgoingMessage* message, const Build& build);
  void post(OutgoingPacket& packet);
  bool post_as_packet(Endpoint& to, const Frame& frame, Segment body, OutgoingMessage* message);
  bool retry_unposted(Endpoint& to);
  bool not_posted(Endpoint& to, const Status& posted);
  bool finish_lent(Endpoint& to);
  void forget_pieces(Endpoint& to);
  void wait_for_pieces(Endpoint& to, OutgoingMessage& message, std::uint64_t left);
  void let_wait(OutgoingMessage& message, Endpoint& to);
  static Status post_to_driver(OutgoingPacket& packet);
  void count_sent(const Endpoint& to, std::uint64_t bytes) {
    DriverCounters& counters = core_.counters.drivers[to.route().driver];
    ++counters.packets_sent;
    counters.bytes_sent += bytes;
  }
  void release(OutgoingPacket& packet);

  Core& core_;
};

/// Appends payload, as much as there is room for or the packet takes, and returns how many bytes.
/// In lent memory a source without so much ends the endpoint.
std::uint64_t fill_packet(Core& core, Packet& packet, Endpoint& to, PayloadSource& source);
/// Ends the endpoint, whose receiver would wait for ever.
void no_bytes(Core& core, Endpoint& to);
template <typename Build>
class Poster::LentPacket : public PacketWriter {
 public:
  LentPacket(Packet* packet, std::size_t bytes, std::uint64_t run_bytes, const Build& build)
      : PacketWriter(bytes, run_bytes), packet_(packet), build_(build) {}

 private:
  void write_next(Segment room) override {
    packet_->lend(room);
    (void)build_(*packet_);  // lent memory always takes it
  }

  Packet* packet_;
  const Build& build_;
};

template <typename Build>
bool Poster::send(Endpoint& to, OutgoingPacket::Use use, std::uint64_t bytes,
                  std::uint64_t run_bytes, OutgoingMessage* message, const Build& build) {
  if (to.link.lent_bytes == 0) {
    OutgoingPacket* const packet = take(to, use, bytes);
    return packet != nullptr && build_and_post(*packet, message, build);
  }
  LentPacket<Build> packet(&core_.lent, bytes, run_bytes, build);
  if (!post_lent(to, packet, bytes)) return false;
  if (packet.left() > 0) wait_for_pieces(to, *message, packet.left());
  return true;
}

template <typename Build>
bool Poster::write(Endpoint& to, OutgoingPacket::Use use, const ExposureToken& window,
                   std::uint64_t offset, std::uint64_t bytes, OutgoingMessage& message,
                   const Build& build) {
  OutgoingPacket* const packet = take(to, use, bytes);
  if (packet == nullptr) return false;
  packet->window = window;
  packet->window_offset = offset;
  return build_and_post(*packet, &message, build);
}

template <typename Build>
bool Poster::build_and_post(OutgoingPacket& packet, OutgoingMessage* message, const Build& build) {
  if (!build(packet.packet)) {
    give_back(packet);
    return false;
  }
  packet.message = message;
  post(packet);
  return true;
}

}  // namespace mad

#endif  // MADLIKE_MESSAGE_POSTER_H_
