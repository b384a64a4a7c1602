#include "madlike/message/session/packing_session.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "madlike/base/sentence.h"
#include "madlike/message/session/chunk.h"

namespace mad {
namespace {

// A message to oneself leaves within a few rounds of progress or not at all.
constexpr int kSelfRounds = 3000;

// Bounds that the wire sets, and room for two pieces at least in every chunk.
SessionTuning sound(SessionTuning tuning) {
  tuning.chunk_bytes = std::clamp<std::size_t>(tuning.chunk_bytes, 64, kMaxChunkBytes);
  tuning.long_bytes =
      std::clamp<std::size_t>(tuning.long_bytes, 1, tuning.chunk_bytes / 2 - kMaxRecordHead);
  return tuning;
}

void fill_all(PayloadSource& source, Packet& packet, std::uint64_t bytes) {
  while (bytes > 0) {
    const std::size_t before = packet.bytes();
    source.fill(packet, bytes);
    bytes -= packet.bytes() - before;
  }
}

}  // namespace

PackingSession::PackingSession(const Waiter& waiter, const SessionTuning& tuning, Endpoint& to,
                               std::uint32_t number, std::function<void()> give_up)
    : waiter_(waiter),
      tuning_(sound(tuning)),
      to_(to),
      number_(number),
      give_up_(std::move(give_up)),
      records_({}, 1, 0) {
  for (Slot& slot : slots_) slot.session = this;
  slots_.front().memory.reset(new std::byte[tuning_.chunk_bytes]);
}

Status PackingSession::pack(Segment bytes, SendMode mode) {
  Piece piece;
  piece.run = bytes;
  return take(std::move(piece), mode);
}

Status PackingSession::pack(PieceSource source, SendMode mode) {
  Piece piece;
  piece.layout = std::move(source);
  return take(std::move(piece), mode);
}

Status PackingSession::take(Piece piece, SendMode mode) {
  if (error_.error()) return error_;
  if (mode == SendMode::kLater || !held_.empty()) return hold(std::move(piece), mode);
  send_now(std::move(piece), mode == SendMode::kSafer);
  return error_;
}

Status PackingSession::hold(Piece piece, SendMode mode) {
  const std::uint64_t bytes = piece.bytes();
  if (mode == SendMode::kSafer && bytes > 0) {
    if (bytes > tuning_.held_bytes - held_copies_) {
      return Status(StatusCode::kInvalidArgument,
                    "the pieces packed SAFER behind a LATER one must be copied, and with this one "
                    "of " +
                        std::to_string(bytes) + " bytes they would be more than " +
                        std::to_string(tuning_.held_bytes) +
                        " bytes; pack it before the LATER piece, or CHEAPER");
    }
    // One byte in front keeps the packet to a single staged segment: nothing is referenced.
    const auto size = static_cast<std::size_t>(bytes);
    std::unique_ptr<std::byte[]> copy(new std::byte[size + 1]);
    Packet packet({copy.get(), size + 1}, 1, size + 1);
    packet.stage(1);
    if (piece.layout.source) {
      fill_all(*piece.layout.source, packet, bytes);
    } else {
      std::memcpy(copy.get() + 1, piece.run.data, size);
    }
    piece.layout = {};
    piece.run = {copy.get() + 1, size};
    piece.copy = std::move(copy);
  }
  const bool copied = piece.copy != nullptr;
  held_.push_back(std::move(piece));
  if (copied) held_copies_ += static_cast<std::size_t>(bytes);
  return error_;
}

void PackingSession::send_now(Piece piece, bool wait_for_it) {
  if (piece.bytes() < tuning_.long_bytes) {
    stage(piece);
  } else {
    send_long(std::move(piece), wait_for_it);
  }
}

void PackingSession::stage(Piece& piece) {
  const std::uint64_t bytes = piece.bytes();
  std::byte head[kMaxRecordHead];
  const std::size_t head_bytes = encode_record_head(bytes + 1, head);
  if (chunk_ != nullptr && records_.bytes_room() < head_bytes + bytes) flush_chunk(false);
  if (chunk_ == nullptr) open_chunk();
  if (error_.error()) return;
  std::memcpy(records_.staging_room().data, head, head_bytes);
  records_.stage(head_bytes);
  if (piece.layout.source) {
    fill_all(*piece.layout.source, records_, bytes);
  } else if (bytes > 0) {
    std::memcpy(records_.staging_room().data, piece.run.data, piece.run.size);
    records_.stage(piece.run.size);
  }
}

// The records are one staged segment that begins with a record's head, so that no source can
// reference memory in them.
void PackingSession::open_chunk() {
  Slot* slot = free_slot(true);
  if (slot == nullptr) return;
  if (!slot->memory) slot->memory.reset(new (std::nothrow) std::byte[tuning_.chunk_bytes]);
  if (!slot->memory) slot = slot_with_memory();
  if (slot == nullptr) return;
  slot->busy = true;
  chunk_ = slot;
  records_ = Packet({slot->memory.get(), tuning_.chunk_bytes}, 1, tuning_.chunk_bytes);
}

void PackingSession::flush_chunk(bool last) {
  Slot& slot = *chunk_;
  chunk_ = nullptr;
  ChunkHeader header;
  header.kind = ChunkHeader::Kind::kStaged;
  header.last = last;
  header.message = number_;
  header.sequence = sequence_++;
  slot.run = BytesSource({slot.memory.get(), records_.bytes()});
  slot.source = &slot.run;
  slot.payload_bytes = records_.bytes();
  slot.flush_bytes = 0;
  auto bytes = header.encode();
  post(slot, {bytes.data(), bytes.size()});
}

void PackingSession::send_long(Piece piece, bool wait_for_it) {
  if (chunk_ != nullptr) flush_chunk(false);
  Slot* const slot = error_.error() ? nullptr : free_slot(false);
  if (slot == nullptr) return;
  slot->busy = true;
  slot->payload_bytes = piece.bytes();
  slot->flush_bytes = piece.layout.flush_bytes;
  slot->piece = std::move(piece);
  slot->run = BytesSource(slot->piece.run);
  slot->source = slot->piece.layout.source ? slot->piece.layout.source.get() : &slot->run;
  ChunkHeader header;
  header.kind = ChunkHeader::Kind::kLong;
  header.message = number_;
  header.sequence = sequence_++;
  auto bytes = header.encode();
  post(*slot, {bytes.data(), bytes.size()});
  if (wait_for_it) wait([&] { return !slot->busy; });
}

void PackingSession::post(Slot& slot, Segment header) {
  Status status = StatusCode::kNoMemory;  // to contact the peer
  try {
    status = waiter_.messenger().send(to_, kMadeleineHandler, header, slot);
  } catch (const std::bad_alloc&) {
  }
  if (!status.in_progress()) slot.finished(status);
}

void PackingSession::Slot::finished(const Status& status) {
  busy = false;
  piece = {};
  if (status.error() && !session->error_.error()) session->error_ = status;
}

// A slot that is free, after waiting for one if need be; null after an error.  Those that have
// memory are for chunks, if there are others.
PackingSession::Slot* PackingSession::free_slot(bool for_chunk) {
  Slot* found = nullptr;
  wait([&] {
    for (Slot& slot : slots_) {
      const bool better = found == nullptr || (slot.memory != nullptr) == for_chunk;
      if (!slot.busy && better) found = &slot;
    }
    return found != nullptr || error_.error();
  });
  return error_.error() ? nullptr : found;
}

// The same of those that have memory, where there is none for more.
PackingSession::Slot* PackingSession::slot_with_memory() {
  Slot* found = nullptr;
  wait([&] {
    for (Slot& slot : slots_) {
      if (!slot.busy && slot.memory) found = &slot;
    }
    return found != nullptr || error_.error();
  });
  return error_.error() ? nullptr : found;
}

bool PackingSession::busy() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy; });
}

template <typename Done>
void PackingSession::wait(Done done) {
  int rounds = 0;
  waiter_.wait([&] { return done() || (give_up_ && ++rounds > kSelfRounds); });
  if (done()) return;
  if (!error_.error()) too_long_for_oneself();
  give_up_();
  waiter_.wait(done);
}

void PackingSession::too_long_for_oneself() {
  error_ = with_sentence(StatusCode::kInvalidArgument, [] {
    return "a message to this engine itself is too long to be sent before it is unpacked, "
           "and the thread that packs it cannot unpack it meanwhile; send less at once";
  });
}

Status PackingSession::end() {
  try {
    send_rest();
  } catch (const std::bad_alloc&) {
    if (!error_.error()) error_ = StatusCode::kNoMemory;
  }
  if (chunk_ != nullptr) chunk_->busy = false;
  chunk_ = nullptr;
  while (busy()) {
    try {
      wait([this] { return !busy(); });
    } catch (const std::bad_alloc&) {  // for a turn's work; the next one may have it
    }
  }
  held_.clear();
  return error_;
}

void PackingSession::send_rest() {
  for (Piece& piece : held_) {
    if (!error_.error()) send_now(std::move(piece), false);
  }
  if (chunk_ != nullptr && records_.bytes_room() == 0 && !error_.error()) flush_chunk(false);
  if (chunk_ == nullptr && !error_.error()) open_chunk();
  if (error_.error()) return;
  const std::byte end_of_message{0};
  std::memcpy(records_.staging_room().data, &end_of_message, 1);
  records_.stage(1);
  flush_chunk(true);
}

}  // namespace mad
