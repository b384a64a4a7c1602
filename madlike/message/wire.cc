#include "madlike/message/wire.h"

#include <endian.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>

namespace mad {
namespace {

constexpr std::uint8_t kMagic = 0xAD;
constexpr std::uint8_t kVersion = 6;
constexpr std::uint8_t kWindowFlag = 1;
constexpr std::uint8_t kCheckedFlag = 2;
constexpr std::uint8_t kOfferedFlag = 4;
constexpr std::uint8_t kAnsweredFlag = 8;
constexpr std::uint8_t kFlags = kWindowFlag | kCheckedFlag | kOfferedFlag | kAnsweredFlag;

// What is written is composed in registers, by words.  A word that is read from where smaller ones
// were just stored waits until these are in the cache, behind all stores before them, which may be
// on their way to a line that another core has.
void put(std::byte* out, std::uint64_t word) {
  word = htole64(word);
  std::memcpy(out, &word, sizeof(word));
}
std::uint64_t get(const std::byte* in) {
  std::uint64_t word = 0;
  std::memcpy(&word, in, sizeof(word));
  return le64toh(word);
}
constexpr std::uint64_t word_of(std::uint32_t low, std::uint32_t high) {
  return low | std::uint64_t{high} << 32;
}
constexpr std::uint32_t low_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
constexpr std::uint32_t high_of(std::uint64_t word) { return low_of(word >> 32); }
constexpr std::uint8_t byte_of(std::uint64_t word, std::size_t at) {
  return static_cast<std::uint8_t>(word >> 8 * at);
}

// A frame as it travels, little-endian.
struct Wire {
  std::uint8_t magic;
  std::uint8_t version;
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint8_t handler;
  std::uint8_t reserved;
  std::uint16_t header_bytes;
  std::uint32_t credit;
  std::uint32_t id;
  std::uint32_t reply_id_or_sum;
  std::uint32_t body_bytes;
  std::uint64_t offset;
  std::uint64_t length;
};
static_assert(sizeof(Wire) == kFrameBytes);
static_assert(offsetof(Wire, offset) == 24);

// A tagged message's header, and the fixed header of a short one: a word of the magic, the flags,
// 16 bits of context and 32 of the source, and the tag.
constexpr unsigned kFlagsShift = 8, kContextShift = 16, kSourceShift = 32;
constexpr std::size_t kTagAt = sizeof(std::uint64_t);
constexpr std::size_t kCreditAt = kTagAt + sizeof(std::uint32_t);  // in a short frame
constexpr std::size_t kLengthAt = kCreditAt + 3;  // of a value, less 1; the credit ends before it
constexpr std::size_t kNoteAt = kCreditAt + 4;    // behind it, in a header that has a note
constexpr std::uint8_t kTaggedMagic = 0xAE;
constexpr unsigned kNoteBit = 1, kValueBit = 2;  // added to the magic for what the header has
static_assert(kCreditAt == kTaggedHeaderBytes);
static_assert(short_frame_bytes(kTaggedHeaderBytes) == kNoteAt);
static_assert(kNotedHeaderBytes == kNoteAt + sizeof(TaggedHeader::note));

struct WireWindow {
  std::uint64_t address;
  std::uint64_t key;
  std::uint64_t run;
  std::uint64_t stride;
  std::uint64_t lead;
};
static_assert(sizeof(WireWindow) == kWindowBytes);

// What stands in a tagged message's header, by its first byte; more than both bits: it is none.
unsigned parts_of(Segment header) {
  return std::to_integer<unsigned>(*header.begin()) - kTaggedMagic;
}

// Where the value stands, which has a note before it or not.
constexpr std::size_t value_at(unsigned parts) {
  return (parts & kNoteBit) != 0 ? kNotedHeaderBytes : kNoteAt;
}

Status violation(const char* what) {
  return {StatusCode::kProtocol, std::string("the peer sent ") + what};
}

// What is wrong with a frame of each kind, whose headers are here, or null.
const char* wrong_message(const Frame& f) {
  const std::size_t header = padded_bytes(f.header_bytes);
  const std::uint64_t head = f.body_bytes - header;
  if (head > f.length) return "a MESSAGE with more than its payload";
  const bool is_more = head < f.length;
  if ((f.id != 0) != (is_more || f.answered)) return "a MESSAGE with a wrong id";
  if (f.answered && (is_more || f.handler != kTaggedHandler)) return "a MESSAGE with a wrong id";
  if (f.reply_id != 0 || (f.offset != 0) != f.offered) {
    return "a MESSAGE with fields it does not have";
  }
  if (f.offered && (head > 0 || f.length == 0)) return "an offer of what is here";
  if (f.window && (head > 0 || f.length == 0 || f.offered)) return "a wish for no window";
  if (f.checked && head == 0) return "a checksum of no bytes";
  return nullptr;
}

const char* wrong_clear(const Frame& f) {
  if (f.id == 0 || f.reply_id == 0) return "a CLEAR without ids";
  if (f.offset >= f.length) return "a CLEAR that wants nothing";
  if (f.body_bytes != (f.window ? kWindowBytes : 0)) return "a CLEAR of a wrong size";
  return nullptr;
}

const char* wrong_data(const Frame& f) {
  if (f.id == 0 || f.reply_id != 0) return "a DATA frame with wrong ids";
  if (f.length == 0 || f.length != f.body_bytes) return "a DATA frame of a wrong size";
  if (f.offset > std::numeric_limits<std::uint64_t>::max() - f.length) {
    return "a DATA frame beyond every payload";
  }
  return nullptr;
}

// Kinds without a body that use at most an id and a length.
const char* wrong_short(const Frame& f, bool has_id, bool has_length) {
  const bool right = f.body_bytes == 0 && f.reply_id == 0 && f.offset == 0 &&
                     (f.id != 0) == has_id && (f.length != 0) == has_length;
  return right ? nullptr : "a frame with fields its kind does not have";
}

const char* wrong_hello(const Frame& f) {
  if (f.body_bytes > kMaxGreetingBytes) return "a HELLO with too long a greeting";
  if (f.id != 0 || f.reply_id != 0 || f.offset != 0 || f.credit != 0) {
    return "a HELLO with fields it does not have";
  }
  return nullptr;
}

// Bytes of a body that are not payload.
std::size_t headers_in_body(const Frame& f) {
  if (f.kind == FrameKind::kMessage) return padded_bytes(f.header_bytes);
  return f.kind == FrameKind::kData ? 0 : f.body_bytes;
}

const char* wrong_fields(const Frame& f) {
  if (f.kind != FrameKind::kMessage && (f.handler != 0 || f.header_bytes != 0)) {
    return "a frame with a handler that is no MESSAGE";
  }
  if (f.kind != FrameKind::kClear && f.kind != FrameKind::kMessage && f.window) {
    return "a window outside of CLEAR and MESSAGE";
  }
  if (f.kind != FrameKind::kMessage && (f.offered || f.answered)) {
    return "an offer, or the wish for an answer, outside of MESSAGE";
  }
  if (f.kind != FrameKind::kMessage && f.kind != FrameKind::kData && f.checked) {
    return "a checksum in a frame without payload";
  }
  switch (f.kind) {
    case FrameKind::kHello:
      return wrong_hello(f);
    case FrameKind::kMessage:
      return wrong_message(f);
    case FrameKind::kClear:
      return wrong_clear(f);
    case FrameKind::kData:
      return wrong_data(f);
    case FrameKind::kPlaced:
    case FrameKind::kTaken:
      return wrong_short(f, true, true);
    case FrameKind::kRefuse:
      return wrong_short(f, true, false);
    case FrameKind::kCredit:
    case FrameKind::kGoodbye:
      return wrong_short(f, false, false);
  }
  return "a frame of unknown kind";
}

}  // namespace

void encode_frame(const Frame& f, std::byte* out) {
  const int flags = (f.window ? kWindowFlag : 0) | (f.checked ? kCheckedFlag : 0) |
                    (f.offered ? kOfferedFlag : 0) | (f.answered ? kAnsweredFlag : 0);
  const std::uint32_t kinds = kMagic | std::uint32_t{kVersion} << 8 |
                              static_cast<std::uint32_t>(f.kind) << 16 |
                              static_cast<std::uint32_t>(flags) << 24;
  put(out, word_of(kinds, f.handler | std::uint32_t{f.header_bytes} << 16));
  put(out + offsetof(Wire, credit), word_of(f.credit, f.id));
  put(out + offsetof(Wire, reply_id_or_sum), word_of(f.checked ? f.sum : f.reply_id, f.body_bytes));
  put(out + offsetof(Wire, offset), f.offset);
  put(out + offsetof(Wire, length), f.length);
}

void encode_window(const Window& window, std::byte* out) {
  put(out + offsetof(WireWindow, address), window.token.address);
  put(out + offsetof(WireWindow, key), window.token.key);
  put(out + offsetof(WireWindow, run), window.run);
  put(out + offsetof(WireWindow, stride), window.stride);
  put(out + offsetof(WireWindow, lead), window.lead);
}

Frame decode_short_frame(Segment packet, std::size_t header_bytes, std::size_t rest) {
  Frame frame;
  frame.kind = FrameKind::kMessage;
  frame.is_short = true;
  frame.handler = kTaggedHandler;
  frame.header_bytes = static_cast<std::uint16_t>(header_bytes);
  frame.credit = short_frame_credit(packet);
  frame.length = packet.size - short_frame_bytes(header_bytes) + rest;
  frame.body_bytes = static_cast<std::uint32_t>(frame.length);
  return frame;
}

bool is_tagged(Segment packet) {
  if (short_header_bytes(packet) != 0) return true;
  return packet.size >= sizeof(Wire) &&
         packet.begin()[offsetof(Wire, handler)] == std::byte{kTaggedHandler};
}

bool is_offer(Segment packet) {
  return packet.size >= sizeof(Wire) &&
         (packet.begin()[offsetof(Wire, flags)] & std::byte{kOfferedFlag}) != std::byte{0} &&
         short_header_bytes(packet) == 0;
}

Status decode_frame(Segment packet, Frame* out, std::size_t rest) {
  if (const std::size_t header_bytes = short_header_bytes(packet)) {
    *out = decode_short_frame(packet, header_bytes, rest);
    return {};
  }
  if (packet.size < kFrameBytes) return violation("a packet shorter than a frame");
  // What is checked is what is used: a peer may write where the packet is.
  const std::uint64_t kinds = get(packet.begin());
  const std::uint64_t credit_and_id = get(packet.begin() + offsetof(Wire, credit));
  const std::uint64_t reply_and_body = get(packet.begin() + offsetof(Wire, reply_id_or_sum));
  const std::uint8_t version = byte_of(kinds, offsetof(Wire, version));
  const std::uint8_t flags = byte_of(kinds, offsetof(Wire, flags));
  if (byte_of(kinds, offsetof(Wire, magic)) != kMagic) {
    return violation("a packet that is no frame");
  }
  if (version != kVersion) {
    return {StatusCode::kVersion, "the peer speaks version " + std::to_string(version) +
                                      " of the wire protocol, this engine speaks version " +
                                      std::to_string(kVersion)};
  }
  if ((flags & ~kFlags) != 0 || byte_of(kinds, offsetof(Wire, reserved)) != 0) {
    return violation("a frame with reserved bits set");
  }
  out->kind = static_cast<FrameKind>(byte_of(kinds, offsetof(Wire, kind)));
  out->window = (flags & kWindowFlag) != 0;
  out->checked = (flags & kCheckedFlag) != 0;
  out->offered = (flags & kOfferedFlag) != 0;
  out->answered = (flags & kAnsweredFlag) != 0;
  out->is_short = false;
  out->handler = byte_of(kinds, offsetof(Wire, handler));
  out->header_bytes = static_cast<std::uint16_t>(kinds >> 8 * offsetof(Wire, header_bytes));
  out->credit = low_of(credit_and_id);
  out->id = high_of(credit_and_id);
  out->reply_id = out->checked ? 0 : low_of(reply_and_body);
  out->sum = out->checked ? low_of(reply_and_body) : 0;
  out->body_bytes = high_of(reply_and_body);
  out->offset = get(packet.begin() + offsetof(Wire, offset));
  out->length = get(packet.begin() + offsetof(Wire, length));
  const std::size_t here = packet.size - kFrameBytes;
  if (here > out->body_bytes || rest != out->body_bytes - here) {
    return violation("a frame of another length than its packet");
  }
  if (headers_in_body(*out) > here) {
    return violation("a packet whose first piece ends in its headers");
  }
  if (const char* const wrong = wrong_fields(*out)) return violation(wrong);
  return {};
}

namespace {

// What follows the part that all headers have: room for the credit, a note, a value.
[[gnu::noinline]] void encode_parts(const TaggedHeader& header, unsigned parts, std::byte* out) {
  const std::size_t bytes = header.value.size;
  std::memset(out + kCreditAt, 0, kNoteAt - kCreditAt);
  for (std::size_t i = 0; header.noted && i < header.note.size(); ++i) {
    const std::uint64_t word = htole64(header.note[i]);
    std::memcpy(out + kNoteAt + i * sizeof(word), &word, sizeof(word));
  }
  if (bytes == 0) return;
  std::byte* const value = out + value_at(parts);
  out[kLengthAt] = static_cast<std::byte>(bytes - 1);
  std::memset(value + padded_bytes(bytes) - 8, 0, 8);
  std::memcpy(value, header.value.data, bytes);
}

}  // namespace

void encode_tagged_header(const TaggedHeader& header, std::byte* out) {
  const Envelope& envelope = header.envelope;
  const unsigned parts = (header.noted ? kNoteBit : 0) | (header.value.size > 0 ? kValueBit : 0);
  const std::uint32_t low = (kTaggedMagic + parts) | std::uint32_t{header.flags} << kFlagsShift |
                            envelope.context << kContextShift;
  put(out, word_of(low, static_cast<std::uint32_t>(envelope.source)));
  const std::uint32_t tag = htole32(static_cast<std::uint32_t>(envelope.tag));
  std::memcpy(out + kTagAt, &tag, sizeof(tag));
  if (parts != 0) encode_parts(header, parts, out);
}

void encode_short_frame(Segment header, std::uint32_t credit, std::byte* out) {
  const std::uint32_t wire_credit = htole32(credit);
  if (out != header.begin()) std::memcpy(out, header.data, header.size);
  if ((parts_of(header) & kValueBit) != 0) {
    std::memcpy(out + kCreditAt, &wire_credit, kLengthAt - kCreditAt);
  } else {
    std::memcpy(out + kCreditAt, &wire_credit, sizeof(wire_credit));
  }
}

namespace {

// Of a value that the header has.
std::size_t value_bytes_in(Segment header) {
  return std::to_integer<std::size_t>(header.begin()[kLengthAt]) + 1;
}

// The length of a tagged message's header with a note or a value, which may be more than is here.
std::size_t header_bytes_with(Segment header, unsigned parts) {
  const std::size_t at = value_at(parts);
  return (parts & kValueBit) == 0 ? at : at + padded_bytes(value_bytes_in(header));
}

// Its length is read once: a peer may write where the packet is.  False: it does not end where the
// header ends, behind zeros.
bool decode_value(Segment header, unsigned parts, Segment* value) {
  const std::size_t at = value_at(parts);
  if (header.size <= at) return false;
  const std::size_t bytes = value_bytes_in(header);
  if (header.size != at + padded_bytes(bytes)) return false;
  *value = {header.begin() + at, bytes};
  return std::all_of(value->end(), header.end(), [](std::byte b) { return b == std::byte{0}; });
}

// What follows the part that all headers have; false: it is none of a tagged message.
[[gnu::noinline]] bool decode_parts(Segment header, unsigned parts, TaggedHeader* out) {
  if (parts > (kNoteBit | kValueBit)) return false;
  if ((parts & kValueBit) != 0) {
    if (!decode_value(header, parts, &out->value)) return false;
  } else if (header.size != kNotedHeaderBytes) {
    return false;
  }
  out->noted = (parts & kNoteBit) != 0;
  for (std::size_t i = 0; out->noted && i < out->note.size(); ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, header.begin() + kNoteAt + i * sizeof(word), sizeof(word));
    out->note[i] = le64toh(word);
  }
  return true;
}

}  // namespace

std::size_t short_header_bytes(Segment packet) {
  if (packet.size < short_frame_bytes(kTaggedHeaderBytes)) return 0;
  const unsigned parts = parts_of(packet);
  if (parts == 0) return kTaggedHeaderBytes;
  if (parts > (kNoteBit | kValueBit)) return 0;
  const std::size_t bytes = header_bytes_with(packet, parts);
  return packet.size >= bytes ? bytes : 0;
}

std::uint32_t short_frame_credit(Segment packet) {
  std::uint32_t credit = 0;
  std::memcpy(&credit, packet.begin() + kCreditAt, sizeof(credit));
  credit = le32toh(credit);
  return (parts_of(packet) & kValueBit) != 0 ? credit & kMostFrameCredit : credit;
}

bool decode_tagged_header(Segment header, TaggedHeader* out) {
  if (header.size < kTaggedHeaderBytes) return false;
  std::uint64_t word = 0;
  std::uint32_t tag = 0;
  std::memcpy(&word, header.begin(), sizeof(word));
  std::memcpy(&tag, header.begin() + kTagAt, sizeof(tag));
  word = le64toh(word);
  out->envelope.context = static_cast<std::uint16_t>(word >> kContextShift);
  out->envelope.source = static_cast<std::int32_t>(word >> kSourceShift);
  out->envelope.tag = static_cast<std::int32_t>(le32toh(tag));
  out->flags = static_cast<std::uint8_t>(word >> kFlagsShift);
  out->noted = false;
  out->value = {};
  const unsigned parts = static_cast<std::uint8_t>(word) - unsigned{kTaggedMagic};
  const bool whole =
      parts == 0 ? header.size == kTaggedHeaderBytes : decode_parts(header, parts, out);
  return whole && out->envelope.source >= 0 && out->envelope.tag >= 0;
}

Status decode_window(Segment body, Window* out) {
  WireWindow wire;
  std::memcpy(&wire, body.data, sizeof(wire));
  out->token = {le64toh(wire.address), le64toh(wire.key)};
  out->run = le64toh(wire.run);
  out->stride = le64toh(wire.stride);
  out->lead = le64toh(wire.lead);
  return out->valid() ? Status() : violation("a window of runs that overlap");
}

}  // namespace mad
