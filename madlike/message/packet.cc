#include "madlike/message/packet.h"

#include <algorithm>
#include <cassert>

#include "madlike/base/copy_bytes.h"

namespace mad {

Packet::Packet(Segment memory, std::size_t max_segments, std::size_t max_bytes)
    : memory_(memory), max_segments_(0), max_bytes_(0) {
  reset(max_segments, max_bytes);
}

void Packet::reset(std::size_t max_segments, std::size_t max_bytes) {
  assert(max_segments >= 1);
  max_segments_ = std::min(max_segments, kMaxSegments);
  max_bytes_ = max_bytes;
  count_ = 0;
  bytes_ = 0;
  staged_ = 0;
  last_is_staged_ = false;
  lent_ = false;
}

void Packet::lend(Segment memory) {
  memory_ = memory;
  reset(1, memory.size);
  segments_[count_++] = {memory.data, 0};
  last_is_staged_ = true;
  lent_ = true;
}

Segment Packet::staging_room() const {
  std::byte* const free = memory_.begin() + staged_;
  if (!last_is_staged_ && count_ == max_segments_) return {free, 0};
  return {free, std::min(memory_.size - staged_, bytes_room())};
}

void Packet::stage(std::size_t bytes) {
  assert(bytes <= staging_room().size);
  if (bytes == 0) return;
  std::byte* const first = memory_.begin() + staged_;
  if (last_is_staged_) {
    segments_[count_ - 1].size += bytes;
  } else {
    segments_[count_++] = {first, bytes};
  }
  last_is_staged_ = true;
  staged_ += bytes;
  bytes_ += bytes;
}

bool Packet::can_reference() const {
  return (lent_ || count_ < max_segments_) && bytes_ < max_bytes_;
}

std::size_t Packet::reference(Segment run) {
  if (!can_reference()) return 0;
  const std::size_t taken = std::min(run.size, bytes_room());
  if (taken == 0) return 0;
  if (lent_) {
    copy_bytes(staging_room().data, run.data, taken);
    stage(taken);
    return taken;
  }
  segments_[count_++] = {run.data, taken};
  last_is_staged_ = false;
  bytes_ += taken;
  return taken;
}

void Packet::listed(std::size_t count, std::size_t bytes) {
  assert(count <= list_room() && bytes <= bytes_room());
  if (count == 0) return;
  count_ += count;
  bytes_ += bytes;
  last_is_staged_ = false;
}

}  // namespace mad
