// TcpInbox: the bytes of one connection as they come, cut into records.
//
// It says where the socket is to be read to (room()), and what has come (next()).  The bytes of a
// write are the caller's business: those in memory are looked at with write_bytes(), those still in
// the socket can be read straight to where they belong.  The rest of a long packet, whose first
// bytes were handed out, comes piece by piece or is treated like a write.
#ifndef MADLIKE_DRIVER_TCP_INBOX_H_
#define MADLIKE_DRIVER_TCP_INBOX_H_

#include <cstddef>
#include <cstdint>

#include "madlike/base/segment.h"
#include "madlike/driver/memory/chunk_pool.h"
#include "madlike/driver/tcp/record.h"

namespace mad {

class TcpInbox {
 public:
  enum class Found {
    kNothing,  // no whole record is in memory
    kPacket,   // a packet, or the next piece of one, in chunk()
    kWrite,    // a write() begins; its bytes come before anything else
    kLast,     // the peer leaves in good order
    kForeign   // no engine sends this
  };

  struct Limits {
    std::size_t max_packet_bytes;
    /// Packets are whole up to twice this, and longer ones begin with a piece of at least this.
    std::size_t piece_bytes;
  };
  /// What a chunk must hold: twice what is read of one record at once.
  static std::size_t chunk_bytes(const Limits& limits);

  TcpInbox(ChunkPool& pool, const Limits& limits);
  ~TcpInbox() { give_up_chunk(); }
  TcpInbox(const TcpInbox&) = delete;
  TcpInbox& operator=(const TcpInbox&) = delete;

  /// The next record, 8-byte aligned.  A packet's bytes stay in chunk() while it has users.
  Found next(Segment* packet);
  /// Bytes of the packet just found that are still to come.
  std::size_t packet_left() const { return packet_left_; }
  /// They are dealt with as the bytes of a write from now on.
  void divert_packet();
  Chunk* chunk() const { return chunk_; }

  /// The write under way, how many of its bytes are missing, and those of them in memory.
  const TcpRecord& write() const { return write_; }
  std::size_t write_left() const { return write_left_; }
  Segment write_bytes() const;
  /// The first `bytes` of write_bytes() are dealt with.
  void took_write_bytes(std::size_t bytes);
  /// The next `bytes` of the write were read from the socket, past this inbox.
  void read_past(std::size_t bytes) { write_left_ -= bytes; }

  /// Where the next bytes of the socket go: what is missing of the record that has begun, and up to
  /// `ahead` bytes more.  With `past`, what is missing of the write is read elsewhere before.
  /// Empty: no memory now.
  Segment room(std::size_t ahead, bool past = false);
  /// So many bytes were read to room().
  void filled(std::size_t bytes) { end_ += bytes; }

  bool empty() const { return begin_ == end_; }
  /// Nothing is in memory, nor missing of a packet or write.
  bool at_rest() const { return empty() && write_left_ == 0 && packet_left_ == 0; }
  /// Nothing is in memory: the chunk goes back until something comes.
  void rest() {
    if (empty()) give_up_chunk();
  }
  /// Nothing more is to come out of it.
  void give_up_chunk();

 private:
  std::size_t available() const { return end_ - begin_; }
  bool make_room(std::size_t start, std::size_t bytes);

  Found next_piece(Segment* packet);

  ChunkPool& pool_;
  const Limits limits_;
  Chunk* chunk_ = nullptr;
  std::size_t begin_ = 0;  // [begin_, end_) of the chunk came and is not dealt with
  std::size_t end_ = 0;
  std::size_t padding_ = 0;                      // bytes before the next record
  std::size_t needed_ = TcpRecord::kFixedBytes;  // of it, from its first byte
  TcpRecord write_;
  std::size_t write_left_ = 0;
  std::size_t packet_left_ = 0;
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_INBOX_H_
