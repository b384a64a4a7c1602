#include "datatype_path/transfer/layout_transfer.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace mad {
namespace {

// A run is judged long or short by its whole rest, not by what the packet can still take of it.
constexpr std::size_t kWholeRun = std::numeric_limits<std::size_t>::max();

std::size_t stage_from(Cursor& cursor, Packet& packet, std::size_t left) {
  const Segment room = packet.staging_room();
  const std::size_t bytes = cursor.pack(room.data, std::min(room.size, left));
  packet.stage(bytes);
  return bytes;
}

// As many of the next runs as the packet can reference.
std::size_t list_from(Cursor& cursor, Packet& packet, std::size_t left) {
  std::size_t bytes = 0;
  const std::size_t count = cursor.segments(packet.list(), packet.list_room(),
                                            std::min(packet.bytes_room(), left), &bytes);
  packet.listed(count, bytes);
  return bytes;
}

}  // namespace

LayoutSource::LayoutSource(BlockProgramPtr program, void* base, std::uint64_t count,
                           std::uint64_t reference_from)
    : program_(std::move(program)),
      cursor_(*program_, base, count),
      reference_from_(reference_from) {}

LayoutSource::LayoutSource(const BlockProgram& program, void* base, std::uint64_t count,
                           std::uint64_t reference_from)
    : cursor_(program, base, count), reference_from_(reference_from) {}

void LayoutSource::fill(Packet& packet, std::uint64_t limit) {
  auto left = static_cast<std::size_t>(std::min(limit, cursor_.total() - cursor_.position()));
  bool packet_has_some = false;
  while (left > 0) {
    std::size_t taken = 0;
    if (reference_from_ == kNeverReference || packet.lent()) {
      taken = stage_from(cursor_, packet, left);
    } else if (reference_from_ == 1 && packet.can_reference()) {
      taken = list_from(cursor_, packet, left);
    } else {
      const Segment room = packet.staging_room();
      taken = cursor_.pack_short_runs(room.data, std::min(room.size, left), reference_from_);
      packet.stage(taken);
      if (taken == 0) taken = take_long_run(packet, left, packet_has_some);
    }
    if (taken == 0) return;
    packet_has_some = true;
    left -= taken;
  }
}

// The next run is long, or no staging memory is left.  A packet that cannot reference it goes as it
// is; one that is still empty (a fabric of one segment) takes a copy.
std::size_t LayoutSource::take_long_run(Packet& packet, std::size_t left, bool packet_has_some) {
  Segment run = cursor_.next_run(kWholeRun);
  const bool is_long = run.size >= reference_from_;
  if (packet_has_some && (!is_long || !packet.can_reference())) return 0;
  run.size = std::min(run.size, left);
  if (!packet.can_reference()) return stage_from(cursor_, packet, run.size);
  const std::size_t taken = packet.reference(run);
  cursor_.advance(taken);
  return taken;
}

LayoutPayload::LayoutPayload(const BlockProgram& program, void* base, std::uint64_t count)
    : WholePayload(static_cast<std::size_t>(program.size() * count)),
      program_(program),
      base_(base),
      count_(count) {}

std::uint64_t LayoutPayload::run_bytes() const {
  return program_.contiguous() ? bytes() : program_.shape().mean_run();
}

void LayoutPayload::write(std::byte* out) const {
  (void)Cursor(program_, base_, count_).pack(out, bytes());
}

LayoutSink::LayoutSink(BlockProgramPtr program, void* base, std::uint64_t count, bool in_place)
    : program_(std::move(program)), cursor_(*program_, base, count), in_place_(in_place) {}

void LayoutSink::seek(std::uint64_t offset) {
  if (cursor_.position() != offset) cursor_.seek(offset);
}

void LayoutSink::place(std::uint64_t offset, Segment bytes) {
  if (offset >= cursor_.total()) return;
  seek(offset);
  cursor_.unpack(bytes.data, bytes.size);
}

std::size_t LayoutSink::runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                             std::size_t capacity) {
  if (offset > cursor_.total() || size > cursor_.total() - offset) return 0;
  seek(offset);
  Cursor ahead = cursor_;  // what is placed next probably starts here
  std::size_t listed = 0;
  const std::size_t count =
      ahead.segments(out, in_place_ ? capacity : 1, static_cast<std::size_t>(size), &listed);
  return in_place_ || listed == size ? count : 0;
}

}  // namespace mad
