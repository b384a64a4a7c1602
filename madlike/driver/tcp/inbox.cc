#include "madlike/driver/tcp/inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mad {
namespace {

constexpr std::size_t kPage = 4096;
// Of a packet that comes in pieces this much is read into a chunk at once.
constexpr std::size_t kMostAtOnce = 64 * 1024;

constexpr std::size_t aligned(std::size_t offset) {
  return (offset + TcpRecord::kAlignment - 1) / TcpRecord::kAlignment * TcpRecord::kAlignment;
}

// What is to be left free before `bytes` so that what follows them is aligned.
constexpr std::size_t lead_before(std::size_t bytes) { return aligned(bytes) - bytes; }

}  // namespace

std::size_t TcpInbox::chunk_bytes(const Limits& limits) {
  const std::size_t whole = std::min(limits.max_packet_bytes, 2 * limits.piece_bytes);
  const std::size_t record = TcpRecord::kMostBytes + aligned(std::max(whole, kMostAtOnce));
  return (2 * record + kPage - 1) / kPage * kPage;
}

TcpInbox::TcpInbox(ChunkPool& pool, const Limits& limits) : pool_(pool), limits_(limits) {}

TcpInbox::Found TcpInbox::next(Segment* packet) {
  if (write_left_ > 0) return Found::kNothing;
  if (packet_left_ > 0) return next_piece(packet);
  TcpRecord record;
  for (;;) {
    const std::size_t skipped = std::min(padding_, available());
    begin_ += skipped;
    padding_ -= skipped;
    needed_ = TcpRecord::kFixedBytes;
    if (padding_ > 0 || available() < needed_) return Found::kNothing;
    if (!decode_record(chunk_->bytes + begin_, &record)) return Found::kForeign;
    if (record.kind != TcpRecord::Kind::kFiller) break;
    begin_ += needed_;
    padding_ = record.bytes + record.padding_bytes();
  }
  std::byte* const start = chunk_->bytes + begin_;
  needed_ = record.header_bytes();
  if (record.kind == TcpRecord::Kind::kPacket) {
    if (record.bytes > limits_.max_packet_bytes) return Found::kForeign;
    const bool whole = record.bytes <= 2 * limits_.piece_bytes;
    needed_ += whole ? record.bytes : limits_.piece_bytes;
  }
  if (available() < needed_) return Found::kNothing;
  padding_ = record.padding_bytes();
  if (record.kind == TcpRecord::Kind::kPacket) {
    begin_ += record.header_bytes();
    packet_left_ = record.bytes;
    return next_piece(packet);
  }
  begin_ += needed_;
  needed_ = TcpRecord::kFixedBytes;
  if (record.kind == TcpRecord::Kind::kLast) return Found::kLast;
  decode_write(start, &record);
  write_ = record;
  write_left_ = record.bytes;
  return Found::kWrite;
}

TcpInbox::Found TcpInbox::next_piece(Segment* packet) {
  needed_ = TcpRecord::kFixedBytes;
  if (empty()) return Found::kNothing;
  *packet = {chunk_->bytes + begin_, std::min(available(), packet_left_)};
  begin_ += packet->size;
  packet_left_ -= packet->size;
  return Found::kPacket;
}

void TcpInbox::divert_packet() {
  write_ = {};
  write_.bytes = static_cast<std::uint32_t>(packet_left_);
  write_left_ = std::exchange(packet_left_, 0);
}

Segment TcpInbox::write_bytes() const {
  if (empty()) return {};
  return {chunk_->bytes + begin_, std::min(available(), write_left_)};
}

void TcpInbox::took_write_bytes(std::size_t bytes) {
  begin_ += bytes;
  write_left_ -= bytes;
}

Segment TcpInbox::room(std::size_t ahead, bool past) {
  std::size_t start = begin_ % TcpRecord::kAlignment;
  std::size_t missing = padding_ + needed_ - std::min(available(), padding_ + needed_);
  if (empty()) {
    start = lead_before((past ? 0 : write_left_) + packet_left_ + padding_);
    if (write_left_ > 0) missing = 0;
    if (packet_left_ > 0) missing = std::min(packet_left_, kMostAtOnce);
  }
  if (!make_room(start, available() + missing)) return {};
  const std::size_t free = pool_.bytes_each() - end_;
  return {chunk_->bytes + end_, std::min(free, missing + ahead)};
}

// Room for `bytes` from begin_ on, in this chunk or another one.  `start` keeps the alignment.
bool TcpInbox::make_room(std::size_t start, std::size_t bytes) {
  if (chunk_ != nullptr) {
    const bool alone = chunk_->users == 1;
    if (empty()) begin_ = end_ = alone ? start : aligned(end_) + start;
    if (begin_ + bytes + TcpRecord::kMostBytes <= pool_.bytes_each()) return true;
    if (alone) {
      std::memmove(chunk_->bytes + start, chunk_->bytes + begin_, available());
      end_ = start + available();
      begin_ = start;
      return true;
    }
  }
  Chunk* const fresh = pool_.take();
  if (fresh == nullptr) return false;
  if (!empty()) std::memcpy(fresh->bytes + start, chunk_->bytes + begin_, available());
  end_ = start + available();
  begin_ = start;
  if (chunk_ != nullptr) pool_.drop_user(*chunk_);
  chunk_ = fresh;
  return true;
}

void TcpInbox::give_up_chunk() {
  if (chunk_ == nullptr) return;
  pool_.drop_user(*chunk_);
  chunk_ = nullptr;
  begin_ = end_ = 0;
}

}  // namespace mad
