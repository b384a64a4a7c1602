#include "madlike/message/packet_pool.h"

#include <algorithm>
#include <new>
#include <utility>

namespace mad {
namespace {

constexpr std::size_t kAlignment = 64;  // a cache line

}  // namespace

PacketPool::PacketPool(std::size_t packet_bytes, std::size_t capacity)
    : packet_bytes_((packet_bytes + kAlignment - 1) / kAlignment * kAlignment),
      capacity_(std::max<std::size_t>(capacity, 1)) {
  slabs_.reserve((capacity_ + kSlabPackets - 1) / kSlabPackets);
}

OutgoingPacket* PacketPool::take() {
  if (free_ == nullptr && !grow()) return nullptr;
  OutgoingPacket* const packet = free_;
  free_ = packet->next;
  packet->next = nullptr;
  packet->endpoint = nullptr;
  packet->carried = nullptr;
  packet->message = nullptr;
  packet->use = OutgoingPacket::Use::kFirst;
  ++in_use_;
  return packet;
}

void PacketPool::give_back(OutgoingPacket* packet) {
  packet->next = free_;
  free_ = packet;
  --in_use_;
}

bool PacketPool::grow() {
  const std::size_t count = std::min(kSlabPackets, capacity_ - existing_);
  if (count == 0) return false;
  Slab slab;
  slab.memory.reset(new (std::nothrow) std::byte[count * packet_bytes_ + kAlignment]);
  if (slab.memory == nullptr) return false;
  try {
    slab.packets.reserve(count);
  } catch (const std::bad_alloc&) {
    return false;
  }
  void* start = slab.memory.get();
  std::size_t room = count * packet_bytes_ + kAlignment;
  std::align(kAlignment, count * packet_bytes_, start, room);
  for (std::size_t i = 0; i < count; ++i) {
    auto* const memory = static_cast<std::byte*>(start) + i * packet_bytes_;
    slab.packets.emplace_back(this, Segment{memory, packet_bytes_});
    slab.packets.back().next = free_;
    free_ = &slab.packets.back();
  }
  existing_ += count;
  slabs_.push_back(std::move(slab));
  return true;
}

}  // namespace mad
