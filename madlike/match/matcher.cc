#include "madlike/match/matcher.h"

namespace mad {

ArrivedMessage* Matcher::post(PostedReceive& receive, const Envelope& wanted) {
  ArrivedMessage* const message = messages_ == 0 ? nullptr : find(wanted);
  if (message != nullptr) {
    remove(*message);
    return message;
  }
  receive.envelope = wanted;
  receive.number_ = posted_++;
  waiting_receives_.push(receive);
  ++receives_of_kind_[kind_of(wanted)];
  ++receives_;
  return nullptr;
}

// Of each kind the one that was posted first; of those the same.
PostedReceive* Matcher::first_for(const Envelope& envelope) {
  PostedReceive* first = nullptr;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (receives_of_kind_[kind] == 0) continue;
    auto* const one =
        static_cast<PostedReceive*>(waiting_receives_.front(wanted_by(kind, envelope)));
    if (one != nullptr && (first == nullptr || one->number_ < first->number_)) first = one;
  }
  return first;
}

PostedReceive* Matcher::take_first(const Envelope& envelope) {
  PostedReceive* const first = first_for(envelope);
  if (first != nullptr) cancel(*first);
  return first;
}

// No receive with a wildcard waits.
PostedReceive* Matcher::take_exact(const Envelope& envelope) {
  if (receives_ == 0) return nullptr;
  auto* const receive = static_cast<PostedReceive*>(waiting_receives_.pop(envelope));
  if (receive == nullptr) return nullptr;
  --receives_of_kind_[kExact];
  --receives_;
  return receive;
}

void Matcher::cancel(PostedReceive& receive) {
  waiting_receives_.remove(receive);
  --receives_of_kind_[kind_of(receive.envelope)];
  --receives_;
}

void Matcher::keep(ArrivedMessage& message, const Envelope& envelope) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    message.places_[kind].envelope = wanted_by(kind, envelope);
    message.places_[kind].owner = &message;
    if (listed_[kind]) waiting_messages_.push(message.places_[kind]);
  }
  message.next_ = nullptr;
  message.previous_ = last_;
  (last_ == nullptr ? first_ : last_->next_) = &message;
  last_ = &message;
  ++messages_;
}

ArrivedMessage* Matcher::find(const Envelope& wanted) {
  const std::size_t kind = kind_of(wanted);
  if (!listed_[kind]) list_all(kind);
  auto* const place = static_cast<ArrivedMessage::Place*>(waiting_messages_.front(wanted));
  return place == nullptr ? nullptr : place->owner;
}

void Matcher::list_all(std::size_t kind) {
  listed_[kind] = true;
  for_each_message(
      [this, kind](ArrivedMessage& message) { waiting_messages_.push(message.places_[kind]); });
}

void Matcher::remove(ArrivedMessage& message) {
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    if (listed_[kind]) waiting_messages_.remove(message.places_[kind]);
  }
  (message.previous_ == nullptr ? first_ : message.previous_->next_) = message.next_;
  (message.next_ == nullptr ? last_ : message.next_->previous_) = message.previous_;
  --messages_;
}

}  // namespace mad
