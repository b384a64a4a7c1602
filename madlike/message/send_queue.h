// SendQueue: what waits to leave for one peer, and the packet that is on its way out.
//
// First frames keep the order of the calls.  Of many small messages in a row the later ones are
// collected, to leave together; so are the clearances of messages that arrived together.
#ifndef MADLIKE_MESSAGE_SEND_QUEUE_H_
#define MADLIKE_MESSAGE_SEND_QUEUE_H_

#include <cstdint>

#include "madlike/message/first_frames.h"
#include "madlike/message/incoming.h"
#include "madlike/message/outgoing.h"
#include "madlike/message/packet_pool.h"

namespace mad {

struct SendQueue {
  /// Small messages that leave at once, each in its own time, between two turns of progress.  Those
  /// that follow are collected: most programs that send so many send more.
  static constexpr std::uint32_t kAtOnce = 8;
  static constexpr std::uint32_t kTogether = 16;  // that many leave together

  /// Whether a packet has to leave before any other.
  bool is_posting() const { return unposted != nullptr || unfinished.left > 0; }
  /// The message that waits for it, if one does.
  OutgoingMessage* posting() const {
    return unposted == nullptr ? unfinished.message : unposted->message;
  }
  /// Whether frames of messages wait.
  bool has_frames() const {
    return !first_frames.empty() || !streaming.empty() || !clearances.empty();
  }
  /// Whether a part of any message of ours is still to leave.
  bool holds_messages() const {
    return is_posting() || !first_frames.empty() || !streaming.empty();
  }

  /// Whether another small message is one of many.  `soon`: the second one is, since a turn of
  /// progress follows that it may wait for.
  bool is_one_of_many(std::uint64_t turn, bool soon) const {
    return (turn_ == turn ? sent_of_turn_ : 0) >= (soon ? 1 : kAtOnce);
  }
  /// Another small message is sent.
  void count_small(std::uint64_t turn) {
    if (turn_ != turn) sent_of_turn_ = 0;
    turn_ = turn;
    ++sent_of_turn_;
  }
  /// A message was queued, as one of many or not.  Whether the queue is to be sent now.
  bool count_queued(bool one_of_many) {
    if (one_of_many) ++collected_;
    return collected_ == kTogether || (collected_ > 0 && !one_of_many);
  }
  bool has_collected() const { return collected_ > 0; }
  /// What was collected is on its way.
  void forget_collected() { collected_ = 0; }

  /// Queues the clearance of a message that arrived in this turn (`just_arrived`), or before.
  /// Whether it may leave now: not if it is one of many that arrived together.
  bool push_clearance(IncomingMessage& message, bool just_arrived, std::uint64_t turn) {
    const bool together = just_arrived && cleared_in_turn_ == turn;
    const bool first = clearances.empty();
    clearances.push(&message);
    cleared_in_turn_ = turn;
    return first && !together;
  }

  IncomingList clearances;   // clear-to-send and refusals
  FirstFrames first_frames;  // of messages that have not begun to leave
  OutgoingList streaming;    // messages whose rest is leaving

  OutgoingPacket* unposted = nullptr;  // built, but the driver pushed back
  /// The packet in lent memory of which some pieces have left.
  struct Unfinished {
    std::uint64_t left = 0;              // bytes to come, all of them payload
    OutgoingMessage* message = nullptr;  // whose payload it is; it waits for them
  };
  Unfinished unfinished;

 private:
  std::uint64_t turn_ = 0;             // in which the last small message was sent
  std::uint32_t sent_of_turn_ = 0;     // small messages
  std::uint32_t collected_ = 0;        // of first_frames, those that only others keep waiting
  std::uint64_t cleared_in_turn_ = 0;  // when the last clearance was queued
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SEND_QUEUE_H_
