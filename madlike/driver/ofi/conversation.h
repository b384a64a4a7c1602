// Conversation: what one side of a connection keeps of the packets between the two: whose they are,
// what either may send, and what is here in part.
#ifndef MADLIKE_DRIVER_OFI_CONVERSATION_H_
#define MADLIKE_DRIVER_OFI_CONVERSATION_H_

#include <cstddef>
#include <cstdint>

#include "madlike/driver/ofi/credit.h"
#include "madlike/driver/ofi/header.h"

namespace mad {

struct Conversation {
  explicit Conversation(std::uint64_t its_tag) : tag(its_tag) {}

  /// Of the next packet to the peer; what is owed to the peer goes with it.
  OfiHeader header(OfiHeader::Kind kind, std::size_t bytes_left = 0) {
    OfiHeader made;
    made.tag = peer_tag;
    made.rest = static_cast<std::uint32_t>(bytes_left);
    made.credit = credit.give();
    made.kind = kind;
    return made;
  }

  /// A packet of the peer's has come, with this header.  Null; or what it sent and may not.
  const char* arrived(const OfiHeader& packet) {
    const bool may = packet.kind == OfiHeader::Kind::kLast || credit.arrived();
    return may ? nullptr : "more than it may";
  }
  /// It is the next in order, with so many bytes behind its header.  Null; or what is wrong.
  const char* take(const OfiHeader& packet, std::size_t bytes) {
    const bool has_bytes = packet.kind == OfiHeader::Kind::kPacket;
    if (has_bytes && rest != 0 && bytes + packet.rest != rest) {
      return "a piece that is none of its packet's";
    }
    if (has_bytes) rest = packet.rest;
    return credit.add_given(packet.credit) ? nullptr : "more credit than there is";
  }

  const std::uint64_t tag;     // in packets to us
  std::uint64_t peer_tag = 0;  // in packets to the peer, once it is known
  Credit credit;
  std::uint32_t rest = 0;  // bytes of a packet that is here in part
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_CONVERSATION_H_
