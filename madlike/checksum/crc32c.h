// CRC32C (Castagnoli's polynomial, as in iSCSI, SCTP and ext4), continued over pieces and combined
// from them.
//
// Of nothing it is 0; of "123456789" it is 0xe3069283.  The bytes are worked through by ISA-L,
// which chooses what the processor does best.
#ifndef MADLIKE_CHECKSUM_CRC32C_H_
#define MADLIKE_CHECKSUM_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace mad {

/// Of the bytes whose CRC is `crc`, followed by `size` bytes at `data`.
std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t size);

/// Of bytes whose CRC is `a`, followed by `b_bytes` bytes whose CRC is `b`: so fragments may be
/// checked in the order they arrive.  Takes a time proportional to the bits set in `b_bytes`.
std::uint32_t combine_crc32c(std::uint32_t a, std::uint32_t b, std::uint64_t b_bytes);

}  // namespace mad

#endif  // MADLIKE_CHECKSUM_CRC32C_H_
