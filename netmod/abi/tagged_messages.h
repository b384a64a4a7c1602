// TaggedMessages: the receives of one engine that wait for tagged messages, and the messages that
// wait for receives.
//
// A Matcher says which belong together; how a message of a peer is moved to where its receive wants
// it is the engine's.  What the engine sends itself is matched as it is sent (SelfMessages).
#ifndef NETMOD_ABI_TAGGED_MESSAGES_H_
#define NETMOD_ABI_TAGGED_MESSAGES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/plan/plan.h"
#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/match/matcher.h"
#include "madlike/message/messenger.h"
#include "netmod/abi/mad.h"
#include "netmod/abi/payload.h"
#include "netmod/abi/peer.h"
#include "netmod/abi/self_messages.h"
#include "netmod/abi/slab_pool.h"

/// A message that has come and is neither received nor discarded.
struct mad_incoming {
  mad::IncomingMessage* message;
  std::uint64_t payload_bytes;
  std::uint32_t peer;                          // its number
  const mad::Policy* policy;                   // for what comes from it
  const mad::Architecture* foreign = nullptr;  // its machine, if that represents data otherwise
};

namespace mad {

/// Owner of a copy of what a message took along, in the memory of its engine's pool.
class KeptValue {
 public:
  using Bytes = std::array<std::byte, kMostValueBytes>;
  using Pool = SlabPool<Bytes>;

  KeptValue() = default;
  /// Throws std::bad_alloc.
  KeptValue(Pool* pool, Segment value) : pool_(pool), bytes_(pool->acquire()) {
    std::memcpy(bytes_->data(), value.data, value.size);
  }
  KeptValue(KeptValue&& other) noexcept
      : pool_(other.pool_), bytes_(std::exchange(other.bytes_, nullptr)) {}
  KeptValue& operator=(KeptValue&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~KeptValue() {
    if (bytes_ != nullptr) pool_->release(bytes_);
  }
  const void* data() const { return bytes_; }

 private:
  Pool* pool_ = nullptr;
  Bytes* bytes_ = nullptr;  // null: nothing is kept
};

}  // namespace mad

struct mad_receive final : mad::PostedReceive {
  mad_receive(const mad::Payload& its_payload, mad_path its_path, mad_op* its_op)
      : payload(its_payload), path(its_path), op(its_op) {}
  [[gnu::always_inline]] inline ~mad_receive() = default;
  const mad::HeldPayload payload;
  const mad_path path;
  mad_op* const op;
  mad_arrival arrival;   // once it has its message, if that is not here
  mad::KeptValue value;  // the arrival's
};

struct mad_message final : mad::ArrivedMessage {
  mad_message(const mad_incoming& its_incoming, const mad_arrival& its_arrival)
      : incoming(its_incoming), arrival(its_arrival) {}
  mad_message(mad::SelfMessage* its_own, const mad_arrival& its_arrival)
      : incoming(), own(its_own), arrival(its_arrival) {}
  const mad_incoming incoming;            // of a peer's
  mad::SelfMessage* const own = nullptr;  // of the engine's own; else null
  mad_arrival arrival;
  mad::KeptValue value;  // the arrival's
};

namespace mad {

class TaggedMessages {
 public:
  /// `longest_kept` is how many bytes of a message to oneself are kept at most.
  TaggedMessages(mad_engine& engine, std::uint64_t longest_kept)
      : engine_(engine), own_(longest_kept) {}

  /// Sends a message to the engine itself.  ok: done, it was received or is kept; kInProgress: the
  /// engine tells `op` when it was received, or will not be; kAgain: that would be so, and `op` is
  /// null.  One that is `answered` is not kept.
  Status send_to_self(const TaggedHeader& header, bool answered, const Payload& payload,
                      mad_op* op);

  /// ok: `*arrival` was received; kInProgress: the engine tells when, until then `*receive` names
  /// it; error: of the message `*arrival`, which is gone.
  Status receive(const Envelope& wanted, const Payload& payload, mad_path path, mad_op* op,
                 mad_receive** receive, mad_arrival* arrival);
  /// Receives the next message of a peer, null: of any, if it is here, goes to no receive that was
  /// posted, is a short one or offers its payload, and has nothing that has to be looked at: no
  /// flags, no note, not longer than the memory, and as long if that is a layout or `how` has
  /// MAD_WHOLE. MAD_WAITS: it is looked for during a moment.  False: it was not received, and the
  /// memory may hold anything.
  bool receive_next(Endpoint* from, const Envelope& wanted, const Payload& payload,
                    std::uint32_t how, mad_arrival* arrival);
  /// Whether there is a message that a receive would get: one that waits, or the next of a peer,
  /// null: of any, which stays where it arrived.
  bool probe_next(Endpoint* from, const Envelope& wanted, bool waits, mad_arrival* arrival);
  /// As receive(), of a message that was claimed, whatever it returns.
  Status receive(mad_message& message, const Payload& payload, mad_path path, mad_op* op,
                 mad_receive** receive, mad_arrival* arrival);
  /// Whether it waited, and is no more.
  bool cancel(mad_receive& receive);

  /// The message that a receive would get, of those that wait; null: there is none.
  mad_message* find(const Envelope& wanted);
  /// The same, also of what probe_next() has shown, which is taken in then.
  mad_message* find_shown(const Envelope& wanted);
  /// It is one that waits for no receive any more.
  void claim(mad_message& message) { matcher_.remove(message); }
  void discard(mad_message& message);

  /// A message came that is all here: whether a receive had waited for it.
  bool take(Endpoint& from, const TaggedHeader& header, Segment payload);
  /// The same of one that offers its payload.
  bool take_offered(Endpoint& from, const TaggedHeader& header, std::uint64_t bytes,
                    OfferedPayload& offered);
  /// A message came.
  void arrived(Endpoint& from, const TaggedHeader& header, const mad_incoming& incoming);
  /// The message of a receive is in place, or will not be.
  void finished(mad_receive& receive, std::uint64_t bytes, const Status& status);

  /// The engine ends: those who wait get back their slots.
  void give_back(const Status& why);

  template <typename Each>
  void for_each_waiting(const Each& each) {
    matcher_.for_each_receive(
        [&](PostedReceive& receive) { each(static_cast<mad_receive&>(receive)); });
  }
  std::size_t waiting_receives() const { return matcher_.receives(); }
  std::size_t waiting_messages() const { return matcher_.messages(); }
  const SelfMessages& own() const { return own_; }

 private:
  /// A receive that is not posted, or a probe.
  struct Next {
    const Envelope& wanted;
    const Payload* payload;  // null: a probe
    bool whole;
    mad_arrival* arrival;
    mutable bool found = false;  // by the probe
  };
  /// Makes it known while it lives.
  class Asking {
   public:
    Asking(const Next** place, const Next& next) : place_(place) { *place_ = &next; }
    ~Asking() { *place_ = nullptr; }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    const Next** place_;
  };
  bool look_at_next(Endpoint* from, const Envelope& wanted, bool waits, mad_arrival* arrival);
  bool goes_to_next(const TaggedHeader& header, std::uint64_t bytes);
  bool shows_next(Endpoint& from, const TaggedHeader& header, std::uint64_t bytes);
  void is_taken(const Endpoint& from);
  void tell_next(const TaggedHeader& header, std::uint64_t bytes);
  bool take_next(Endpoint& from, const TaggedHeader& header, Segment payload);
  bool take_next_offered(Endpoint& from, const TaggedHeader& header, std::uint64_t bytes,
                         OfferedPayload& offered);
  void finish(mad_receive& receive, mad_arrival* arrival, std::uint64_t bytes, int status);
  void receive_own(mad_message& message, const Payload& payload, mad_arrival* arrival);
  void release_own(mad_message& message);
  KeptValue keep(mad_arrival* arrival);

  mad_engine& engine_;
  Matcher matcher_;
  const Next* next_ = nullptr;  // while receive_next() or probe_next() looks for its message
  std::vector<const Endpoint*> shown_;  // whose next message was shown and is not taken yet
  KeptValue::Pool values_;              // before what keeps some
  KeptValue told_;                      // of the last receive that a call completed
  KeptValue::Bytes next_value_;         // of the last message that receive_next() received
  SelfMessages own_;
  SlabPool<mad_receive> receives_;
  SlabPool<mad_message> messages_;
};

}  // namespace mad

#endif  // NETMOD_ABI_TAGGED_MESSAGES_H_
