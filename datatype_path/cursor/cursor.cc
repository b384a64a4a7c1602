#include "datatype_path/cursor/cursor.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "datatype_path/cursor/copy_runs.h"

namespace mad {
namespace {

// Bodies of up to so many runs are copied run by run over many trips, so that a kernel sees each
// length once; longer bodies trip by trip.
constexpr std::uint64_t kShortBody = 16;
// Trips copied at a time in that way: their memory stays in the first-level cache.
constexpr std::uint64_t kTripsAtOnce = 64;

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

std::uint64_t times(std::uint64_t trips, std::int64_t stride) {
  return trips * static_cast<std::uint64_t>(stride);
}

// The two directions: between the packed stream at `stream` and the layout.
struct CopyOut {
  std::byte* stream;
  void one(std::uint64_t done, std::uint64_t address, std::size_t length) const {
    copy_run(stream + done, pointer(address), length);
  }
  void many(std::uint64_t done, std::uint64_t stream_stride, std::uint64_t address,
            std::int64_t stride, std::uint64_t count, std::size_t length) const {
    copy_runs({stream + done, static_cast<std::int64_t>(stream_stride), pointer(address), stride,
               count, length});
  }
  void listed(std::uint64_t done, std::uint64_t address, const std::int64_t* places,
              std::uint64_t count, std::size_t length) const {
    copy_listed_runs<Direction::kPack>(stream + done, address, places, count, length);
  }
};

struct CopyIn {
  const std::byte* stream;
  void one(std::uint64_t done, std::uint64_t address, std::size_t length) const {
    copy_run(pointer(address), stream + done, length);
  }
  void many(std::uint64_t done, std::uint64_t stream_stride, std::uint64_t address,
            std::int64_t stride, std::uint64_t count, std::size_t length) const {
    copy_runs({pointer(address), stride, stream + done, static_cast<std::int64_t>(stream_stride),
               count, length});
  }
  void listed(std::uint64_t done, std::uint64_t address, const std::int64_t* places,
              std::uint64_t count, std::size_t length) const {
    copy_listed_runs<Direction::kUnpack>(stream + done, address, places, count, length);
  }
};

}  // namespace

Cursor::Cursor(const BlockProgram& program, void* base, std::uint64_t count)
    : program_(&program),
      base_(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(base))),
      total_(program.size() * count),
      one_run_(program.contiguous() || (count == 1 && program.single_run())) {
  if (total_ == 0) return;
  trips_ = program.top().count * count;
  if (one_run_) base_ += static_cast<std::uint64_t>(program.top().offsets[0]);
  seek(0);
}

std::uint64_t Cursor::total() const { return total_; }
std::uint64_t Cursor::position() const { return position_; }

std::uint64_t Cursor::run_address() const {
  if (one_run_) return base_ + position_;
  const Frame& f = frame();
  return f.address + static_cast<std::uint64_t>(f.node->offsets[f.part]) + skip_;
}

std::uint64_t Cursor::run_left() const {
  if (one_run_) return total_ - position_;
  const Frame& f = frame();
  return f.node->part_bytes(f.part) - skip_;
}

void Cursor::seek(std::uint64_t offset) {
  assert(offset <= total_);
  position_ = offset;
  depth_ = 0;
  if (at_end() || one_run_) return;
  const LoopNode* node = &program_->top();
  std::uint64_t address = base_;
  std::uint64_t count = trips_;
  for (;;) {
    const std::uint64_t trip = offset / node->body_bytes;
    offset -= trip * node->body_bytes;
    address += times(trip, node->stride);
    const std::uint64_t part = node->find_part(offset);
    offset -= node->part_start(part);
    const std::uint32_t child = node->child(part);
    if (node->height <= kFrames || child == LoopNode::kRun) {
      frames_[depth_++] = {node, address, trip, count, node->stride, part};
    }
    if (child == LoopNode::kRun) break;
    address += static_cast<std::uint64_t>(node->offsets[part]);
    node = &program_->node(child);
    count = node->count;
  }
  skip_ = offset;
}

// Descends until the innermost frame stands on a run.
void Cursor::enter() {
  for (;;) {
    const Frame& f = frame();
    const std::uint32_t child = f.node->child(f.part);
    if (child == LoopNode::kRun) return;
    const LoopNode& node = program_->node(child);
    if (node.height > kFrames - depth_) return seek(position_);  // below a high loop
    const std::uint64_t address = f.address + static_cast<std::uint64_t>(f.node->offsets[f.part]);
    frames_[depth_++] = {&node, address, 0, node.count, node.stride, 0};
  }
}

// Goes from the run that is through to the next one.
void Cursor::next_part() {
  skip_ = 0;
  Frame& f = frame();
  if (++f.part == f.node->parts) {
    f.part = 0;
    ++f.trip;
    f.address += static_cast<std::uint64_t>(f.stride);
  }
  leave_if_through();
}

// Puts the cursor on a run again after the innermost frame moved on.
void Cursor::leave_if_through() {
  while (frame().trip == frame().count) {
    if (--depth_ == 0) {
      // What is left of the outer loops, if there are any that are not remembered.
      seek(position_);
      return;
    }
    Frame& f = frame();
    if (++f.part == f.node->parts) {
      f.part = 0;
      ++f.trip;
      f.address += static_cast<std::uint64_t>(f.stride);
    }
  }
  enter();
}

// Advances within the current run, or to its end.
void Cursor::step(std::uint64_t bytes) {
  const bool through = !one_run_ && bytes == run_left();
  position_ += bytes;
  skip_ += bytes;
  if (through) next_part();
}

Segment Cursor::next_run(std::size_t max_bytes) const {
  if (at_end()) return {};
  return {pointer(run_address()),
          static_cast<std::size_t>(std::min<std::uint64_t>(run_left(), max_bytes))};
}

void Cursor::advance(std::size_t bytes) {
  assert(bytes <= total_ - position_);
  if (bytes == 0) return;
  if (bytes <= run_left()) {
    step(bytes);
  } else {
    seek(position_ + bytes);
  }
}

std::size_t Cursor::segments(Segment* out, std::size_t capacity, std::size_t max_bytes,
                             std::size_t* bytes) {
  std::size_t used = 0;
  std::size_t listed = 0;
  while (listed < max_bytes && !at_end()) {
    const Segment run = next_run(max_bytes - listed);
    if (used > 0 && out[used - 1].end() == run.begin()) {
      out[used - 1].size += run.size;
    } else if (used < capacity) {
      out[used++] = run;
    } else {
      break;
    }
    listed += run.size;
    step(run.size);
  }
  *bytes = listed;
  return used;
}

// Copies as many whole runs of the innermost loop, all of them short, as fit `room`; the cursor is
// at the start of one.  Returns the bytes; 0: not one fitted.
template <typename Copy>
std::size_t Cursor::move_whole_runs(Copy copy, std::size_t done, std::size_t room) {
  Frame& f = frame();
  const LoopNode& node = *f.node;
  std::size_t moved = 0;
  if (f.part == 0 && node.parts <= kShortBody) {
    const std::uint64_t trips = std::min<std::uint64_t>(f.count - f.trip, room / node.body_bytes);
    for (std::uint64_t first = 0; first < trips; first += kTripsAtOnce) {
      // A body of one run needs no blocking.
      const std::uint64_t n = node.parts == 1 ? trips : std::min(kTripsAtOnce, trips - first);
      for (std::uint64_t p = 0; p < node.parts; ++p) {
        copy.many(done + moved + node.part_start(p), node.body_bytes,
                  f.address + static_cast<std::uint64_t>(node.offsets[p]), f.stride, n,
                  node.part_bytes(p));
      }
      moved += n * node.body_bytes;
      f.trip += n;
      f.address += times(n, f.stride);
      if (node.parts == 1) break;
    }
  } else {
    if (node.uniform != 0) {
      const std::uint64_t n = std::min<std::uint64_t>(node.parts - f.part, room / node.uniform);
      copy.listed(done, f.address, node.offsets + f.part, n, node.uniform);
      moved = n * node.uniform;
      f.part += n;
    }
    while (f.part < node.parts) {
      const std::uint64_t length = node.part_bytes(f.part);
      if (length > room - moved) break;
      copy.one(done + moved, f.address + static_cast<std::uint64_t>(node.offsets[f.part]), length);
      moved += length;
      ++f.part;
    }
    if (f.part == node.parts) {
      f.part = 0;
      ++f.trip;
      f.address += static_cast<std::uint64_t>(f.stride);
    }
  }
  position_ += moved;
  if (moved > 0) leave_if_through();
  return moved;
}

template <typename Copy>
std::size_t Cursor::move(Copy copy, std::size_t size, std::uint64_t long_run) {
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, total_ - position_));
  std::size_t done = 0;
  while (done < size) {
    if (!one_run_ && skip_ == 0 && frame().node->leaf() && frame().node->max_run < long_run) {
      const std::size_t moved = move_whole_runs(copy, done, size - done);
      done += moved;
      if (moved > 0) continue;
    }
    const std::uint64_t left = run_left();
    if (left >= long_run) break;
    const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(left, size - done));
    copy.one(done, run_address(), part);
    done += part;
    step(part);
  }
  return done;
}

std::size_t Cursor::pack(void* out, std::size_t size) {
  return move(CopyOut{static_cast<std::byte*>(out)}, size, UINT64_MAX);
}

std::size_t Cursor::unpack(const void* in, std::size_t size) {
  return move(CopyIn{static_cast<const std::byte*>(in)}, size, UINT64_MAX);
}

std::size_t Cursor::pack_short_runs(void* out, std::size_t size, std::size_t long_run) {
  return move(CopyOut{static_cast<std::byte*>(out)}, size, long_run);
}

}  // namespace mad
