// OfferReader: payload that peers offer, read where it is in their memory.
#ifndef MADLIKE_MESSAGE_OFFER_READER_H_
#define MADLIKE_MESSAGE_OFFER_READER_H_

#include <cstdint>

#include "madlike/message/core.h"
#include "madlike/message/sender.h"
#include "madlike/message/wire.h"

namespace mad {

class OfferReader {
 public:
  OfferReader(Core& core, Sender& sender) : core_(core), sender_(sender) {}

  /// Whether it is to be found out what is faster for so much, to read or to have it sent.
  static bool weighs(const Endpoint& from, std::uint64_t bytes);

  /// Reads the first `bytes` of an offer that is at `address` in the peer's memory, and learns how
  /// long that takes.
  Status read(Endpoint& from, std::uint64_t address, std::uint64_t bytes, ScatteredMemory& memory);
  /// Reads all of an offer to `place`, if it is not better sent, and tells the sender.  False: it
  /// was not read, and what is at `place` may be anything.
  bool read_all(Endpoint& from, const Frame& offer, void* place);

 private:
  void tell_taken(Endpoint& from, std::uint32_t id, std::uint64_t bytes);

  Core& core_;
  Sender& sender_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_OFFER_READER_H_
