// Matcher: which message goes to which receive, as MPI has it.
//
// Of the receives that take a message it goes to the one that was posted first; of the messages
// that a receive takes it gets the one that arrived first.  Both are found by hash, however many
// wait.  A Matcher owns nothing and knows no payload: receives and messages are its user's, and
// stay where they are while they wait.
//
// A message that waits is listed by its own envelope, and by what a receive of any source, of any
// tag or of both would want, once such a one was posted or asked for: then all that wait are listed
// so, at once, and later ones as they come.
#ifndef MADLIKE_MATCH_MATCHER_H_
#define MADLIKE_MATCH_MATCHER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/match/envelope.h"
#include "madlike/match/envelope_queues.h"

namespace mad {

/// Base of what a user posts.
class PostedReceive : private EnvelopeQueues::Place {
 public:
  PostedReceive() = default;
  PostedReceive(const PostedReceive&) = delete;
  PostedReceive& operator=(const PostedReceive&) = delete;
  bool waits() const { return is_in(); }
  /// What it wants; while it waits.
  const Envelope& wanted() const { return envelope; }

 private:
  friend class Matcher;
  std::uint64_t number_ = 0;  // of all receives, in the order in which they were posted
};

/// Base of what arrives.
class ArrivedMessage {
 public:
  ArrivedMessage() = default;
  ArrivedMessage(const ArrivedMessage&) = delete;
  ArrivedMessage& operator=(const ArrivedMessage&) = delete;
  bool waits() const { return places_.front().is_in(); }
  /// What it was sent with; while it waits.
  const Envelope& envelope() const { return places_.front().envelope; }

 private:
  friend class Matcher;
  struct Place : EnvelopeQueues::Place {
    ArrivedMessage* owner = nullptr;
  };
  std::array<Place, 4> places_;  // one for each kind of envelope that a receive may want
  ArrivedMessage* next_ = nullptr;
  ArrivedMessage* previous_ = nullptr;
};

class Matcher {
 public:
  Matcher() = default;
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;

  /// A receive is posted: the message that it gets, which waits no more; null: the receive waits.
  ArrivedMessage* post(PostedReceive& receive, const Envelope& wanted);
  /// A message arrived: the receive that it goes to, which waits no more; null: it waits.
  PostedReceive* arrive(ArrivedMessage& message, const Envelope& envelope) {
    PostedReceive* const receive = take(envelope);
    if (receive == nullptr) keep(message, envelope);
    return receive;
  }
  /// The receive that a message of this envelope goes to, which waits no more; null: there is none.
  PostedReceive* take(const Envelope& envelope) {
    const bool exact = receives_ == receives_of_kind_[kExact];
    return exact ? take_exact(envelope) : take_first(envelope);
  }
  /// The same, which goes on waiting.
  PostedReceive* look_for(const Envelope& envelope) {
    return receives_ == 0 ? nullptr : first_for(envelope);
  }
  /// A message that no receive waits for waits itself.
  void keep(ArrivedMessage& message, const Envelope& envelope);
  /// The message that a receive of `wanted` would get, which goes on waiting; null: there is none.
  ArrivedMessage* find(const Envelope& wanted);

  /// What waits is to wait no more.
  void cancel(PostedReceive& receive);
  void remove(ArrivedMessage& message);

  std::size_t receives() const { return receives_; }
  std::size_t messages() const { return messages_; }

  /// Calls `each(PostedReceive&)` for all that wait, in no order; it may cancel that one only.
  template <typename Each>
  void for_each_receive(const Each& each);
  /// Calls `each(ArrivedMessage&)` for all that wait, as they arrived; it may remove that one only.
  template <typename Each>
  void for_each_message(const Each& each);

  const EnvelopeQueues& waiting_receives() const { return waiting_receives_; }
  const EnvelopeQueues& waiting_messages() const { return waiting_messages_; }

 private:
  static constexpr std::size_t kKinds = 4;
  static constexpr std::size_t kExact = 0, kAnyOfSource = 1, kAnyOfTag = 2;  // or both

  static std::size_t kind_of(const Envelope& wanted) {
    return (wanted.source == kAnySource ? kAnyOfSource : kExact) +
           (wanted.tag == kAnyTag ? kAnyOfTag : kExact);
  }
  /// What a receive of this kind wants that takes a message of this envelope.
  static Envelope wanted_by(std::size_t kind, const Envelope& envelope) {
    return {envelope.context, (kind & kAnyOfSource) != 0 ? kAnySource : envelope.source,
            (kind & kAnyOfTag) != 0 ? kAnyTag : envelope.tag};
  }
  PostedReceive* take_exact(const Envelope& envelope);
  PostedReceive* take_first(const Envelope& envelope);
  PostedReceive* first_for(const Envelope& envelope);
  void list_all(std::size_t kind);

  EnvelopeQueues waiting_receives_, waiting_messages_;
  std::array<std::size_t, kKinds> receives_of_kind_{};
  std::array<bool, kKinds> listed_{true, false, false, false};  // the messages, by this kind
  std::size_t receives_ = 0, messages_ = 0;
  std::uint64_t posted_ = 0;
  ArrivedMessage* first_ = nullptr;  // of the messages, as they arrived
  ArrivedMessage* last_ = nullptr;
};

template <typename Each>
void Matcher::for_each_receive(const Each& each) {
  waiting_receives_.for_each(
      [&](EnvelopeQueues::Place& place) { each(static_cast<PostedReceive&>(place)); });
}

template <typename Each>
void Matcher::for_each_message(const Each& each) {
  for (ArrivedMessage* message = first_; message != nullptr;) {
    ArrivedMessage* const next = message->next_;
    each(*message);
    message = next;
  }
}

}  // namespace mad

#endif  // MADLIKE_MATCH_MATCHER_H_
