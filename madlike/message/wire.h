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
#include "madlike/message/window.h"

namespace mad {

inline constexpr std::size_t kFrameBytes = 40;  // the fixed header
inline constexpr std::size_t kWindowBytes = 40;

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

/// A fixed header.  Fields as in docs/wire_protocol.md.
struct Frame {
  FrameKind kind = FrameKind::kCredit;
  bool window = false;
  bool offered = false;  // `offset` is the payload's address in the sender's memory
  bool checked = false;  // `sum` stands in the place of `reply_id`
  std::uint8_t handler = 0;
  std::uint16_t header_bytes = 0;
  std::uint32_t credit = 0;
  std::uint32_t id = 0;
  std::uint32_t reply_id = 0;
  std::uint32_t sum = 0;  // CRC32C of the payload in the body
  std::uint32_t body_bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

/// A message header's length in a body.
constexpr std::size_t padded_bytes(std::size_t header_bytes) {
  return (header_bytes + 7) & ~std::size_t{7};
}

/// Writes kFrameBytes to `out`.
void encode_frame(const Frame& frame, std::byte* out);
/// Writes kWindowBytes to `out`.
void encode_window(const Window& window, std::byte* out);

/// Reads the frame that `packet`, and `rest` bytes more that are still to come, are.  Only payload
/// may be to come.  kVersion: only the version differs; kProtocol: no frame at all, a field that
/// its kind does not have, or lengths that do not fit the packet.
Status decode_frame(Segment packet, Frame* out, std::size_t rest = 0);
/// Reads the body of a CLEAR with a window that decode_frame() accepted.  kProtocol: runs that
/// overlap.
Status decode_window(Segment body, Window* out);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_WIRE_H_
