// SelfMessages: the payload of tagged messages from an engine to itself, which do not travel.
//
// It is copied from its sender's layout into its receiver's, at once where a receive waits.  A
// message that waits itself is a copy while it is short and few are kept, so that its send is done;
// else it stays in its sender's memory, and the send waits with it.  So what is kept is bounded,
// whatever the size and the number of messages.
#ifndef NETMOD_ABI_SELF_MESSAGES_H_
#define NETMOD_ABI_SELF_MESSAGES_H_

#include <cstdint>
#include <utility>

#include "madlike/message/head_pool.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/payload.h"
#include "netmod/abi/slab_pool.h"

namespace mad {

/// The payload of one that waits.
struct SelfMessage {
  SelfMessage(const Payload& its_payload, KeptHead its_copy, mad_op* its_sender,
              std::uint64_t its_kept)
      : payload(its_payload), copy(std::move(its_copy)), sender(its_sender), kept(its_kept) {}
  const HeldPayload payload;  // in its sender's memory, or the copy
  const KeptHead copy;        // null: there is none, or it has no bytes
  mad_op* sender;             // whose send waits; null: none does
  const std::uint64_t kept;   // what it counts for of what is kept
};

class SelfMessages {
 public:
  /// What is kept at most, in bytes, for which each message counts so many more than its payload.
  static constexpr std::uint64_t kMostKept = std::uint64_t{256} << 10;
  static constexpr std::uint64_t kOwnBytes = 16;

  /// `longest` is how many bytes of payload a message that is kept has at most.
  explicit SelfMessages(std::uint64_t longest) : longest_(longest) {}

  /// Copies as many bytes as both have, and counts a message; returns the bytes.
  std::uint64_t receive(const Payload& from, const Payload& into);

  /// One that waits, as a copy; null: it is too long, too much is kept, or there is no memory for
  /// the copy.  Throws std::bad_alloc.
  SelfMessage* keep(const Payload& payload);
  /// One that waits in the memory of its sender, who waits too.  Throws std::bad_alloc.
  SelfMessage* refer(const Payload& payload, mad_op* sender);
  /// It waits no more: the sender who is to be told, or null.
  mad_op* release(SelfMessage& message);

  /// Calls `each(mad_op*)` for all senders that wait, who wait no more; their messages stay.
  template <typename Each>
  void give_back_senders(const Each& each) {
    waiting_.for_each([&](SelfMessage& message) {
      if (mad_op* const sender = take_sender(message)) each(sender);
    });
  }

  std::uint64_t senders() const { return senders_; }  // that wait
  std::uint64_t messages() const { return messages_; }
  std::uint64_t bytes() const { return bytes_; }
  /// Bytes of payload of all messages that were kept.
  std::uint64_t unexpected_bytes() const { return unexpected_bytes_; }

 private:
  mad_op* take_sender(SelfMessage& message);

  std::uint64_t longest_;
  std::uint64_t kept_ = 0;
  std::uint64_t senders_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t unexpected_bytes_ = 0;
  HeadPool copies_;  // before what has some
  SlabPool<SelfMessage> waiting_;
};

}  // namespace mad

#endif  // NETMOD_ABI_SELF_MESSAGES_H_
