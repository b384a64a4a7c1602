#include "datatype_path/cursor/copy.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "datatype_path/cursor/grid_loops.h"
#include "datatype_path/program/block_program.h"

namespace mad {
namespace {

// A run of so many bytes is worth a call of its own.
constexpr std::uint64_t kLongRun = 512;
// Loops in common are worth their setting up from so many bytes on.
constexpr std::uint64_t kFewBytes = 256;
// Short runs that have no loops in common meet here, in the first-level cache.
constexpr std::size_t kBlockBytes = 4096;

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}

bool same_runs(const LoopNode& a, const LoopNode& b) {
  if (&a == &b) return true;
  if (a.parts != b.parts || a.body_bytes != b.body_bytes) return false;
  for (std::uint64_t p = 0; p < a.parts; ++p) {
    if (a.offset(p) != b.offset(p) || a.part_end(p) != b.part_end(p)) return false;
  }
  return true;
}

// Whole trips of two loops over the same short body; returns the bytes.
std::size_t copy_bodies(const RunLoops& from, const RunLoops& to, std::size_t size) {
  const LoopNode& body = *from.body;
  std::uint64_t left = std::min({from.loops[0].trips, to.loops[0].trips, size / body.body_bytes});
  const std::size_t bytes = left * body.body_bytes;
  std::uint64_t read = from.body_address;
  std::uint64_t written = to.body_address;
  while (left > 0) {
    const std::uint64_t trips = std::min<std::uint64_t>(left, body.trips_at_once);
    for (std::uint32_t i = 0; i < body.step_count; ++i) {
      // What is written takes the stream's place.
      TripsStep step = body.steps[i];
      step.stream = step.layout;
      step.body_bytes = static_cast<std::uint64_t>(to.loops[0].stride);
      step.kernels[static_cast<std::size_t>(Direction::kPack)](
          step, static_cast<std::byte*>(pointer(written)), read, from.loops[0].stride, trips);
    }
    read += trips * static_cast<std::uint64_t>(from.loops[0].stride);
    written += trips * static_cast<std::uint64_t>(to.loops[0].stride);
    left -= trips;
  }
  return bytes;
}

std::size_t copy_by_block(Cursor& from, Cursor& to, std::size_t size) {
  alignas(64) std::array<std::byte, kBlockBytes> block;
  const std::size_t bytes = from.pack(block.data(), std::min(block.size(), size));
  return to.unpack(block.data(), bytes);
}

// One side is a long run for a while.
std::size_t pack_into(Cursor& from, Cursor& to, const RunLoops& run, std::size_t size) {
  const std::size_t bytes = from.pack(pointer(run.address), std::min<std::size_t>(run.run, size));
  to.advance(bytes);
  return bytes;
}

std::size_t unpack_from(Cursor& from, Cursor& to, const RunLoops& run, std::size_t size) {
  const std::size_t bytes = to.unpack(pointer(run.address), std::min<std::size_t>(run.run, size));
  from.advance(bytes);
  return bytes;
}

// Some bytes at least, as many as go by one method.
std::size_t copy_next(Cursor& from, Cursor& to, std::size_t size) {
  const RunLoops read = from.next_loops();
  const RunLoops written = to.next_loops();
  const bool long_run = std::max(read.run, written.run) >= kLongRun;
  if (long_run && read.count == 0 && read.run >= written.run) {
    return unpack_from(from, to, read, size);
  }
  if (long_run && written.count == 0 && written.run >= read.run) {
    return pack_into(from, to, written, size);
  }
  if (read.body != nullptr && written.body != nullptr && same_runs(*read.body, *written.body)) {
    const std::size_t bytes = copy_bodies(read, written, size);
    from.advance(bytes);
    to.advance(bytes);
    if (bytes > 0) return bytes;
  } else if (read.body == nullptr && written.body == nullptr) {
    const GridLoops grid = common_loops(read, written, size);
    if (grid.bytes >= kFewBytes) {
      copy_loops(grid, from.kernels());
      from.advance(grid.bytes);
      to.advance(grid.bytes);
      return grid.bytes;
    }
  }
  if (!long_run) return copy_by_block(from, to, size);
  return read.run >= written.run ? unpack_from(from, to, read, size)
                                 : pack_into(from, to, written, size);
}

}  // namespace

std::size_t copy(Cursor& from, Cursor& to, std::size_t size) {
  const auto bytes = static_cast<std::size_t>(
      std::min<std::uint64_t>({size, from.total() - from.position(), to.total() - to.position()}));
  std::size_t done = 0;
  while (done < bytes) done += copy_next(from, to, bytes - done);
  return done;
}

}  // namespace mad
