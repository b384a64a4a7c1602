#include "madlike/driver/ofi/rdm_offer.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

namespace mad {
namespace {

constexpr std::uint32_t kVersion = 1;

struct Wire {
  std::uint32_t version, protocol, protocol_version, packet_bytes;
  std::uint64_t tag;
  std::uint16_t credit, name_bytes;
  std::uint32_t reserved;
  std::array<char, RdmOffer::kMostProvider> provider;  // zeros behind the name
  std::array<std::byte, RdmOffer::kMostName> name;
};
static_assert(sizeof(Wire) == RdmOffer::kBytes);

}  // namespace

std::array<std::byte, RdmOffer::kBytes> RdmOffer::pack() const {
  Wire wire{};
  wire.version = htole32(kVersion);
  wire.protocol = htole32(protocol);
  wire.protocol_version = htole32(protocol_version);
  wire.packet_bytes = htole32(packet_bytes);
  wire.tag = htole64(tag);
  wire.credit = htole16(credit);
  wire.name_bytes = htole16(static_cast<std::uint16_t>(name.size()));
  std::copy_n(provider.begin(), std::min(provider.size(), kMostProvider), wire.provider.begin());
  std::copy(name.begin(), name.end(), wire.name.begin());
  std::array<std::byte, kBytes> bytes;
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  return bytes;
}

std::optional<RdmOffer> RdmOffer::parse(const std::byte* bytes) {
  Wire wire;
  std::memcpy(&wire, bytes, sizeof(wire));
  const std::size_t name_bytes = le16toh(wire.name_bytes);
  if (le32toh(wire.version) != kVersion || name_bytes == 0 || name_bytes > kMostName) {
    return std::nullopt;
  }
  RdmOffer offer;
  offer.protocol = le32toh(wire.protocol);
  offer.protocol_version = le32toh(wire.protocol_version);
  offer.packet_bytes = le32toh(wire.packet_bytes);
  offer.tag = le64toh(wire.tag);
  offer.credit = le16toh(wire.credit);
  const auto end = std::find(wire.provider.begin(), wire.provider.end(), '\0');
  offer.provider.assign(wire.provider.begin(), end);
  offer.name.assign(wire.name.begin(), wire.name.begin() + name_bytes);
  return offer;
}

}  // namespace mad
