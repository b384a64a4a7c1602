// EnvelopeQueues: first-in first-out queues, one for each envelope, found by hash.
//
// The links stand in the elements, so nothing is allocated but the table, which grows with the
// number of different envelopes; where there is no memory for that it stays as it is, and slower.
#ifndef MADLIKE_MATCH_ENVELOPE_QUEUES_H_
#define MADLIKE_MATCH_ENVELOPE_QUEUES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "madlike/match/envelope.h"

namespace mad {

class EnvelopeQueues {
 public:
  /// An element's place in a queue.  It stays where it is while it is in one.
  struct Place {
    Envelope envelope;
    Place* next = nullptr;      // of the same envelope; of the last one: the first
    Place* previous = nullptr;  // of the first one: the last
    Place* chained = nullptr;   // of a first one: the first of another envelope, in the same chain
    bool first = false;

    /// Whether it is in a queue.
    bool is_in() const { return next != nullptr; }
  };

  EnvelopeQueues();
  EnvelopeQueues(const EnvelopeQueues&) = delete;
  EnvelopeQueues& operator=(const EnvelopeQueues&) = delete;

  /// Behind all others of its envelope.
  void push(Place& place) {
    Place** const head = find(place.envelope);
    if (*head != nullptr) return append(**head, place);
    place.next = place.previous = &place;
    place.chained = nullptr;
    place.first = true;
    *head = &place;
    if (++envelopes_ > chains_.size()) grow();
  }

  /// The first one of an envelope; null: there is none.
  Place* front(const Envelope& envelope) const {
    Place* place = chains_[chain_of(envelope)];
    while (place != nullptr && place->envelope != envelope) place = place->chained;
    return place;
  }

  /// Takes out the first one of an envelope; null: there is none.
  Place* pop(const Envelope& envelope) {
    Place** const named = find(envelope);
    Place* const place = *named;
    if (place != nullptr) unlink(*place, named);
    return place;
  }

  /// Takes one out that is in.
  void remove(Place& place) { unlink(place, place.first ? find(place.envelope) : nullptr); }

  /// How many lists the queues are spread over: at least one for each envelope that has a queue, if
  /// there was memory for them.
  std::size_t chains() const { return chains_.size(); }
  std::size_t envelopes() const { return envelopes_; }

  /// Calls `each(Place&)` for all, in no order; it may remove that one, and no other.
  template <typename Each>
  void for_each(const Each& each) const;

 private:
  std::size_t chain_of(const Envelope& envelope) const {
    constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15;  // 2^64 divided by the golden ratio
    const auto source = static_cast<std::uint32_t>(envelope.source);
    const auto tag = static_cast<std::uint32_t>(envelope.tag);
    const std::uint64_t sender = (std::uint64_t{envelope.context} << 32 | source) * kMix;
    return static_cast<std::size_t>((sender ^ sender >> 32 ^ tag) * kMix >> shift_);
  }
  /// Where the first one of an envelope is named, or is to be.
  Place** find(const Envelope& envelope) {
    Place** place = &chains_[chain_of(envelope)];
    while (*place != nullptr && (*place)->envelope != envelope) place = &(*place)->chained;
    return place;
  }
  static void append(Place& first, Place& place) {
    place.first = false;
    place.next = &first;
    place.previous = first.previous;
    first.previous->next = &place;
    first.previous = &place;
  }
  /// `named` is where it is named, of a first one.
  void unlink(Place& place, Place** named) {
    place.previous->next = place.next;
    place.next->previous = place.previous;
    if (place.first) replace_first(place, named);
    place.next = place.previous = nullptr;
  }
  void replace_first(const Place& place, Place** named);
  void grow();

  std::vector<Place*> chains_;  // a power of two of them
  unsigned shift_;              // of a hash's 64 bits, to have a chain's number
  std::size_t envelopes_ = 0;
};

template <typename Each>
void EnvelopeQueues::for_each(const Each& each) const {
  for (Place* chain : chains_) {
    while (chain != nullptr) {
      Place* const another = chain->chained;
      Place* place = chain->previous;  // from the last one: the first is known by what it is
      while (!place->first) {
        Place* const before = place->previous;
        each(*place);
        place = before;
      }
      each(*place);
      chain = another;
    }
  }
}

}  // namespace mad

#endif  // MADLIKE_MATCH_ENVELOPE_QUEUES_H_
