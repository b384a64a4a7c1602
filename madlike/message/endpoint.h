// Endpoint: what the message layer knows of one peer - its connection, credit both ways, and what
// waits to leave for it.
//
// Created and owned by the messenger, alive as long as that is, or until its user has released it
// after its end and nothing else names it.  The sender and the receiver of the messenger work on
// it; it decides nothing itself.
#ifndef MADLIKE_MESSAGE_ENDPOINT_H_
#define MADLIKE_MESSAGE_ENDPOINT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/driver.h"
#include "madlike/message/credit.h"
#include "madlike/message/first_frames.h"
#include "madlike/message/incoming.h"
#include "madlike/message/outgoing.h"
#include "madlike/message/packet_pool.h"
#include "madlike/message/payload_sum.h"

namespace mad {

inline constexpr std::size_t kMaxAddressBytes = 64;  // what a driver may have (driver.h)

class Endpoint {
 public:
  enum class Life {
    kLive,    // or never contacted
    kEnding,  // its end is decided; frames of it are ignored
    kGone     // ended; on_peer_gone() follows or was called
  };

  /// `its_driver` is the first route's.
  Endpoint(std::vector<Route> its_routes, Driver* its_driver)
      : driver(its_driver), routes(std::move(its_routes)) {}

  bool live() const { return life == Life::kLive; }
  /// Whether a packet has to leave before any other.
  bool is_posting() const { return unposted != nullptr || unfinished.left > 0; }
  /// Whether another frame may be built now.  Before the peer's HELLO none is: without its credit
  /// even the smallest message would wait for whoever receives it.
  bool can_post() const {
    return live() && !post_failed && hello_sent && hello_received && !goodbye_sent && !is_posting();
  }

  /// Whether its connection, if that ends, was not worth anything yet: another may be made.
  bool may_reconnect() const { return live() && !hello_received && !leaving; }
  /// Whether the peer may still be reached by a route that was not tried: nothing came by this one.
  bool may_detour() const { return may_reconnect() && taken + 1 < routes.size(); }
  const Route& route() const { return routes[taken]; }

  /// Whether nothing but its user names it any more.
  bool unused() const { return told_gone && !active && posts == 0 && arrivals == 0; }

  Driver* driver;                      // of the route taken
  const std::vector<Route> routes;     // at least one, in the order in which they are tried
  std::size_t taken = 0;               // index of the one that it is reached by, or tried
  std::uint32_t connections_left = 0;  // how often it took another one
  std::string tried;                   // what was wrong with those before
  void* user_data = nullptr;

  /// Attempts to connect that ended for reasons that may pass.
  struct Attempts {
    unsigned failed = 0;
    PolledClock::time_point first;  // when the first one had failed
    PolledClock::time_point next;   // when it is tried again, if `waits`
    bool waits = false;
  };
  Attempts attempts;

  Life life = Life::kLive;
  Status end;  // why it is ending or gone, or why posts fail
  bool has_connection = false;
  ConnectionId connection = 0;
  bool hello_sent = false;
  bool hello_received = false;
  LinkCaps link;         // of the connection; before the peer's HELLO nothing is known of it
  bool leaving = false;  // we are: goodbye follows everything else
  bool goodbye_sent = false;
  bool told_gone = false;           // on_peer_gone() was called
  bool post_failed = false;         // the driver refused for good; the connection's end is awaited
  std::uint32_t refused_turns = 0;  // since then
  bool active = false;              // in the messenger's list of endpoints with something to send

  Credit credit;

  std::size_t arrivals = 0;  // messages of it in the table of incoming ones

  /// The packet of it that arrives in pieces, while some is missing.
  struct Begun {
    /// Whether a piece of `bytes`, which `rest` more are said to follow, is what has to come.
    bool may_be_next(std::size_t bytes, std::size_t rest) const {
      if (placed) return bytes == 0 && rest == 0;
      return rest < left && bytes == left - rest;
    }

    std::size_t left = 0;                // bytes to come, all of them payload
    bool placed = false;                 // by the driver, which tells when the last one is here
    std::uint64_t offset = 0;            // of the next one in that payload
    IncomingMessage* message = nullptr;  // whose payload it is; null: nobody wants it
    PayloadSum sum;                      // of what of it is here
  };
  Begun begun;

  IncomingList clearances;            // clear-to-send and refusals that wait
  std::uint64_t cleared_in_turn = 0;  // of progress, when the last one was queued
  FirstFrames first_frames;
  std::uint64_t turn = 0;          // in which the last small message was sent
  std::uint32_t sent_of_turn = 0;  // small messages
  std::uint32_t collected = 0;     // of first_frames, those that nothing but others keeps waiting
  OutgoingList streaming;          // messages whose rest is leaving
  OutgoingPacket* unposted = nullptr;  // built, but the driver pushed back

  /// The packet in lent memory of which some pieces have left.
  struct Unfinished {
    std::uint64_t left = 0;              // bytes to come, all of them payload
    OutgoingMessage* message = nullptr;  // whose payload it is; it waits for them
  };
  Unfinished unfinished;

  // Packets in the driver's hands; the others count the unposted packet, too.
  std::size_t posts = 0;
  std::size_t message_posts = 0;      // that messages wait for
  std::size_t control_packets = 0;    // of the pool of controls
  std::size_t first_packets = 0;      // of the staging pool, first frames
  std::size_t streaming_packets = 0;  // and streamed payload
  std::uint64_t streaming_bytes = 0;  // posted or unposted of it
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_ENDPOINT_H_
