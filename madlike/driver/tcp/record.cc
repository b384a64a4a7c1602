#include "madlike/driver/tcp/record.h"

#include <endian.h>

#include <cstring>

namespace mad {
namespace {

constexpr std::uint8_t kMagic = 0x7C;

struct Wire {
  std::uint8_t magic;
  std::uint8_t kind;
  std::uint16_t reserved;
  std::uint32_t bytes;
  std::uint64_t key;
  std::uint64_t offset;
};
static_assert(offsetof(Wire, key) == TcpRecord::kFixedBytes);
static_assert(sizeof(Wire) == TcpRecord::kMostBytes);

}  // namespace

void encode_record(const TcpRecord& record, std::byte* out) {
  const Wire wire{kMagic,
                  static_cast<std::uint8_t>(record.kind),
                  0,
                  htole32(record.bytes),
                  htole64(record.key),
                  htole64(record.offset)};
  std::memcpy(out, &wire, record.header_bytes());
}

bool decode_record(const std::byte* in, TcpRecord* out) {
  Wire wire;
  std::memcpy(&wire, in, TcpRecord::kFixedBytes);
  const auto kind = static_cast<TcpRecord::Kind>(wire.kind);
  const std::uint32_t bytes = le32toh(wire.bytes);
  if (wire.magic != kMagic || wire.reserved != 0) return false;
  switch (kind) {
    case TcpRecord::Kind::kPacket:
    case TcpRecord::Kind::kWrite:
      if (bytes == 0) return false;
      break;
    case TcpRecord::Kind::kLast:
      if (bytes > 0) return false;
      break;
    case TcpRecord::Kind::kFiller:
      if (bytes > TcpRecord::kMostFiller) return false;
      break;
    default:
      return false;
  }
  *out = {kind, bytes, 0, 0};
  return true;
}

void decode_write(const std::byte* in, TcpRecord* out) {
  Wire wire;
  std::memcpy(&wire, in, sizeof(wire));
  out->key = le64toh(wire.key);
  out->offset = le64toh(wire.offset);
}

}  // namespace mad
