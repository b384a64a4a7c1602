// TcpRecord: what stands before every packet and remote write in a connection's bytes.
// docs/tcp_protocol.md has the layout.
#ifndef MADLIKE_DRIVER_TCP_RECORD_H_
#define MADLIKE_DRIVER_TCP_RECORD_H_

#include <cstddef>
#include <cstdint>

namespace mad {

struct TcpRecord {
  enum class Kind : std::uint8_t {
    kPacket = 1,  // `bytes` of a packet follow
    kWrite = 2,   // `bytes` follow that belong at `offset` of the memory exposed under `key`
    kLast = 3,    // nothing follows: the sender leaves in good order
    kFiller = 4   // `bytes` without meaning follow, at most kMostFiller and maybe none
  };

  static constexpr std::size_t kFixedBytes = 8;
  static constexpr std::size_t kMostBytes = 24;
  /// Records begin at multiples of this, so that packets stand aligned in memory.
  static constexpr std::size_t kAlignment = 8;
  static constexpr std::size_t kLine = 64;  // of a cache: what a filler fills up to
  static constexpr std::size_t kMostFiller = kLine - kFixedBytes;

  /// Bytes of the header; of a record whose first kFixedBytes are known.
  std::size_t header_bytes() const { return kind == Kind::kWrite ? kMostBytes : kFixedBytes; }
  /// Bytes, without meaning, between this record and the next.
  std::size_t padding_bytes() const { return (kAlignment - bytes % kAlignment) % kAlignment; }
  /// What travels.
  std::size_t all_bytes() const { return header_bytes() + bytes + padding_bytes(); }

  Kind kind = Kind::kPacket;
  std::uint32_t bytes = 0;
  std::uint64_t key = 0;
  std::uint64_t offset = 0;
};

/// Writes header_bytes() to `out`.
void encode_record(const TcpRecord& record, std::byte* out);

/// Reads the first kFixedBytes; false: no engine sends this.
bool decode_record(const std::byte* in, TcpRecord* out);
/// Reads the rest of the header of a kWrite, which stands whole at `in`.
void decode_write(const std::byte* in, TcpRecord* out);

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_RECORD_H_
