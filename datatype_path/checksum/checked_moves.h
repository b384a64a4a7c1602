// Pack and unpack with a CRC32C of the packed bytes, computed while they are in the first-level
// cache.
//
// A CRC goes on from call to call, and so over fragments in order.  Of fragments in another order
// each gets a CRC of its own, and combine_crc32c() joins them.  It is a CRC of the packed stream:
// sender and receiver get the same, however different their layouts.
#ifndef DATATYPE_PATH_CHECKSUM_CHECKED_MOVES_H_
#define DATATYPE_PATH_CHECKSUM_CHECKED_MOVES_H_

#include <cstddef>
#include <cstdint>

#include "datatype_path/cursor/cursor.h"

namespace mad {

/// Like cursor.pack(); `*crc`, that of the bytes before, becomes that of all bytes packed so far.
std::size_t pack_with_crc32c(Cursor& cursor, void* out, std::size_t size, std::uint32_t* crc);

/// Like cursor.unpack(), with `*crc` as above.  The bytes are unpacked whatever they are: compare
/// when the last one is there.
std::size_t unpack_with_crc32c(Cursor& cursor, const void* in, std::size_t size,
                               std::uint32_t* crc);

}  // namespace mad

#endif  // DATATYPE_PATH_CHECKSUM_CHECKED_MOVES_H_
