#include "datatype_path/cursor/cursor.h"

#include <algorithm>
#include <cassert>

#include "datatype_path/cursor/copy_loops.h"
#include "datatype_path/kernels/stream_out.h"

namespace mad {

// Enters the loop that is the current part; false: it is a run.
bool Cursor::enter_loop() {
  const Frame& f = frame();
  const std::uint32_t child = f.node->child(f.part);
  if (child == LoopNode::kRun) return false;
  const LoopNode& node = program_->node(child);
  if (node.height > kFrames - depth_) {
    seek(position_);  // this loop is a high one
    return true;
  }
  push(node, f.address + static_cast<std::uint64_t>(f.node->offset(f.part)), node.count);
  return true;
}

void Cursor::seek(std::uint64_t offset) {
  assert(offset <= total_);
  position_ = offset;
  depth_ = 0;
  skip_ = 0;
  if (at_end() || one_run_) return;
  const LoopNode* node = &program_->top();
  std::uint64_t address = base_;
  std::uint64_t trips = trips_;
  for (;;) {
    const std::uint64_t trip = offset < node->body_bytes ? 0 : offset / node->body_bytes;
    offset -= trip * node->body_bytes;
    address += times(trip, node->stride);
    const std::uint64_t part = offset == 0 ? 0 : node->find_part(offset);
    offset -= node->part_start(part);
    const std::uint32_t child = node->child(part);
    // Above the loops that are remembered, one that only holds another is not worth a frame.
    const bool holds_one = depth_ == 0 && trips == 1 && node->parts == 1;
    if (child == LoopNode::kRun || (node->height <= kFrames && !holds_one)) {
      frames_[depth_++] = {node, address, trips - trip, node->stride, part};
      if (offset == 0 || child == LoopNode::kRun) break;
    }
    address += static_cast<std::uint64_t>(node->offset(part));
    node = &program_->node(child);
    trips = node->count;
  }
  skip_ = offset;
}

void Cursor::stand_on_run() {
  while (enter_loop()) {
  }
}

// The cursor must stand on a run, as below.
std::uint64_t Cursor::run_address() {
  if (one_run_) return base_ + position_;
  const Frame& f = frame();
  return f.address + static_cast<std::uint64_t>(f.node->offset(f.part)) + skip_;
}

std::uint64_t Cursor::run_left() {
  if (one_run_) return total_ - position_;
  const Frame& f = frame();
  return f.node->part_bytes(f.part) - skip_;
}

void Cursor::next_part() {
  skip_ = 0;
  if (++frame().part == frame().node->parts) next_trips(1);
}

void Cursor::next_trips(std::uint64_t trips) {
  Frame& f = frame();
  f.part = 0;
  f.trips -= trips;
  f.address += times(trips, f.stride);
  if (f.trips == 0) leave_if_through();
}

// Leaves the loops whose last trip is over.
void Cursor::leave_if_through() {
  while (frame().trips == 0) {
    if (--depth_ == 0) {
      // What is left of the outer loops, if there are any that are not remembered.
      seek(position_);
      return;
    }
    Frame& f = frame();
    if (++f.part == f.node->parts) {
      f.part = 0;
      --f.trips;
      f.address += static_cast<std::uint64_t>(f.stride);
    }
  }
}

// Advances within the current run, or to its end.
void Cursor::step(std::uint64_t bytes) {
  const bool through = !one_run_ && bytes == run_left();
  position_ += bytes;
  skip_ += bytes;
  if (through) next_part();
}

Segment Cursor::next_run(std::size_t max_bytes) {
  if (at_end()) return {};
  if (!one_run_) stand_on_run();
  return {pointer(run_address()),
          static_cast<std::size_t>(std::min<std::uint64_t>(run_left(), max_bytes))};
}

// The loops from the current one inwards, if they hold nothing but one another.
bool Cursor::list_loops(RunLoops* out) const {
  std::array<RunLoops::Loop, kFrames + 1> loops;  // the outermost first
  std::size_t count = 0;
  const LoopNode* node = frame().node;
  RunLoops::Loop loop{frame().trips, frame().stride};
  std::uint64_t address = frame().address;
  std::uint64_t part = frame().part;
  for (; !node->leaf(); part = 0) {
    if (node->parts > 1) return false;
    if (loop.trips > 1) loops[count++] = loop;
    address += static_cast<std::uint64_t>(node->offset(0));
    node = &program_->node(node->child(0));
    loop = {node->count, node->stride};
  }
  out->address = address + static_cast<std::uint64_t>(node->offset(part));
  out->run = node->part_bytes(part);
  if (node->parts > 1 && node->row_stride == 0) {
    if (part > 0 || node->step_count == 0) return true;
    out->body = node;
    out->body_address = address;
    out->loops[0] = loop;
    return true;
  }
  if (part == 0 && loop.trips > 1) loops[count++] = loop;
  if (node->parts - part > 1) loops[count++] = {node->parts - part, node->row_stride};
  out->count = std::min(count, RunLoops::kMost);
  std::reverse_copy(loops.begin() + (count - out->count), loops.begin() + count,
                    out->loops.begin());
  return true;
}

RunLoops Cursor::next_loops() {
  RunLoops out;
  if (!one_run_ && skip_ == 0) {
    do {
      if (list_loops(&out)) return out;
    } while (enter_loop() && skip_ == 0);
  }
  out.address = run_address();
  out.run = run_left();
  return out;
}

void Cursor::advance(std::size_t bytes) {
  assert(bytes <= total_ - position_);
  if (bytes == 0) return;
  if (!one_run_ && skip_ == 0 && frame().part == 0) {
    const std::uint64_t body = frame().node->body_bytes;
    const std::uint64_t trips = bytes < body ? 0 : bytes / body;
    if (trips > 0 && trips <= frame().trips && trips * body == bytes) {
      position_ += bytes;
      return next_trips(trips);
    }
  }
  if (!one_run_) stand_on_run();
  if (bytes <= run_left()) {
    step(bytes);
  } else {
    seek(position_ + bytes);
  }
}

// Lists whole trips of a loop over one run that does not touch the next; returns how many, 0 where
// the cursor is not at the start of such a run.
std::size_t Cursor::list_trips(Segment* out, std::size_t capacity, std::size_t room) {
  if (one_run_) return 0;
  stand_on_run();
  const Frame& f = frame();
  if (skip_ != 0 || f.node->parts != 1) return 0;
  const std::uint64_t bytes = f.node->part_bytes(0);
  if (f.stride == static_cast<std::int64_t>(bytes)) return 0;
  const std::uint64_t trips = std::min<std::uint64_t>({f.trips, capacity, room / bytes});
  if (trips == 0) return 0;
  std::uint64_t address = f.address + static_cast<std::uint64_t>(f.node->offset(0));
  for (std::uint64_t i = 0; i < trips; ++i) {
    out[i] = {pointer(address), static_cast<std::size_t>(bytes)};
    address += static_cast<std::uint64_t>(f.stride);
  }
  position_ += trips * bytes;
  next_trips(trips);
  return trips;
}

std::size_t Cursor::segments(Segment* out, std::size_t capacity, std::size_t max_bytes,
                             std::size_t* bytes) {
  std::size_t used = 0;
  std::size_t listed = 0;
  while (listed < max_bytes && !at_end()) {
    const std::uint64_t before = position_;
    // The first one may touch what is listed.
    if (used == 0 || out[used - 1].end() != next_run(1).begin()) {
      used += list_trips(out + used, capacity - used, max_bytes - listed);
    }
    if (position_ != before) {
      listed += static_cast<std::size_t>(position_ - before);
      continue;
    }
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

// Copies whole trips of the innermost loop, which the cursor is at the start of; returns the bytes,
// 0 if not one fits `room` or the loop is more than two high.
template <Direction kDirection>
std::size_t Cursor::move_trips(std::byte* stream, std::size_t room) {
  const Frame& f = frame();
  const LoopNode& node = *f.node;
  if (node.height > 2 || room < node.body_bytes) return 0;
  std::uint64_t trips = f.trips;
  if (trips * node.body_bytes > room) trips = room / node.body_bytes;
  copy_nest<kDirection>(node, *program_, stream, f.address, f.stride, trips);
  const std::size_t bytes = trips * node.body_bytes;
  position_ += bytes;
  next_trips(trips);
  return bytes;
}

// Copies whole runs of a leaf, from the current part to the end of the trip at most.
template <Direction kDirection>
std::size_t Cursor::move_runs(std::byte* stream, std::size_t room) {
  Frame& f = frame();
  const std::uint64_t before = f.node->part_start(f.part);
  f.part += copy_parts<kDirection>(*f.node, stream, f.address, f.part, room);
  const std::size_t bytes = f.node->part_start(f.part) - before;
  position_ += bytes;
  if (f.part == f.node->parts) next_trips(1);
  return bytes;
}

// By a buffer that stays in the first-level cache.
std::size_t Cursor::stream_out(std::byte* stream, std::size_t size) {
  alignas(64) std::array<std::byte, 16 * 1024> buffer;
  std::size_t done = 0;
  while (done < size && !at_end()) {
    const std::size_t room = std::min(buffer.size(), size - done);
    const std::size_t bytes = move<Direction::kPack>(buffer.data(), room, kNoRunIsLong);
    mad::stream_out(stream + done, buffer.data(), bytes);
    done += bytes;
  }
  stream_out_done();
  return done;
}

// All that is left, which is one leaf's.
template <Direction kDirection>
std::size_t Cursor::move_leaf(std::byte* stream) {
  const Frame& f = frames_[0];
  const std::uint64_t bytes = total_ - position_;
  position_ = total_;
  depth_ = 0;
  copy_leaf<kDirection>(*f.node, stream, f.address, f.stride, f.trips);
  return bytes;
}

template <Direction kDirection>
std::size_t Cursor::move_parts(std::byte* stream, std::size_t size, std::uint64_t long_run) {
  size = static_cast<std::size_t>(std::min<std::uint64_t>(size, total_ - position_));
  // Nests are copied at once if no run of theirs may have to be left out.
  const bool all_short = program_->shape().max_run < long_run;
  std::size_t done = 0;
  while (done < size) {
    if (!one_run_ && skip_ == 0) {
      const Frame& f = frame();
      std::size_t moved = 0;
      const bool short_runs = all_short || (f.node->leaf() && f.node->max_run < long_run);
      if (short_runs && f.part == 0) moved = move_trips<kDirection>(stream + done, size - done);
      if (moved == 0 && short_runs && f.node->leaf()) {
        moved = move_runs<kDirection>(stream + done, size - done);
      }
      done += moved;
      if (moved > 0 || enter_loop()) continue;
    }
    const std::uint64_t left = run_left();
    if (left >= long_run) break;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(left, size - done));
    copy_one<kDirection>(stream + done, run_address(), part);
    done += part;
    step(part);
  }
  return done;
}

template std::size_t Cursor::move_leaf<Direction::kPack>(std::byte*);
template std::size_t Cursor::move_leaf<Direction::kUnpack>(std::byte*);
template std::size_t Cursor::move_parts<Direction::kPack>(std::byte*, std::size_t, std::uint64_t);
template std::size_t Cursor::move_parts<Direction::kUnpack>(std::byte*, std::size_t, std::uint64_t);

}  // namespace mad
