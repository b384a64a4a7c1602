#include "madlike/driver/ucx/memory.h"

#include <cstdint>

#include "madlike/base/copy_bytes.h"

namespace mad {
namespace {

constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::size_t kAlignment = 8;
static_assert(kChunkBytes % kAlignment == 0);
// Of two chunks in a row, more than one is full of packets; the one begun has some room.
constexpr std::size_t kChunksAtOnce =
    UcxLane::kSocketsAtOnce * 2 * UcxLane::kSocketBytes / kChunkBytes + 1;

// Both kinds of buffers are aligned; which one it is stands in the lowest bit.
constexpr std::uintptr_t kOwn = 1;

}  // namespace

ReceivedMemory::ReceivedMemory(std::size_t chunks) : chunks_(chunks, kChunkBytes) {}

bool ReceivedMemory::has_room() const {
  const bool begun_is_free = chunk_ != nullptr && chunk_->users == 1;
  return chunks_.available() + (begun_is_free ? 1 : 0) >= kChunksAtOnce;
}

ReceivedMemory::Kept ReceivedMemory::copy(Segment packet) {
  if (chunk_ != nullptr && chunk_->users == 1) filled_ = 0;  // all are released
  if (chunk_ == nullptr || packet.size > kChunkBytes - filled_) {
    if (chunk_ != nullptr) chunks_.drop_user(*chunk_);
    chunk_ = chunks_.take();
    filled_ = 0;
    if (chunk_ == nullptr) return {};
  }
  std::byte* const place = chunk_->bytes + filled_;
  copy_bytes(place, packet.data, packet.size);
  filled_ += (packet.size + kAlignment - 1) / kAlignment * kAlignment;
  chunks_.add_user(*chunk_);
  return {{place, packet.size},
          reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(chunk_) | kOwn)};
}

void ReceivedMemory::release(void* buffer) {
  const auto bits = reinterpret_cast<std::uintptr_t>(buffer);
  if ((bits & kOwn) != 0) return chunks_.drop_user(*reinterpret_cast<Chunk*>(bits & ~kOwn));
  auto* const kept = static_cast<UcxKept*>(buffer);
  kept->lane->release(kept);
}

}  // namespace mad
