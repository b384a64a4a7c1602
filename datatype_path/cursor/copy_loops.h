// How whole runs and whole trips of loops are copied between the packed stream and a layout: a leaf
// by the kernels that were chosen when the type was compiled, a loop over leaves trip by trip or in
// tiles.
//
// The cursor's own: in an unnamed namespace, so that the compiler may join it with its one user.
#ifndef DATATYPE_PATH_CURSOR_COPY_LOOPS_H_
#define DATATYPE_PATH_CURSOR_COPY_LOOPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "datatype_path/cursor/grid_loops.h"
#include "datatype_path/kernels/body_steps.h"
#include "datatype_path/kernels/copy_run.h"
#include "datatype_path/kernels/run_chunks.h"
#include "datatype_path/program/block_program.h"

namespace mad {
namespace {

std::byte* pointer(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

std::uint64_t times(std::uint64_t trips, std::int64_t stride) {
  return trips * static_cast<std::uint64_t>(stride);
}

template <Direction kDirection>
void copy_one(std::byte* stream, std::uint64_t address, std::size_t length) {
  if constexpr (kDirection == Direction::kPack) {
    copy_run(stream, pointer(address), length);
  } else {
    copy_run(pointer(address), stream, length);
  }
}

// Runs of different lengths: parts `from` to `until` as far as they fit `room`; returns how many.
template <Direction kDirection, typename Offset, typename End>
std::uint64_t copy_one_by_one(const Offset* offsets, const End* ends, std::uint64_t from,
                              std::uint64_t until, std::byte* stream, std::uint64_t address,
                              std::size_t room) {
  const std::uint64_t first = from == 0 ? 0 : ends[from - 1];
  std::uint64_t start = first;
  std::uint64_t part = from;
  for (; part < until; ++part) {
    const std::uint64_t end = ends[part];
    if (end - first > room) break;
    const auto offset = static_cast<std::int64_t>(offsets[part]);
    copy_one<kDirection>(stream + (start - first), address + static_cast<std::uint64_t>(offset),
                         end - start);
    start = end;
  }
  return part - from;
}

// The same to the end of a list that has chunks: one by one to the next chunk, whole chunks, one by
// one again.
template <Direction kDirection>
std::uint64_t copy_in_chunks(const LoopNode& node, std::byte* stream, std::uint64_t address,
                             std::uint64_t from, std::size_t room) {
  const std::int32_t* const offsets = node.narrow_offsets;
  const std::uint32_t* const ends = node.narrow_ends;
  const std::uint64_t start = from == 0 ? 0 : ends[from - 1];
  const auto copy = [&](std::uint64_t part, std::uint64_t until) {
    const std::uint64_t before = part == 0 ? 0 : ends[part - 1] - start;
    return part + copy_one_by_one<kDirection>(offsets, ends, part, until, stream + before, address,
                                              room - before);
  };
  std::uint64_t chunk = first_chunk_from(from);
  std::uint64_t part = copy(from, std::min(first_of_chunk(chunk), node.parts));
  const std::uint64_t chunks = whole_chunks(node.parts);
  const auto byte_0 = reinterpret_cast<std::uintptr_t>(stream) - start;
  const ChunkKernel kernel = node.chunk_kernels[static_cast<std::size_t>(kDirection)];
  for (; chunk < chunks && part == first_of_chunk(chunk); ++chunk) {
    const std::uint64_t next = first_of_chunk(chunk + 1);
    if (ends[next - 1] - start > room) break;
    kernel(node.chunks[chunk], byte_0, address, offsets + part, ends + part - 1);
    part = next;
  }
  return copy(part, node.parts) - from;
}

// The same of a list that is cut into pieces.
template <Direction kDirection>
std::uint64_t copy_pieces(const LoopNode& node, std::byte* stream, std::uint64_t address,
                          std::uint64_t from, std::size_t room) {
  const ListKernel kernel = node.list[static_cast<std::size_t>(kDirection)];
  if (from == 0 && node.body_bytes <= room) {
    kernel(stream, address, node.pieces, node.piece_count, node.piece_bytes);
    return node.parts;
  }
  const std::uint64_t start = node.part_start(from);
  const bool all = node.body_bytes - start <= room;
  const std::uint64_t until = all ? node.parts : node.find_part(start + room);
  const std::uint64_t bytes = node.part_start(until) - start;
  kernel(stream, address, node.pieces + start / node.piece_bytes, bytes / node.piece_bytes,
         node.piece_bytes);
  return until - from;
}

// Runs of a leaf from part `from` on that fit `room`, whole ones only; returns the parts copied.
template <Direction kDirection>
std::uint64_t copy_parts(const LoopNode& node, std::byte* stream, std::uint64_t address,
                         std::uint64_t from, std::size_t room) {
  if (node.uniform != 0) {
    std::uint64_t n = node.parts - from;
    if (n * node.uniform > room) n = room / node.uniform;
    const void* const offsets = node.narrow_offsets != nullptr
                                    ? static_cast<const void*>(node.narrow_offsets + from)
                                    : node.offsets + from;
    node.list[static_cast<std::size_t>(kDirection)](stream, address, offsets, n, node.uniform);
    return n;
  }
  if (node.pieces != nullptr) return copy_pieces<kDirection>(node, stream, address, from, room);
  if (node.chunks != nullptr) return copy_in_chunks<kDirection>(node, stream, address, from, room);
  const auto copy = [&](const auto* offsets, const auto* ends) {
    return copy_one_by_one<kDirection>(offsets, ends, from, node.parts, stream, address, room);
  };
  if (node.narrow_offsets != nullptr) {
    return node.narrow_ends != nullptr ? copy(node.narrow_offsets, node.narrow_ends)
                                       : copy(node.narrow_offsets, node.ends);
  }
  return node.narrow_ends != nullptr ? copy(node.offsets, node.narrow_ends)
                                     : copy(node.offsets, node.ends);
}

// Steps that cost a single trip less than its runs would, one by one.
constexpr std::uint32_t kFewSteps = 2;

template <Direction kDirection>
void copy_leaf(const LoopNode& node, std::byte* stream, std::uint64_t address, std::int64_t stride,
               std::uint64_t trips) {
  // Steps pay where they are made many times, or are very few.
  const bool steps =
      node.step_count > 0 &&
      (trips > 1 || (node.uniform == 0 && node.pieces == nullptr && node.step_count <= kFewSteps &&
                     node.max_run <= kLongestShortRun));
  if (trips == 1 && node.row != nullptr) {
    node.row->kernels[static_cast<std::size_t>(kDirection)](*node.row, stream, address,
                                                            node.row_stride, node.parts);
  } else if (steps) {
    copy_trips(node.steps, node.step_count, node.trips_at_once, kDirection, stream, address, stride,
               trips);
  } else {
    for (std::uint64_t i = 0; i < trips; ++i) {
      copy_parts<kDirection>(node, stream, address, 0, node.body_bytes);
      stream += node.body_bytes;
      address += static_cast<std::uint64_t>(stride);
    }
  }
}

// Trips of a loop whose next trip begins in the lines of the last: while those are in the
// first-level cache, all trips take their share of them.
template <Direction kDirection>
void copy_tiles(const LoopNode& node, const LoopNode& rows, std::byte* stream,
                std::uint64_t address, std::int64_t stride, std::uint64_t trips) {
  const std::uint64_t tile_rows = node.tile_rows[static_cast<std::size_t>(kDirection)];
  address += static_cast<std::uint64_t>(node.offset(0));
  for (std::uint64_t first = 0; first < trips; first += node.tile_trips) {
    const std::uint64_t columns = std::min<std::uint64_t>(node.tile_trips, trips - first);
    for (std::uint64_t row = 0; row < rows.count; row += tile_rows) {
      std::byte* to = stream + row * rows.body_bytes;
      std::uint64_t from = address + times(row, rows.stride);
      const std::uint64_t n = std::min(tile_rows, rows.count - row);
      for (std::uint64_t column = 0; column < columns; ++column) {
        copy_leaf<kDirection>(rows, to, from, rows.stride, n);
        to += node.body_bytes;
        from += static_cast<std::uint64_t>(stride);
      }
    }
    stream += columns * node.body_bytes;
    address += times(columns, stride);
  }
}

// The same where each row is one run.
template <Direction kDirection>
void copy_columns(const LoopNode& node, const LoopNode& rows, const KernelTable& kernels,
                  std::byte* stream, std::uint64_t address, std::int64_t stride,
                  std::uint64_t trips) {
  const auto column_bytes = static_cast<std::int64_t>(node.body_bytes);
  const auto run = static_cast<std::int64_t>(rows.body_bytes);
  const auto packed = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(stream));
  const std::uint64_t first = address + static_cast<std::uint64_t>(node.offset(0)) +
                              static_cast<std::uint64_t>(rows.offset(0));
  GridLoops grid;
  grid.run = rows.body_bytes;
  grid.count = 2;
  if constexpr (kDirection == Direction::kPack) {
    grid.from = first;
    grid.to = packed;
    grid.loops[0] = {rows.count, rows.stride, run};
    grid.loops[1] = {trips, stride, column_bytes};
  } else {
    grid.from = packed;
    grid.to = first;
    grid.loops[0] = {rows.count, run, rows.stride};
    grid.loops[1] = {trips, column_bytes, stride};
  }
  copy_loops(grid, kernels);
}

// Whole trips of a leaf, or of a loop over leaves and runs.
template <Direction kDirection>
void copy_nest(const LoopNode& node, const BlockProgram& program, std::byte* stream,
               std::uint64_t address, std::int64_t stride, std::uint64_t trips) {
  if (node.leaf()) return copy_leaf<kDirection>(node, stream, address, stride, trips);
  if (node.tile_trips != 0 && trips > 1) {
    const LoopNode& rows = program.node(node.children[0]);
    if (rows.parts == 1) {
      return copy_columns<kDirection>(node, rows, program.kernel_table(), stream, address, stride,
                                      trips);
    }
    return copy_tiles<kDirection>(node, rows, stream, address, stride, trips);
  }
  for (std::uint64_t i = 0; i < trips; ++i) {
    std::uint64_t start = 0;
    for (std::uint64_t part = 0; part < node.parts; ++part) {
      const std::uint64_t place = address + static_cast<std::uint64_t>(node.offset(part));
      const std::uint64_t end = node.part_end(part);
      if (node.children[part] == LoopNode::kRun) {
        copy_one<kDirection>(stream + start, place, end - start);
      } else {
        const LoopNode& inner = program.node(node.children[part]);
        copy_leaf<kDirection>(inner, stream + start, place, inner.stride, inner.count);
      }
      start = end;
    }
    stream += node.body_bytes;
    address += static_cast<std::uint64_t>(stride);
  }
}

}  // namespace
}  // namespace mad

#endif  // DATATYPE_PATH_CURSOR_COPY_LOOPS_H_
