// Chunks: the engine messages that a Madeleine message is made of, as they stand on the wire.
//
// A staged chunk's payload is a row of records: a length, then the bytes of one piece.  A long
// chunk is one piece.  docs/wire_protocol.md has the format; everything that arrives is checked
// here before it is used.
#ifndef MADLIKE_MESSAGE_SESSION_CHUNK_H_
#define MADLIKE_MESSAGE_SESSION_CHUNK_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/base/status.h"

namespace mad {

/// The handler of all chunks.
inline constexpr std::uint8_t kMadeleineHandler = 255;

/// Bytes of the largest staged chunk.
inline constexpr std::size_t kMaxChunkBytes = 64 * 1024;

struct ChunkHeader {
  static constexpr std::size_t kBytes = 12;
  static constexpr std::uint8_t kVersion = 1;

  enum class Kind : std::uint8_t { kStaged = 1, kLong = 2 };

  Kind kind = Kind::kStaged;
  bool last = false;           // of its message; staged chunks only
  std::uint32_t message = 0;   // numbers the sender's Madeleine messages
  std::uint32_t sequence = 0;  // numbers the chunks of one message, from 0

  std::array<std::byte, kBytes> encode() const;
  /// kVersion, kProtocol: not what this version sends as the header of a payload of so many bytes.
  static Result<ChunkHeader> decode(Segment header, std::uint64_t payload_bytes);
};

/// The length that opens a record: 0 ends the message, n + 1 is a piece of n bytes.  Seven bits a
/// byte, low ones first, the high bit set on all bytes but the last.
inline constexpr std::size_t kMaxRecordHead = 10;
std::size_t encode_record_head(std::uint64_t value, std::byte* out);
/// Stores the value; returns the bytes it takes, or 0 when they are not all there or not canonical.
std::size_t decode_record_head(Segment bytes, std::uint64_t* value);

}  // namespace mad

#endif  // MADLIKE_MESSAGE_SESSION_CHUNK_H_
