// PacketPool: all packets of one kind that an engine has, a fixed number of them.
//
// Staging memory is taken from the system a slab at a time, when it is first needed, and kept;
// there are never more than `capacity` packets.  Taking and giving back is a move on a free list,
// the packet used last first, since its memory is warm.
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
    kFirst,  // a message's first frame, or a control frame
    kData,   // a frame of streamed payload
    kWrite   // a remote write of streamed payload
  };
  explicit OutgoingPacket(PacketPool* owner, Segment memory) : packet(memory, 1, 0), pool(owner) {}

  Packet packet;
  PacketPool* pool;
  Endpoint* endpoint = nullptr;
  OutgoingMessage* carried = nullptr;  // whose payload it has; null: nobody's
  OutgoingMessage* message = nullptr;  // that waits for it: it references its memory, or the driver
                                       // pushed it back; null: none
  OutgoingPacket* next = nullptr;      // in the pool's free list
  Use use = Use::kFirst;
  std::uint32_t detours = 0;  // of the endpoint when it was posted
  ExposureToken window{};     // kWrite
  std::uint64_t window_offset = 0;
};

class PacketPool {
 public:
  /// `capacity` (>= 1) packets of `packet_bytes` staging memory each.
  PacketPool(std::size_t packet_bytes, std::size_t capacity);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  /// A packet without endpoint and message, or null when all are in use (or memory has run out).
  /// Its Packet is as its last user left it: reset it.
  OutgoingPacket* take();
  void give_back(OutgoingPacket* packet);

  std::size_t packet_bytes() const { return packet_bytes_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t in_use() const { return in_use_; }

 private:
  static constexpr std::size_t kSlabPackets = 4;
  bool grow();

  struct Slab {
    std::unique_ptr<std::byte[]> memory;
    std::vector<OutgoingPacket> packets;
  };

  std::size_t packet_bytes_;
  std::size_t capacity_;
  std::size_t in_use_ = 0;
  std::size_t existing_ = 0;
  OutgoingPacket* free_ = nullptr;
  std::vector<Slab> slabs_;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PACKET_POOL_H_
