// Endpoint: what the message layer knows of one peer - its routes, how far the two have come, what
// its link can do, credit both ways, and what waits to leave for it.
//
// Created and owned by the messenger, alive as long as that is, or until its user has released it
// after its end and nothing else names it.  The sender and the receiver of the messenger work on
// it; it decides nothing itself.
#ifndef MADLIKE_MESSAGE_ENDPOINT_H_
#define MADLIKE_MESSAGE_ENDPOINT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "madlike/base/clock.h"
#include "madlike/driver/driver.h"
#include "madlike/message/credit.h"
#include "madlike/message/incoming.h"
#include "madlike/message/offer_times.h"
#include "madlike/message/packet_pool.h"
#include "madlike/message/payload_sum.h"
#include "madlike/message/peer_state.h"
#include "madlike/message/send_queue.h"
#include "madlike/message/wire.h"

namespace mad {

inline constexpr std::size_t kMaxAddressBytes = 64;  // what a driver may have (driver.h)

class Endpoint {
 public:
  /// `its_driver` is the first route's.
  Endpoint(std::vector<Route> its_routes, Driver* its_driver)
      : driver(its_driver), routes(std::move(its_routes)) {}

  /// Whether another frame of a message may be built now.
  bool can_post() const { return state.may_send() && !queue.is_posting(); }
  /// Whether another message may leave now, before none that was sent earlier.
  bool can_start() const { return can_post() && queue.first_frames.empty(); }

  /// Whether the peer may still be reached by a route that was not tried: nothing came by this one.
  bool may_detour() const { return state.may_reconnect() && taken + 1 < routes.size(); }
  const Route& route() const { return routes[taken]; }

  /// Whether nothing but its user names it any more.
  bool unused() const {
    return state.told_gone() && !active && packets.posts == 0 && arrivals == 0;
  }

  Driver* driver;                   // of the route taken
  const std::vector<Route> routes;  // at least one, in the order in which they are tried
  std::size_t taken = 0;            // index of the one that it is reached by, or tried
  std::string tried;                // what was wrong with those before
  void* user_data = nullptr;

  /// Attempts to connect that ended for reasons that may pass.
  struct Attempts {
    unsigned failed = 0;
    PolledClock::time_point first;  // when the first one had failed
    PolledClock::time_point next;   // when it is tried again, if `waits`
    bool waits = false;
  };
  Attempts attempts;

  PeerState state;
  bool foreign = false;  // its greeting is another than ours
  LinkCaps link;         // of its connection; before the peer's HELLO nothing is known of it
  Credit credit;
  SendQueue queue;
  bool active = false;  // in the messenger's list of endpoints with something to send

  /// What it said, if it is foreign.
  struct Greeting {
    std::array<std::byte, kMaxGreetingBytes> bytes{};
    std::size_t size = 0;
  };
  Greeting greeting;

  std::size_t arrivals = 0;      // messages of it in the table of incoming ones
  ByLength<OfferTimes> offers;   // of payload that it offers us
  ByLength<OffersMade> offered;  // and we it

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

  /// Packets in the driver's hands; all but `posts` count the unposted packet, too.
  struct Packets {
    /// How many it holds of those that packets for `use` are taken from.
    std::size_t& held(OutgoingPacket::Use use) {
      const bool small = use == OutgoingPacket::Use::kControl || use == OutgoingPacket::Use::kGet;
      if (small) return controls;
      return is_streamed(use) ? streaming : first;
    }

    std::size_t posts = 0;
    std::size_t of_messages = 0;  // that messages wait for
    std::size_t controls = 0;
    std::size_t first = 0;      // first frames
    std::size_t streaming = 0;  // streamed payload
    std::uint64_t streaming_bytes = 0;
  };
  Packets packets;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_ENDPOINT_H_
