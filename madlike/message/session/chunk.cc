#include "madlike/message/session/chunk.h"

#include <string>

namespace mad {
namespace {

constexpr std::byte kLastFlag{1};

void put32(std::byte* out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<std::byte>(value >> (8 * i));
}

std::uint32_t get32(const std::byte* in) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value |= std::to_integer<std::uint32_t>(in[i]) << (8 * i);
  return value;
}

Status protocol(const char* what) {
  return Status(StatusCode::kProtocol, std::string("a Madeleine message's chunk ") + what);
}

}  // namespace

std::array<std::byte, ChunkHeader::kBytes> ChunkHeader::encode() const {
  std::array<std::byte, kBytes> out{};
  out[0] = std::byte{kVersion};
  out[1] = static_cast<std::byte>(kind);
  out[2] = last ? kLastFlag : std::byte{0};
  put32(out.data() + 4, message);
  put32(out.data() + 8, sequence);
  return out;
}

Result<ChunkHeader> ChunkHeader::decode(Segment header, std::uint64_t payload_bytes) {
  if (header.size != kBytes) return protocol("has a header of another size than 12 bytes");
  const std::byte* const in = header.begin();
  if (in[0] != std::byte{kVersion}) {
    return Status(StatusCode::kVersion, "the peer's Madeleine messages are of version " +
                                            std::to_string(std::to_integer<int>(in[0])) +
                                            ", this library knows version 1");
  }
  if ((in[2] & ~kLastFlag) != std::byte{0} || in[3] != std::byte{0}) {
    return protocol("has unknown flags");
  }
  ChunkHeader out;
  out.last = in[2] == kLastFlag;
  out.message = get32(in + 4);
  out.sequence = get32(in + 8);
  if (in[1] == static_cast<std::byte>(Kind::kStaged)) {
    out.kind = Kind::kStaged;
    if (payload_bytes > kMaxChunkBytes) return protocol("is longer than 64 KiB");
  } else if (in[1] == static_cast<std::byte>(Kind::kLong)) {
    out.kind = Kind::kLong;
    if (out.last) return protocol("is long and claims to be the last");
  } else {
    return protocol("is of an unknown kind");
  }
  if (payload_bytes == 0) return protocol("is empty");
  return out;
}

std::size_t encode_record_head(std::uint64_t value, std::byte* out) {
  std::size_t size = 0;
  while (value >= 0x80) {
    out[size++] = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  out[size++] = static_cast<std::byte>(value);
  return size;
}

std::size_t decode_record_head(Segment bytes, std::uint64_t* value) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes.size && i < kMaxRecordHead; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes.begin()[i]);
    if (i == kMaxRecordHead - 1 && byte > 1) return 0;
    result |= (byte & 0x7F) << (7 * i);
    if ((byte & 0x80) != 0) continue;
    if (byte == 0 && i > 0) return 0;
    *value = result;
    return i + 1;
  }
  return 0;
}

}  // namespace mad
