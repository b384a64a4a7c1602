#include "madlike/message/session/unpacking_session.h"

#include <algorithm>
#include <new>
#include <utility>

namespace mad {
namespace {

std::string piece_of(std::uint64_t number, std::uint64_t bytes) {
  return "piece " + std::to_string(number) + " of the message has " + std::to_string(bytes) +
         " bytes";
}

constexpr const char* kMirror = "; the unpacking calls must mirror the packing calls";

}  // namespace

UnpackingSession::UnpackingSession(const Waiter& waiter, std::unique_ptr<InboundMessage>&& message)
    : waiter_(waiter), staged_memory_(new std::byte[kMaxChunkBytes]) {
  for (Slot& slot : slots_) slot.session = this;
  arriving_.session = this;
  message_ = std::move(message);
}

Status UnpackingSession::unpack(Segment memory, ReceiveMode mode) {
  Piece piece;
  piece.run = memory;
  return take(std::move(piece), mode);
}

Status UnpackingSession::unpack(PieceSink sink, ReceiveMode mode) {
  Piece piece;
  piece.layout = std::move(sink);
  return take(std::move(piece), mode);
}

Status UnpackingSession::take(Piece piece, ReceiveMode mode) {
  if (error_.error()) return error_;
  const std::uint64_t number = ++pieces_;
  piece.number = number;
  try {
    pending_.push_back(std::move(piece));
  } catch (const std::bad_alloc&) {
    fail(StatusCode::kNoMemory);
    return error_;
  }
  advance();
  if (mode == ReceiveMode::kExpress) {
    waiter_.wait([&] { return error_.error() || (pending_.empty() && !in_flight(number)); });
  } else if (pending_.size() >= kMostPending) {
    waiter_.wait([&] { return error_.error() || pending_.size() < kMostPending; });
  } else if (!pending_.empty() && !error_.error()) {
    (void)waiter_.messenger().progress();
  }
  return error_;
}

Status UnpackingSession::end() {
  try {
    waiter_.wait([&] { return error_.error() || (pending_.empty() && !busy()); });
    check_nothing_left();
  } catch (const std::bad_alloc&) {
    fail(StatusCode::kNoMemory);
  }
  // Whatever went wrong, what is on its way into the caller's memory must have come to an end.
  while (busy()) {
    try {
      waiter_.wait([&] { return !busy(); });
    } catch (const std::bad_alloc&) {  // for a turn's work; the next one may have it
    }
  }
  pending_.clear();
  message_->discard();
  return error_;
}

// The sender has ended the message and every piece was asked for.
void UnpackingSession::check_nothing_left() {
  waiter_.wait([&] {
    if (error_.error() || staged_.size > 0) return true;
    if (arriving_.busy) return false;
    if (message_->empty()) {
      if (message_->rest().error()) fail(message_->rest());
      return error_.error();
    }
    if (message_->front().kind == ChunkHeader::Kind::kLong) return true;
    (void)take_chunk();
    return false;
  });
  if (error_.error() || at_end_of_message()) return;
  std::uint64_t head = 0;
  if (staged_.size == 0) {
    head = message_->front().bytes + 1;
  } else if (decode_record_head(staged_, &head) == 0 || head == 0) {
    fail(StatusCode::kProtocol, "the records of a Madeleine message are broken");
    return;
  }
  fail(StatusCode::kTruncated,
       piece_of(pieces_ + 1, head - 1) + ", and mad_end_unpacking() came before it" + kMirror);
}

void UnpackingSession::advance() {
  try {
    serve();
  } catch (const std::bad_alloc&) {
    fail(StatusCode::kNoMemory);
  }
}

void UnpackingSession::serve() {
  while (!error_.error() && !pending_.empty()) {
    if (!(staged_.size > 0 ? read_record() : take_chunk())) return;
  }
}

// Hands the next record to the next piece.
bool UnpackingSession::read_record() {
  std::uint64_t head = 0;
  const std::size_t head_bytes = decode_record_head(staged_, &head);
  if (head_bytes == 0 || (head > 0 && head - 1 > staged_.size - head_bytes)) {
    fail(StatusCode::kProtocol, "the records of a Madeleine message are broken");
    return false;
  }
  Piece& piece = pending_.front();
  if (head == 0) {
    fail(StatusCode::kProtocol, "the message has " + std::to_string(piece.number - 1) +
                                    " pieces, and one more was asked for" + kMirror);
    return false;
  }
  if (!fits(piece, head - 1)) return false;
  const Segment bytes{staged_.begin() + head_bytes, static_cast<std::size_t>(head - 1)};
  staged_ = {bytes.end(), staged_.size - head_bytes - bytes.size};
  if (piece.layout.sink) {
    if (bytes.size > 0) piece.layout.sink->place(0, bytes);
    check(piece);
  } else {
    BytesSink(piece.run).place(0, bytes);
  }
  pending_.pop_front();
  if (staged_.size == 0 && staged_last_) {
    fail(StatusCode::kProtocol, "a Madeleine message ends without its end");
  }
  return true;
}

// A piece of which everything came.
void UnpackingSession::check(const Piece& piece) {
  if (!piece.layout.sink) return;
  const Status placed = piece.layout.sink->result();
  if (placed.error()) fail(placed);
}

bool UnpackingSession::fits(const Piece& piece, std::uint64_t sent) {
  if (sent == piece.bytes()) return true;
  fail(sent > piece.bytes() ? StatusCode::kTruncated : StatusCode::kProtocol,
       piece_of(piece.number, sent) + ", " + std::to_string(piece.bytes()) + " were asked for" +
           kMirror);
  return false;
}

// Starts receiving the next chunk; false when that must wait.
bool UnpackingSession::take_chunk() {
  if (arriving_.busy) return false;
  if (message_->empty()) {
    if (message_->rest().error()) fail(message_->rest());
    return false;
  }
  if (message_->front().kind == ChunkHeader::Kind::kStaged) {
    receive_staged(message_->take());
    return true;
  }
  Slot* const slot = free_slot();
  if (slot == nullptr || !fits(pending_.front(), message_->front().bytes)) return false;
  receive_long(message_->take(), *slot);
  return true;
}

void UnpackingSession::receive_staged(const InboundMessage::Chunk& chunk) {
  const Segment room{staged_memory_.get(), static_cast<std::size_t>(chunk.bytes)};
  staged_last_ = chunk.last;
  arriving_.run = BytesSink(room);
  arriving_.busy = true;
  const Status status = waiter_.messenger().accept(*chunk.message, arriving_.run, chunk.bytes,
                                                   arriving_.as_context());
  if (status.in_progress()) return;
  arriving_.busy = false;
  if (status.error()) return fail(status);
  staged_ = room;
}

void UnpackingSession::Arriving::finished(std::uint64_t bytes, const Status& status) {
  busy = false;
  if (status.error()) {
    session->fail(status);
  } else {
    session->staged_ = {session->staged_memory_.get(), static_cast<std::size_t>(bytes)};
  }
  session->advance();
}

void UnpackingSession::receive_long(const InboundMessage::Chunk& chunk, Slot& slot) {
  slot.piece = std::move(pending_.front());
  pending_.pop_front();
  slot.run = BytesSink(slot.piece.run);
  PayloadSink& sink = slot.piece.layout.sink ? *slot.piece.layout.sink : slot.run;
  slot.busy = true;
  const Status status =
      waiter_.messenger().accept(*chunk.message, sink, chunk.bytes, slot.as_context());
  if (status.in_progress()) return;
  slot.busy = false;
  if (status.error()) fail(status);
  check(slot.piece);
  slot.piece = {};
}

void UnpackingSession::Slot::finished(std::uint64_t, const Status& status) {
  busy = false;
  if (status.error()) session->fail(status);
  session->check(piece);
  piece = {};
  session->advance();
}

UnpackingSession::Slot* UnpackingSession::free_slot() {
  for (Slot& slot : slots_) {
    if (!slot.busy) return &slot;
  }
  return nullptr;
}

bool UnpackingSession::in_flight(std::uint64_t piece) const {
  return std::any_of(slots_.begin(), slots_.end(),
                     [&](const Slot& slot) { return slot.busy && slot.piece.number == piece; });
}

bool UnpackingSession::busy() const {
  return arriving_.busy ||
         std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.busy; });
}

bool UnpackingSession::at_end_of_message() const {
  return staged_last_ && staged_.size == 1 && *staged_.begin() == std::byte{0};
}

}  // namespace mad
