// PacketPool: all packets of one kind that an engine has, and how many of them one peer may hold.
//
// Staging memory is taken from the system a slab at a time, when it is first needed, and kept;
// there are `capacity` packets, and beyond that one for each peer that would have none, so that
// peers which take nothing leave packets to all others (docs/adr/0028-packets-for-every-peer.md).
// Taking and giving back is a move on a free list, the packet used last first, since its memory is
// warm.
#ifndef MADLIKE_MESSAGE_PACKET_POOL_H_
#define MADLIKE_MESSAGE_PACKET_POOL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "madlike/driver/driver.h"
#include "madlike/message/messenger.h"
#include "madlike/message/packet.h"

namespace mad {

class PacketPool;

/// A packet on its way to the driver or in its hands: the context of a post.
struct OutgoingPacket {
  enum class Use {
    kControl,  // a frame without payload and message header
    kFirst,    // a message's first frame
    kData,     // a frame of streamed payload
    kWrite,    // a remote write of streamed payload
    kPut,      // a part of a put
    kGet       // no packet, but a part of a get that is under way
  };
  explicit OutgoingPacket(PacketPool* owner, Segment memory) : packet(memory, 1, 0), pool(owner) {}

  Packet packet;
  PacketPool* pool;
  Endpoint* endpoint = nullptr;
  OutgoingMessage* message = nullptr;  // that it is of, and that waits for it; null: none
  OutgoingPacket* next = nullptr;      // in the pool's free list
  Use use = Use::kFirst;
  std::uint32_t connections_left = 0;  // of the endpoint when it was posted
  ExposureToken window{};              // kWrite, kPut
  std::uint64_t window_offset = 0;
};

inline bool is_remote_write(OutgoingPacket::Use use) {
  return use == OutgoingPacket::Use::kWrite || use == OutgoingPacket::Use::kPut;
}
inline bool is_streamed(OutgoingPacket::Use use) {
  return use == OutgoingPacket::Use::kData || is_remote_write(use);
}

class PacketPool {
 public:
  /// `capacity` (>= 1) packets of `packet_bytes` staging memory each.
  PacketPool(std::size_t packet_bytes, std::size_t capacity);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  /// A packet for a peer that holds `held` of them for the same purpose, which is granted one in
  /// any case, and more while it holds fewer than those that are free, divided by `divisor`.  Null:
  /// it has its share (or memory has run out).  The packet has no endpoint and no message; its
  /// Packet is as its last user left it: reset it.
  OutgoingPacket* take(std::size_t held, std::size_t divisor = 1);
  void give_back(OutgoingPacket* packet);

  std::size_t packet_bytes() const { return packet_bytes_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t in_use() const { return in_use_; }

 private:
  static constexpr std::size_t kSlabPackets = 4;
  bool is_within_share(std::size_t held, std::size_t divisor) const;
  bool grow();

  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    std::vector<OutgoingPacket> packets;
  };

  std::size_t packet_bytes_;
  std::size_t capacity_;
  std::size_t in_use_ = 0;
  OutgoingPacket* free_ = nullptr;
  std::vector<Slab> slabs_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PACKET_POOL_H_
