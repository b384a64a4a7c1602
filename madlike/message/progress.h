// Progress: one turn of a messenger - takes the drivers' completions, hands them to the sender and
// the receiver, posts what waits, and tells the user what ended.
//
// The only place that calls on_sent() and on_peer_gone().
#ifndef MADLIKE_MESSAGE_PROGRESS_H_
#define MADLIKE_MESSAGE_PROGRESS_H_

#include <array>
#include <cstddef>
#include <vector>

#include "madlike/message/core.h"
#include "madlike/message/peers.h"
#include "madlike/message/receiver.h"
#include "madlike/message/reconnects.h"
#include "madlike/message/sender.h"

namespace mad {

class Progress {
 public:
  Progress(Core& core, Peers& peers, Sender& sender, Receiver& receiver)
      : core_(core),
        peers_(peers),
        sender_(sender),
        receiver_(receiver),
        reconnects_(core, peers) {}

  /// Returns the number of completions handled.
  std::size_t turn();
  /// Takes the next packet of an endpoint's, if that is a tagged message, short or with its payload
  /// offered, that is received by who is waiting for it: whether it was.  `waits`: its caller does
  /// nothing else.
  bool take_from(Endpoint& from, bool waits);
  /// The same of the next packet that is found, of any endpoint.
  bool take_from_any(bool waits);
  /// No end of a peer is still to be carried out or told.
  bool ends_told() const { return core_.ending.empty() && gone_.empty(); }
  /// The next turn has something to do, whatever the drivers say.
  bool has_work() const {
    return more_to_post_ || !core_.finished.empty() || !ends_told() || holds_collected();
  }

 private:
  static constexpr std::size_t kBatch = 32;  // completions taken by one poll

  /// Whether messages wait for this turn to leave together.
  bool holds_collected() const;
  std::size_t take_arrivals();
  std::size_t poll_fabrics();
  /// The number of packets of a fabric that were handled where they arrived: up to a tagged
  /// message, unless it is the first, that no receive waits for.  And whether one did for any.
  std::size_t take_in_place(std::size_t fabric, bool* waited_for);
  bool takes_single() const;
  Driver::Look look_of_any() const;
  bool take_single(Driver& driver, Endpoint& from, Segment packet);
  /// `count` completions of a fabric stand in the batch.  Stays out of turn(), as most polls are
  /// empty.
  [[gnu::noinline]] std::size_t handle_all(std::size_t fabric, std::size_t count);
  void handle(std::size_t fabric, const Completion& completion);
  void pump_active();
  void deliver_sent();
  void check_refused();
  void carry_out_ends();
  void tell_gone();

  Core& core_;
  Peers& peers_;
  Sender& sender_;
  Receiver& receiver_;
  Reconnects reconnects_;
  std::vector<Endpoint*> gone_;  // on_peer_gone() is still to be called
  std::array<Completion, kBatch> batch_;
  std::size_t first_active_ = 0;
  std::uint32_t turns_without_all_ = 0;  // fabrics, since all were polled
  bool more_to_post_ = false;            // the sender has more to do soon, for some endpoint
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PROGRESS_H_
