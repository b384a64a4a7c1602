// Credit: bytes of heads that an engine and one peer may send each other before somebody waits for
// them - what we may send, and what the peer has used of ours.
//
// Credit goes back in the frames that leave anyhow.  Where the two take turns it waits a little for
// the next one; kept in mind is only who spoke last.
#ifndef MADLIKE_MESSAGE_CREDIT_H_
#define MADLIKE_MESSAGE_CREDIT_H_

#include <algorithm>
#include <cstdint>

#include "madlike/message/wire.h"

namespace mad {

class Credit {
 public:
  /// The peer grants us so much, once.
  void grant(std::uint64_t bytes) { granted_ = available_ = bytes; }
  /// Bytes that we may send.
  std::uint64_t available() const { return available_; }
  /// Whether so much was granted, but is not there now.
  bool is_short_of(std::uint64_t bytes) const { return bytes > available_ && bytes <= granted_; }
  void spend(std::uint64_t bytes) { available_ -= bytes; }
  /// Whether the peer has so much of what it granted.
  bool may_regain(std::uint64_t bytes) const { return bytes <= granted_ - available_; }
  void regain(std::uint64_t bytes) { available_ += bytes; }

  /// The peer sent a head: so much of ours is used.
  void charge(std::uint64_t bytes) { charged_ += bytes; }
  /// What the peer has not been given back.
  std::uint64_t charged() const { return charged_; }
  /// So much of that has left our memory, and is to be given back.
  void release(std::uint64_t bytes) { to_return_ += bytes; }
  std::uint64_t to_return() const { return to_return_; }
  /// The part of it that one frame can carry.
  std::uint32_t returnable() const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(to_return_, kMostFrameCredit));
  }
  /// So much is on its way back.
  void returned(std::uint32_t bytes) {
    to_return_ -= bytes;
    charged_ -= bytes;
    held_turns_ = 0;
  }

  /// A message left for the peer; one of the peer's came.
  void we_spoke() { asked_ = false; }
  void peer_spoke() {
    answers_ = !asked_;
    asked_ = true;
  }
  /// Whether the two of us take turns, so that our answer may come soon.
  bool takes_turns() const { return answers_; }
  /// How many turns of progress what is to be given back has waited for it, this one too.
  std::uint32_t hold() { return ++held_turns_; }

 private:
  std::uint64_t granted_ = 0;
  std::uint64_t available_ = 0;
  std::uint64_t charged_ = 0;
  std::uint64_t to_return_ = 0;
  std::uint32_t held_turns_ = 0;
  bool asked_ = false;    // the last message between us was the peer's
  bool answers_ = false;  // the one before was ours
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_CREDIT_H_
