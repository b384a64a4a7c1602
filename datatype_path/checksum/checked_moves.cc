#include "datatype_path/checksum/checked_moves.h"

#include <algorithm>

#include "madlike/checksum/crc32c.h"

namespace mad {
namespace {

// Half of a first-level cache of 32 KiB: the piece stays while its CRC is computed.
constexpr std::size_t kPiece = 16 * 1024;

}  // namespace

std::size_t pack_with_crc32c(Cursor& cursor, void* out, std::size_t size, std::uint32_t* crc) {
  auto* const to = static_cast<std::byte*>(out);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t piece = cursor.pack(to + done, std::min(size - done, kPiece));
    if (piece == 0) break;
    *crc = crc32c(*crc, to + done, piece);
    done += piece;
  }
  return done;
}

std::size_t unpack_with_crc32c(Cursor& cursor, const void* in, std::size_t size,
                               std::uint32_t* crc) {
  const auto* const from = static_cast<const std::byte*>(in);
  std::size_t done = 0;
  while (done < size) {
    const std::size_t piece = cursor.unpack(from + done, std::min(size - done, kPiece));
    if (piece == 0) break;
    *crc = crc32c(*crc, from + done, piece);
    done += piece;
  }
  return done;
}

}  // namespace mad
