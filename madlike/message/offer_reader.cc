#include "madlike/message/offer_reader.h"

namespace mad {
namespace {

// Of an offer of which less is wanted nothing is learned.
constexpr std::uint64_t kLeastWeighed = 16 * 1024;

// Memory that is listed as what it is.
class OneRun final : public ScatteredMemory {
 public:
  explicit OneRun(Segment run) : run_(run) {}
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t /*capacity*/) override {
    *out = {run_.begin() + offset, static_cast<std::size_t>(size)};
    return 1;
  }

 private:
  const Segment run_;
};

}  // namespace

bool OfferReader::weighs(const Endpoint& from, std::uint64_t bytes) {
  return from.link.weighs_offers && bytes >= kLeastWeighed;
}

Status OfferReader::read(Endpoint& from, std::uint64_t address, std::uint64_t bytes,
                         ScatteredMemory& memory) {
  OfferTimes* const times = weighs(from, bytes) ? &from.offers.of(bytes) : nullptr;
  const bool timed = times == nullptr || times->wants_time();
  const auto begin = timed ? OfferTimes::Clock::now() : OfferTimes::Clock::time_point();
  Status read = from.driver->read_offered(from.state.connection(), address, bytes, memory);
  if (timed) {
    const auto took = OfferTimes::Clock::now() - begin;
    core_.reading += took;
    if (times != nullptr && read.ok()) times->was_read(bytes, took);
  } else if (read.ok()) {
    core_.reading += times->was_read_untimed(bytes);
  }
  return read;
}

bool OfferReader::read_all(Endpoint& from, const Frame& offer, void* place) {
  const std::uint64_t bytes = offer.length;
  if (weighs(from, bytes) && !from.offers.of(bytes).reads(bytes)) return false;
  OneRun memory({place, static_cast<std::size_t>(bytes)});
  if (!read(from, offer.offset, bytes, memory).ok()) return false;
  tell_taken(from, offer.id, bytes);
  return true;
}

// Where that cannot leave now, it waits as the answer of a message of which nothing more is wanted.
void OfferReader::tell_taken(Endpoint& from, std::uint32_t id, std::uint64_t bytes) {
  if (sender_.tell_taken(from, id, bytes)) return;
  IncomingMessage* const message = core_.incoming.add();
  if (message == nullptr) {
    core_.end(from, {StatusCode::kNoMemory, "no memory for an answer"});
    return;
  }
  ++from.arrivals;
  message->endpoint = &from;
  message->peer_id = id;
  message->payload_bytes = message->received = bytes;
  message->phase = IncomingMessage::Phase::kRefusing;
  sender_.clear(*message, true);
}

}  // namespace mad
