// Wire: the frames of docs/wire_protocol.md as values, and between them and bytes.
//
// encode_frame() writes a frame's fixed header; decode_frame() reads one and checks everything that
// can be checked without knowing the connection.  What depends on the connection's state is the
// receiver's.  Nothing here owns memory.
#ifndef MADLIKE_MESSAGE_WIRE_H_
#define MADLIKE_MESSAGE_WIRE_H_

#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"
#include "madlike/match/envelope.h"
#include "madlike/message/window.h"

namespace mad {

inline constexpr std::size_t kFrameBytes = 40;  // the fixed header
inline constexpr std::size_t kWindowBytes = 40;
inline constexpr std::size_t kTaggedHeaderBytes = 12;  // without a note and a value
inline constexpr std::size_t kNotedHeaderBytes = 32;   // with a note
inline constexpr std::size_t kMaxGreetingBytes = 64;   // the body of a HELLO

/// The handler of tagged messages, whose header is a TaggedHeader.
inline constexpr std::uint8_t kTaggedHandler = 254;

enum class FrameKind : std::uint8_t {
  kHello = 1,
  kMessage = 2,
  kClear = 3,
  kData = 4,
  kPlaced = 5,
  kRefuse = 6,
  kCredit = 7,
  kGoodbye = 8,
  kTaken = 9
};

/// A message header's length in a body.
constexpr std::size_t padded_bytes(std::size_t header_bytes) {
  return (header_bytes + 7) & ~std::size_t{7};
}

inline constexpr std::size_t kMostTaggedHeaderBytes =
    kNotedHeaderBytes + padded_bytes(kMostValueBytes);

/// The fixed header of a short tagged message, whose own is `header_bytes` long and in it.
constexpr std::size_t short_frame_bytes(std::size_t header_bytes) {
  return header_bytes == kTaggedHeaderBytes ? kTaggedHeaderBytes + 4 : header_bytes;
}

/// A fixed header.  Fields as in docs/wire_protocol.md.
struct Frame {
  FrameKind kind = FrameKind::kCredit;
  bool window = false;    // CLEAR: there is one; MESSAGE: its sender wishes for one
  bool offered = false;   // `offset` is the payload's address in the sender's memory
  bool checked = false;   // `sum` stands in the place of `reply_id`
  bool answered = false;  // all of it is here, and its sender is to be told that it was taken
  bool is_short = false;  // a tagged message whose header is in the fixed one; all of it is here
  std::uint8_t handler = 0;
  std::uint16_t header_bytes = 0;
  // `credit` and `id`, which travel in one word, are no neighbours here, nor is `body_bytes` one of
  // `reply_id` or `sum`: compilers would read both at once, where one was just stored (ADR 69).
  std::uint32_t credit = 0;
  std::uint32_t body_bytes = 0;
  std::uint32_t id = 0;
  std::uint32_t reply_id = 0;
  std::uint32_t sum = 0;  // CRC32C of the payload in the body
  std::uint64_t offset = 0;
  std::uint64_t length = 0;

  /// Of a MESSAGE: where its header is in the packet, where its head is, and the head's bytes.
  std::size_t header_at() const { return is_short ? 0 : kFrameBytes; }
  std::size_t head_at() const {
    return is_short ? short_frame_bytes(header_bytes) : kFrameBytes + padded_bytes(header_bytes);
  }
  std::size_t head_bytes() const {
    return is_short ? body_bytes : body_bytes - padded_bytes(header_bytes);
  }
};

/// Writes kFrameBytes to `out`.
void encode_frame(const Frame& frame, std::byte* out);
/// The length of a tagged message's header.
constexpr std::size_t bytes_of(const TaggedHeader& header) {
  if (!header.noted && header.value.size == 0) return kTaggedHeaderBytes;
  return (header.noted ? kNotedHeaderBytes : short_frame_bytes(kTaggedHeaderBytes)) +
         padded_bytes(header.value.size);
}
/// Writes it to `out`.
void encode_tagged_header(const TaggedHeader& header, std::byte* out);
/// The most credit that a frame takes along: a short one with a value has 24 bits for it.
inline constexpr std::uint32_t kMostFrameCredit = (1u << 24) - 1;
/// Writes short_frame_bytes(header.size) to `out`; `header` is an encoded TaggedHeader, which may
/// stand there.
void encode_short_frame(Segment header, std::uint32_t credit, std::byte* out);
/// Writes kWindowBytes to `out`.
void encode_window(const Window& window, std::byte* out);

/// Reads the frame that `packet`, and `rest` bytes more that are still to come, are.  Only payload
/// may be to come.  Where it fails *out is anything.  kVersion: only the version differs;
/// kProtocol: no frame at all, a field that its kind does not have, or lengths that do not fit the
/// packet.
[[nodiscard]] Status decode_frame(Segment packet, Frame* out, std::size_t rest = 0);
/// The short frame that `packet`, and `rest` bytes more, are, of which short_header_bytes() said
/// that its header has so many bytes; the check of the header is the receiver's.  The packet is not
/// asked again what it is: a peer may write there.
Frame decode_short_frame(Segment packet, std::size_t header_bytes, std::size_t rest);
/// The length of the header in the short frame that the packet's first piece begins with; 0: there
/// is none.  And that frame's credit.
std::size_t short_header_bytes(Segment packet);
std::uint32_t short_frame_credit(Segment packet);
/// Whether a packet of the peer's looks like a tagged message, short or not.
bool is_tagged(Segment packet);
/// Whether it looks like one that offers its payload.
bool is_offer(Segment packet);
/// Reads the header of a tagged message, in which the value stays.  False: it is none.
bool decode_tagged_header(Segment header, TaggedHeader* out);
/// Reads the body of a CLEAR with a window that decode_frame() accepted.  kProtocol: runs that
/// overlap.
Status decode_window(Segment body, Window* out);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_WIRE_H_
