#include "madlike/driver/ucx/offer.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

namespace mad {
namespace {

constexpr std::uint32_t kVersion = 4;

// As it travels; numbers are little-endian.
struct PackedLane {
  std::uint32_t geometry[6];
  std::uint8_t device_bytes, interface_bytes, endpoint_bytes, open;
  std::byte device[UcxLaneOffer::kMostDevice];
  std::byte interface[UcxLaneOffer::kMostInterface];
  std::byte endpoint[UcxLaneOffer::kMostEndpoint];
};
struct PackedOffer {
  std::uint32_t version, reserved;
  std::uint64_t tag, namespace_device, namespace_inode;
  std::uint64_t pid, address, word;
  PackedLane lanes[kUcxTransports];
};
static_assert(sizeof(PackedOffer) == UcxOffer::kBytes);

struct PackedNote {
  std::uint32_t kind, transport;
};
static_assert(sizeof(PackedNote) == UcxNote::kBytes);

template <std::size_t kRoom>
std::uint8_t put(const std::vector<std::byte>& bytes, std::byte (&room)[kRoom]) {
  const std::size_t size = std::min(bytes.size(), kRoom);
  std::copy_n(bytes.begin(), size, room);
  return static_cast<std::uint8_t>(size);
}

template <std::size_t kRoom>
bool get(std::uint8_t size, const std::byte (&room)[kRoom], std::vector<std::byte>* bytes) {
  if (size > kRoom) return false;
  bytes->assign(room, room + size);
  return true;
}

PackedLane pack_lane(const UcxLaneOffer& lane) {
  PackedLane packed{};
  for (std::size_t i = 0; i < lane.geometry.size(); ++i) {
    packed.geometry[i] = htole32(lane.geometry[i]);
  }
  packed.open = lane.open ? 1 : 0;
  packed.device_bytes = put(lane.device, packed.device);
  packed.interface_bytes = put(lane.interface, packed.interface);
  packed.endpoint_bytes = put(lane.endpoint, packed.endpoint);
  return packed;
}

bool parse_lane(const PackedLane& packed, UcxLaneOffer* lane) {
  for (std::size_t i = 0; i < lane->geometry.size(); ++i) {
    lane->geometry[i] = le32toh(packed.geometry[i]);
  }
  lane->open = packed.open == 1;
  return packed.open <= 1 && get(packed.device_bytes, packed.device, &lane->device) &&
         get(packed.interface_bytes, packed.interface, &lane->interface) &&
         get(packed.endpoint_bytes, packed.endpoint, &lane->endpoint);
}

bool same_namespace(const UcxOffer& a, const UcxOffer& b) {
  return a.namespace_inode != 0 && a.namespace_inode == b.namespace_inode &&
         a.namespace_device == b.namespace_device;
}

}  // namespace

const char* to_string(UcxTransport transport) {
  constexpr std::array<const char*, kUcxTransports> kNames{"posix", "rc", "ud", "tcp"};
  return kNames[static_cast<std::size_t>(transport)];
}

std::array<std::byte, UcxOffer::kBytes> UcxOffer::pack() const {
  PackedOffer packed{};
  packed.version = htole32(kVersion);
  packed.tag = htole64(tag);
  packed.namespace_device = htole64(namespace_device);
  packed.namespace_inode = htole64(namespace_inode);
  packed.pid = htole64(process.pid);
  packed.address = htole64(process.address);
  packed.word = htole64(process.word);
  for (std::size_t i = 0; i < kUcxTransports; ++i) packed.lanes[i] = pack_lane(lanes[i]);
  std::array<std::byte, kBytes> bytes;
  std::memcpy(bytes.data(), &packed, sizeof(packed));
  return bytes;
}

std::optional<UcxOffer> UcxOffer::parse(const std::byte* bytes) {
  PackedOffer packed;
  std::memcpy(&packed, bytes, sizeof(packed));
  if (le32toh(packed.version) != kVersion || packed.reserved != 0) return std::nullopt;
  UcxOffer offer;
  offer.tag = le64toh(packed.tag);
  offer.namespace_device = le64toh(packed.namespace_device);
  offer.namespace_inode = le64toh(packed.namespace_inode);
  offer.process = {le64toh(packed.pid), le64toh(packed.address), le64toh(packed.word)};
  for (std::size_t i = 0; i < kUcxTransports; ++i) {
    if (!parse_lane(packed.lanes[i], &offer.lanes[i])) return std::nullopt;
  }
  return offer;
}

Result<std::vector<UcxTransport>> transports_in_common(const UcxOffer& a, const UcxOffer& b) {
  std::vector<UcxTransport> common;
  Status none(StatusCode::kUnreachable, "no transport in common");
  for (const UcxTransport transport : kAllUcxTransports) {
    const auto i = static_cast<std::size_t>(transport);
    if (!a.lanes[i].open || !b.lanes[i].open) continue;
    if (transport == UcxTransport::kPosix && !same_namespace(a, b)) continue;
    if (a.lanes[i].geometry == b.lanes[i].geometry) {
      common.push_back(transport);
      continue;
    }
    none = Status(StatusCode::kVersion, std::string("its UCX is of another version, or lays out ") +
                                            to_string(transport) + " differently");
    if (!is_rdma(transport)) return none;
  }
  if (common.empty()) return none;
  return common;
}

std::array<std::byte, UcxNote::kBytes> UcxNote::pack() const {
  const PackedNote packed{htole32(static_cast<std::uint32_t>(kind)),
                          htole32(static_cast<std::uint32_t>(transport))};
  std::array<std::byte, kBytes> bytes;
  std::memcpy(bytes.data(), &packed, sizeof(packed));
  return bytes;
}

std::optional<UcxNote> UcxNote::parse(const std::byte* bytes) {
  PackedNote packed;
  std::memcpy(&packed, bytes, sizeof(packed));
  const UcxNote note{static_cast<Kind>(le32toh(packed.kind)),
                     static_cast<UcxTransport>(le32toh(packed.transport))};
  const bool known = note.kind == Kind::kYes || note.kind == Kind::kNo;
  if (!known || note.transport > UcxTransport::kTcp) return std::nullopt;
  return note;
}

}  // namespace mad
