#include "madlike/driver/ofi/greeting.h"

#include <cstring>

#include "madlike/driver/ip/address.h"

namespace mad {
namespace {

constexpr char kMagic[6] = {'M', 'A', 'D', 'O', 'F', 'I'};
constexpr std::uint8_t kVersion = 1;

// On the wire, in the byte order of the sender: libfabric's tcp swaps headers, not connection data,
// so an engine of the other byte order is told by a sequence or size that cannot be, and is
// refused.
struct Wire {
  char magic[6];
  std::uint8_t version;
  std::uint8_t kind;
  std::uint64_t incarnation;
  std::uint64_t sequence;
  std::uint64_t tag;
  std::uint64_t address_bytes;
};
static_assert(sizeof(Wire) == 40);

}  // namespace

std::vector<std::byte> Greeting::pack() const {
  Wire wire{};
  std::memcpy(wire.magic, kMagic, sizeof(kMagic));
  wire.version = kVersion;
  wire.kind = static_cast<std::uint8_t>(kind);
  wire.incarnation = incarnation;
  wire.sequence = sequence;
  wire.tag = tag;
  wire.address_bytes = address.size();
  std::vector<std::byte> bytes(sizeof(wire) + address.size());
  std::memcpy(bytes.data(), &wire, sizeof(wire));
  if (!address.empty()) std::memcpy(bytes.data() + sizeof(wire), address.data(), address.size());
  return bytes;
}

std::optional<Greeting> Greeting::parse(const void* bytes, std::size_t size) {
  Wire wire;
  if (size < sizeof(wire)) return std::nullopt;
  std::memcpy(&wire, bytes, sizeof(wire));
  if (std::memcmp(wire.magic, kMagic, sizeof(kMagic)) != 0 || wire.version != kVersion ||
      wire.kind < 1 || wire.kind > 4 || wire.address_bytes > size - sizeof(wire)) {
    return std::nullopt;
  }
  Greeting greeting;
  greeting.kind = static_cast<Kind>(wire.kind);
  greeting.incarnation = wire.incarnation;
  greeting.sequence = wire.sequence;
  greeting.tag = wire.tag;
  if (greeting.kind != Kind::kRequest) return greeting;
  Result<std::vector<std::byte>> address =
      to_address(static_cast<const std::byte*>(bytes) + sizeof(wire), wire.address_bytes);
  if (!address.ok()) return std::nullopt;
  greeting.address = std::move(*address);
  return greeting;
}

}  // namespace mad
