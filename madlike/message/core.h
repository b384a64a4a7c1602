// Core: what the rooms of one messenger share - configuration, pools, tables, counters, and the
// lists that progress() works through.
//
// Callbacks of the user must run in progress() only, so whatever ends elsewhere is put in a list
// here.
#ifndef MADLIKE_MESSAGE_CORE_H_
#define MADLIKE_MESSAGE_CORE_H_

#include <cstddef>
#include <vector>

#include "madlike/message/endpoint.h"
#include "madlike/message/incoming.h"
#include "madlike/message/messenger.h"
#include "madlike/message/outgoing.h"
#include "madlike/message/packet_pool.h"

namespace mad {

struct Core {
  Core(const MessengerConfig& its_config, MessageEvents& its_events);

  /// Has pump() called for the endpoint until nothing waits there.
  void activate(Endpoint& endpoint);
  /// Decides the endpoint's end; carried out at the end of this or the next progress().
  void end(Endpoint& endpoint, const Status& why);
  /// The driver refused a post for good: nothing more is posted, but what arrived before is still
  /// taken.
  void fail_posts(Endpoint& endpoint, const Status& why);
  /// Puts a message whose last packet is complete into `finished`.
  void finish_if_done(OutgoingMessage& message);
  /// The message is done with.
  void remove(IncomingMessage& message);
  /// How far all that arrives is now.
  ArrivalMark arrival_mark() const;
  /// Bytes of a head left our memory: the peer may use them again.
  void return_credit(Endpoint& endpoint, std::uint64_t bytes);

  const MessengerConfig config;
  MessageEvents& events;
  MessageCounters counters;
  const std::uint64_t credit_threshold;  // bytes to return that are worth a frame of their own

  PacketPool packets;     // staging packets: everything with a payload or a message header
  PacketPool controls;    // small ones, so that clear-to-send never waits for payload to leave
  Packet lent{{}, 1, 0};  // what is written into memory of a driver
  OutgoingTable outgoing;
  HeadPool heads;
  IncomingTable incoming;  // whose messages have heads of the pool

  std::vector<Endpoint*> active;
  std::vector<Endpoint*> ending;
  std::vector<Endpoint*> refused;      // endpoints whose post was refused, live
  std::vector<Endpoint*> unconnected;  // that attempts failed for; live
  OutgoingList finished;
  OfferTimes::Clock::duration reading{};  // time spent on what was offered and weighed
  std::uint64_t written = 0;              // payload bytes that were placed by peers' writes
  std::uint64_t turn = 0;                 // of progress
  bool arriving = false;                  // in the part of a turn that ends with sending
  std::size_t messages = 0;               // OutgoingMessages that on_sent() was not called for
  std::size_t waiting = 0;                // first frames and clearances not built
  std::size_t posts = 0;                  // packets in the drivers' hands or unposted
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_CORE_H_
