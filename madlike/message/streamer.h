// Streamer: the rest of a payload, after its receiver said where it goes - as DATA frames, or as
// remote writes and then PLACED; and puts and gets, which nobody is told of at the peer.
//
// Messages of one endpoint take turns, a packet each.
#ifndef MADLIKE_MESSAGE_STREAMER_H_
#define MADLIKE_MESSAGE_STREAMER_H_

#include "madlike/message/core.h"
#include "madlike/message/poster.h"

namespace mad {

class Streamer {
 public:
  Streamer(Core& core, Poster& poster) : core_(core), poster_(poster) {}

  /// `message` knows what its receiver accepts; it takes its first turn in next().
  void start(OutgoingMessage& message);
  /// Posts one packet of the message whose turn it is; false when that cannot be done now.
  bool next(Endpoint& to);

 private:
  bool data(Endpoint& to, OutgoingMessage& message);
  bool write(Endpoint& to, OutgoingMessage& message);
  bool get(Endpoint& from, OutgoingMessage& message);
  bool placed(Endpoint& to, OutgoingMessage& message);
  static std::uint64_t limit(OutgoingMessage& message);
  std::uint64_t fill(Endpoint& to, Packet& packet, OutgoingMessage& message);
  bool build_data(Endpoint& to, Packet& packet, OutgoingMessage& message);

  Core& core_;
  Poster& poster_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_STREAMER_H_
