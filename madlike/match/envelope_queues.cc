#include "madlike/match/envelope_queues.h"

#include <new>
#include <utility>

namespace mad {
namespace {

constexpr unsigned kHashBits = 64;
constexpr unsigned kLeastBits = 6;

}  // namespace

EnvelopeQueues::EnvelopeQueues()
    : chains_(std::size_t{1} << kLeastBits), shift_(kHashBits - kLeastBits) {}

// The one behind it is the first one now, if there is one.
void EnvelopeQueues::replace_first(const Place& place, Place** named) {
  if (place.next == &place) {
    *named = place.chained;
    --envelopes_;
    return;
  }
  Place& second = *place.next;
  second.first = true;
  second.chained = place.chained;
  *named = &second;
}

void EnvelopeQueues::grow() {
  std::vector<Place*> chains;
  try {
    chains.resize(2 * chains_.size());
  } catch (const std::bad_alloc&) {
    return;
  }
  --shift_;
  for (Place* place : chains_) {
    while (place != nullptr) {
      Place* const another = place->chained;
      Place*& chain = chains[chain_of(place->envelope)];
      place->chained = chain;
      chain = place;
      place = another;
    }
  }
  chains_ = std::move(chains);
}

}  // namespace mad
