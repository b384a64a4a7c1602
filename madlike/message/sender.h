// Sender: everything of a messenger that leaves - builds frames, in the order they are due.
//
// Per endpoint, first frames keep the order of the calls; clearances and credit go before them;
// payload of several messages interleaves packet by packet.  Of many small messages in a row the
// later ones are collected, where the fabric can let them leave together.  Clearances and credit
// are state of the endpoint until the driver has taken their frame, so they never need more memory
// than that.  No function here calls the user's events.
#ifndef MADLIKE_MESSAGE_SENDER_H_
#define MADLIKE_MESSAGE_SENDER_H_

#include <cstddef>
#include <cstdint>

#include "madlike/message/core.h"
#include "madlike/message/poster.h"
#include "madlike/message/streamer.h"

namespace mad {

class Sender {
 public:
  explicit Sender(Core& core) : core_(core), poster_(core), streamer_(core, poster_) {}

  /// Messenger::send_header() and send(), when the endpoint has a connection.
  Status send_header(Endpoint& to, std::uint8_t handler, Segment header);
  Status send(Endpoint& to, std::uint8_t handler, Segment header, OutgoingMessage& message);
  /// Messenger::send_at_once().
  Status send_at_once(Endpoint& to, std::uint8_t handler, Segment header, PayloadSource& source,
                      std::uint64_t payload_bytes, std::uint64_t run_bytes);
  /// Messenger::send_short().
  bool send_short(Endpoint& to, const TaggedHeader& header, Segment payload);
  bool send_short(Endpoint& to, const TaggedHeader& header, const WholePayload& payload);

  /// Messenger::put(), and get() with a place for the bytes.
  Status access(Endpoint& peer, const ExposureToken& memory, std::uint64_t offset, std::byte* into,
                OutgoingMessage& access);

  /// Says that all of a message, of so many bytes, was read.  False: it cannot leave now, as others
  /// wait to, or the fabric takes nothing.
  bool tell_taken(Endpoint& to, std::uint32_t id, std::uint64_t bytes);
  /// Queues a message in phase kClearing or kRefusing and posts its frame if that can be done now,
  /// or, if it `just_arrived` in this turn of progress, at the latest at the end of that.
  void clear(IncomingMessage& message, bool just_arrived);
  /// The receiver of `message` said where the rest goes: it starts to stream.
  void stream(OutgoingMessage& message) { streamer_.start(message); }

  /// Posts what can be posted now, a bounded number of packets; returns whether there is more to do
  /// soon: that bound ended it, or credit waits for an answer.
  bool pump(Endpoint& to);
  /// Whether pump() may still have something to do.
  bool has_work(const Endpoint& to) const;

  /// A kSent or kWritten completion.
  void posted(OutgoingPacket& packet, const Status& status) { poster_.posted(packet, status); }
  /// The endpoint ended: drops what waits there and fails its outgoing messages.
  void abandon(Endpoint& to);

 private:
  bool is_one_of_many(Endpoint& to, std::size_t header, std::uint64_t payload, bool soon) const;
  struct Opening;
  template <typename Payload>
  class ShortPacket;
  template <typename Payload>
  bool post_short(Endpoint& to, const TaggedHeader& header, const Payload& payload);
  bool start(Endpoint& to, Opening& opening);
  void undo(OutgoingMessage& message);
  bool start_with(Endpoint& to, const Opening& opening, std::uint64_t head);
  bool may_be_short(const Endpoint& to, const Opening& opening) const;
  void build(Endpoint& to, Packet& packet, const Opening& opening, std::uint64_t head);
  void fill_rest(Endpoint& to, Packet& packet, PayloadSource& source);
  void expect_answer(Endpoint& to, OutgoingMessage& message, std::uint64_t head, Frame* frame);
  static bool may_be_written_whole(const Endpoint& to, const OutgoingMessage& message);
  static bool is_offered_in_runs(const Endpoint& to, const OutgoingMessage& message);
  bool stays(const Endpoint& to, const OutgoingMessage& message) const;
  bool may_be_offered(const Endpoint& to, const OutgoingMessage& message) const;
  bool is_offered(const Endpoint& to, const OutgoingMessage& message) const;
  std::uint64_t head_limit(const Endpoint& to, const OutgoingMessage& message,
                           std::size_t before) const;

  bool credit_is_due(const Endpoint& to) const;
  bool return_credit(Endpoint& to);
  bool post_hello(Endpoint& to);
  void post_goodbye(Endpoint& to);
  bool post_clearance(Endpoint& to);
  bool start_next(Endpoint& to);
  void fail(OutgoingMessage& message);

  Core& core_;
  Poster poster_;
  Streamer streamer_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SENDER_H_
