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
      capacity_(std::max<std::size_t>(capacity, 1)) {}

bool PacketPool::is_within_share(std::size_t held, std::size_t divisor) const {
  const std::size_t left = capacity_ - std::min(in_use_, capacity_);
  return held < std::max<std::size_t>(left / divisor, 1);
}

OutgoingPacket* PacketPool::take(std::size_t held, std::size_t divisor) {
  if (!is_within_share(held, divisor)) return nullptr;
  if (free_ == nullptr && !grow()) return nullptr;
  OutgoingPacket* const packet = free_;
  free_ = packet->next;
  packet->next = nullptr;
  packet->endpoint = nullptr;
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
  constexpr std::size_t kCount = kSlabPackets;
  try {
    Slab slab;
    slab.memory.reset(new std::byte[kCount * packet_bytes_ + kAlignment]);
    slab.packets.reserve(kCount);
    slabs_.push_back(std::move(slab));
  } catch (const std::bad_alloc&) {
    return false;
  }
  Slab& slab = slabs_.back();
  void* start = slab.memory.get();
  std::size_t room = kCount * packet_bytes_ + kAlignment;
  std::align(kAlignment, kCount * packet_bytes_, start, room);
  for (std::size_t i = 0; i < kCount; ++i) {
    auto* const memory = static_cast<std::byte*>(start) + i * packet_bytes_;
    slab.packets.emplace_back(this, Segment{memory, packet_bytes_});
    slab.packets.back().next = free_;
    free_ = &slab.packets.back();
  }
  return true;
}

}  // namespace mad
