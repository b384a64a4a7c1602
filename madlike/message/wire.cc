#include "madlike/message/wire.h"

#include <cstring>
#include <limits>
#include <string>

namespace mad {
namespace {

constexpr std::uint8_t kMagic = 0xAD;
constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kWindowFlag = 1;
constexpr std::uint8_t kCheckedFlag = 2;

// Compilers turn both into one move on a little-endian machine.
template <typename T>
void put(std::byte* out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

template <typename T>
T get(const std::byte* in) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= static_cast<std::uint64_t>(in[i]) << (8 * i);
  }
  return static_cast<T>(value);
}

Status violation(const char* what) {
  return {StatusCode::kProtocol, std::string("the peer sent ") + what};
}

Status check_message(const Frame& f) {
  const std::size_t header = padded_bytes(f.header_bytes);
  if (header > f.body_bytes) return violation("a MESSAGE shorter than its header");
  const std::uint64_t head = f.body_bytes - header;
  if (head > f.length) return violation("a MESSAGE with more than its payload");
  if ((f.id != 0) != (head < f.length)) return violation("a MESSAGE with a wrong id");
  if (f.reply_id != 0 || f.offset != 0) return violation("a MESSAGE with fields it does not have");
  if (f.checked && head == 0) return violation("a checksum of no bytes");
  return {};
}

Status check_clear(const Frame& f) {
  if (f.id == 0 || f.reply_id == 0) return violation("a CLEAR without ids");
  if (f.offset >= f.length) return violation("a CLEAR that wants nothing");
  if (f.body_bytes != (f.window ? kWindowBytes : 0)) return violation("a CLEAR of a wrong size");
  return {};
}

Status check_data(const Frame& f) {
  if (f.id == 0 || f.reply_id != 0) return violation("a DATA frame with wrong ids");
  if (f.length == 0 || f.length != f.body_bytes) return violation("a DATA frame of a wrong size");
  if (f.offset > std::numeric_limits<std::uint64_t>::max() - f.length) {
    return violation("a DATA frame beyond every payload");
  }
  return {};
}

// Kinds without a body that use at most an id and a length.
Status check_short(const Frame& f, bool has_id, bool has_length) {
  const bool right = f.body_bytes == 0 && f.reply_id == 0 && f.offset == 0 &&
                     (f.id != 0) == has_id && (f.length != 0) == has_length;
  return right ? Status() : violation("a frame with fields its kind does not have");
}

Status check_hello(const Frame& f) {
  if (f.body_bytes != 0 || f.id != 0 || f.reply_id != 0 || f.offset != 0 || f.credit != 0) {
    return violation("a HELLO with fields it does not have");
  }
  return {};
}

Status check_fields(const Frame& f) {
  if (f.kind != FrameKind::kMessage && (f.handler != 0 || f.header_bytes != 0)) {
    return violation("a frame with a handler that is no MESSAGE");
  }
  if (f.kind != FrameKind::kClear && f.window) return violation("a window outside of CLEAR");
  if (f.kind != FrameKind::kMessage && f.kind != FrameKind::kData && f.checked) {
    return violation("a checksum in a frame without payload");
  }
  switch (f.kind) {
    case FrameKind::kHello:
      return check_hello(f);
    case FrameKind::kMessage:
      return check_message(f);
    case FrameKind::kClear:
      return check_clear(f);
    case FrameKind::kData:
      return check_data(f);
    case FrameKind::kPlaced:
      return check_short(f, true, true);
    case FrameKind::kRefuse:
      return check_short(f, true, false);
    case FrameKind::kCredit:
    case FrameKind::kGoodbye:
      return check_short(f, false, false);
  }
  return violation("a frame of unknown kind");
}

}  // namespace

void encode_frame(const Frame& f, std::byte* out) {
  put<std::uint8_t>(out, kMagic);
  put<std::uint8_t>(out + 1, kVersion);
  put<std::uint8_t>(out + 2, static_cast<std::uint8_t>(f.kind));
  put<std::uint8_t>(out + 3, static_cast<std::uint8_t>((f.window ? kWindowFlag : 0) |
                                                       (f.checked ? kCheckedFlag : 0)));
  put<std::uint8_t>(out + 4, f.handler);
  put<std::uint8_t>(out + 5, 0);
  put<std::uint16_t>(out + 6, f.header_bytes);
  put<std::uint32_t>(out + 8, f.credit);
  put<std::uint32_t>(out + 12, f.id);
  put<std::uint32_t>(out + 16, f.checked ? f.sum : f.reply_id);
  put<std::uint32_t>(out + 20, f.body_bytes);
  put<std::uint64_t>(out + 24, f.offset);
  put<std::uint64_t>(out + 32, f.length);
}

void encode_window(const ExposureToken& window, std::byte* out) {
  put<std::uint64_t>(out, window.address);
  put<std::uint64_t>(out + 8, window.key);
}

Status decode_frame(Segment packet, Frame* out, std::size_t rest) {
  if (packet.size < kFrameBytes) return violation("a packet shorter than a frame");
  const std::byte* in = packet.begin();
  if (get<std::uint8_t>(in) != kMagic) return violation("a packet that is no frame");
  if (get<std::uint8_t>(in + 1) != kVersion) {
    return {StatusCode::kVersion, "the peer speaks version " +
                                      std::to_string(get<std::uint8_t>(in + 1)) +
                                      " of the wire protocol, this engine speaks version 1"};
  }
  const auto kind = get<std::uint8_t>(in + 2);
  const auto flags = get<std::uint8_t>(in + 3);
  if (kind < 1 || kind > 8) return violation("a frame of unknown kind");
  if ((flags & ~(kWindowFlag | kCheckedFlag)) != 0 || get<std::uint8_t>(in + 5) != 0) {
    return violation("a frame with reserved bits set");
  }
  Frame f;
  f.kind = static_cast<FrameKind>(kind);
  f.window = (flags & kWindowFlag) != 0;
  f.checked = (flags & kCheckedFlag) != 0;
  f.handler = get<std::uint8_t>(in + 4);
  f.header_bytes = get<std::uint16_t>(in + 6);
  f.credit = get<std::uint32_t>(in + 8);
  f.id = get<std::uint32_t>(in + 12);
  (f.checked ? f.sum : f.reply_id) = get<std::uint32_t>(in + 16);
  f.body_bytes = get<std::uint32_t>(in + 20);
  f.offset = get<std::uint64_t>(in + 24);
  f.length = get<std::uint64_t>(in + 32);
  if (f.body_bytes != packet.size - kFrameBytes + rest) {
    return violation("a frame of another length than its packet");
  }
  Status status = check_fields(f);
  if (status.ok()) *out = f;
  return status;
}

ExposureToken decode_window(Segment body) {
  return {get<std::uint64_t>(body.begin()), get<std::uint64_t>(body.begin() + 8)};
}

}  // namespace mad
