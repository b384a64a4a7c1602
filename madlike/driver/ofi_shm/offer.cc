#include "madlike/driver/ofi_shm/offer.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

namespace mad {
namespace {

constexpr std::uint32_t kVersion = 1;

// As it travels; numbers are little-endian.
struct PackedOffer {
  std::uint32_t version, reserved;
  std::uint64_t tag, secret;
  std::uint32_t geometry[6];
  char endpoint[OfiShmOffer::kMostName];
  char gate[OfiShmOffer::kMostName];
};
static_assert(sizeof(PackedOffer) == OfiShmOffer::kBytes);

struct PackedNote {
  std::uint32_t kind, reserved;
};
static_assert(sizeof(PackedNote) == OfiShmNote::kBytes);

void put(const std::string& name, char (&room)[OfiShmOffer::kMostName]) {
  std::copy_n(name.begin(), std::min(name.size(), OfiShmOffer::kMostName - 1), room);
}

bool get(const char (&room)[OfiShmOffer::kMostName], std::string* name) {
  const std::size_t size = strnlen(room, OfiShmOffer::kMostName);
  name->assign(room, size);
  return size < OfiShmOffer::kMostName;
}

}  // namespace

std::array<std::byte, OfiShmOffer::kBytes> OfiShmOffer::pack() const {
  PackedOffer packed{};
  packed.version = htole32(kVersion);
  packed.tag = htole64(tag);
  packed.secret = htole64(secret);
  for (std::size_t i = 0; i < geometry.size(); ++i) packed.geometry[i] = htole32(geometry[i]);
  put(endpoint, packed.endpoint);
  put(gate, packed.gate);
  std::array<std::byte, kBytes> bytes;
  std::memcpy(bytes.data(), &packed, sizeof(packed));
  return bytes;
}

std::optional<OfiShmOffer> OfiShmOffer::parse(const std::byte* bytes) {
  PackedOffer packed;
  std::memcpy(&packed, bytes, sizeof(packed));
  if (le32toh(packed.version) != kVersion || packed.reserved != 0) return std::nullopt;
  OfiShmOffer offer;
  offer.tag = le64toh(packed.tag);
  offer.secret = le64toh(packed.secret);
  for (std::size_t i = 0; i < offer.geometry.size(); ++i) {
    offer.geometry[i] = le32toh(packed.geometry[i]);
  }
  if (!get(packed.endpoint, &offer.endpoint) || !get(packed.gate, &offer.gate)) return std::nullopt;
  return offer;
}

std::array<std::byte, OfiShmNote::kBytes> OfiShmNote::pack() const {
  const PackedNote packed{htole32(static_cast<std::uint32_t>(kind)), 0};
  std::array<std::byte, kBytes> bytes;
  std::memcpy(bytes.data(), &packed, sizeof(packed));
  return bytes;
}

std::optional<OfiShmNote> OfiShmNote::parse(const std::byte* bytes) {
  PackedNote packed;
  std::memcpy(&packed, bytes, sizeof(packed));
  const OfiShmNote note{static_cast<Kind>(le32toh(packed.kind))};
  const bool known = note.kind == Kind::kReady || note.kind == Kind::kWake;
  if (!known || packed.reserved != 0) return std::nullopt;
  return note;
}

}  // namespace mad
