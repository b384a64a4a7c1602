// OfiHeader: what every packet between two engines begins with; docs/ofi_protocol.md.
#ifndef MADLIKE_DRIVER_OFI_HEADER_H_
#define MADLIKE_DRIVER_OFI_HEADER_H_

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "madlike/base/segment.h"
#include "madlike/driver/driver.h"

namespace mad {

/// Whose packet it is, which its receiver chose: the receiver's number of the connection, and a
/// secret.
struct OfiTag {
  static std::uint64_t make(ConnectionId id, std::uint64_t secret) {
    return (std::uint64_t{id} << 32) | (secret & 0xFFFFFFFFu);
  }
  static ConnectionId connection(std::uint64_t tag) { return static_cast<ConnectionId>(tag >> 32); }
};

struct OfiHeader {
  static constexpr std::size_t kBytes = 16;

  enum class Kind : std::uint8_t {
    kPacket = 1,  // the caller's bytes follow
    kCredit = 2,  // nothing follows: it is sent for its credit
    kLast = 3     // nothing follows, now or later: the sender leaves in good order
  };

  void write(std::byte* out) const {
    const Wire wire{htole64(tag), htole32(rest), htole16(credit), static_cast<std::uint8_t>(kind),
                    number};
    std::memcpy(out, &wire, sizeof(wire));
  }
  /// Nothing when these are no packet.
  static std::optional<OfiHeader> read(Segment packet) {
    Wire wire;
    if (packet.size < sizeof(wire)) return std::nullopt;
    std::memcpy(&wire, packet.data, sizeof(wire));
    const bool has_bytes = packet.size > sizeof(wire);
    if (wire.kind < 1 || wire.kind > 3) return std::nullopt;
    const OfiHeader header{le64toh(wire.tag), le32toh(wire.rest), le16toh(wire.credit),
                           static_cast<Kind>(wire.kind), wire.number};
    if (has_bytes != (header.kind == Kind::kPacket)) return std::nullopt;
    if (!has_bytes && header.rest != 0) return std::nullopt;
    return header;
  }

  std::uint64_t tag = 0;
  std::uint32_t rest = 0;    // bytes of the caller's packet that follow in other pieces
  std::uint16_t credit = 0;  // packets that its receiver may send beyond those it might before
  Kind kind = Kind::kPacket;
  std::uint8_t number = 0;  // on datagrams it counts the packets to one peer, see order.h; else 0

 private:
  struct Wire {
    std::uint64_t tag;
    std::uint32_t rest;
    std::uint16_t credit;
    std::uint8_t kind, number;
  };
  static_assert(sizeof(Wire) == kBytes);
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_OFI_HEADER_H_
