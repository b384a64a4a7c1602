// What a program gets once its loops are known: where to enter it, lists in 32 bits, and how each
// loop is copied - kernels, pieces or chunks of uneven lists, tiles.
#include <algorithm>
#include <limits>
#include <numeric>

#include "datatype_path/kernels/body_steps.h"
#include "datatype_path/kernels/cache_lines.h"
#include "datatype_path/kernels/run_chunks.h"
#include "datatype_path/kernels/stream_out.h"
#include "datatype_path/program/block_program.h"

namespace mad {
namespace {

// Trips copied by one step before the next: their memory stays in the first-level cache.
constexpr std::uint64_t kCachedBytes = 16 * 1024;
constexpr std::uint64_t kFewestTripsAtOnce = 4;
constexpr std::uint64_t kMostTripsAtOnce = 64;

constexpr std::uint64_t kMostTileRows = 64;
// Lines that are only read may be in the second-level cache; then more is written at each place.
constexpr std::uint64_t kPackedMore = 4;

// A list of uneven runs is copied as equal pieces if these are not shorter than this, and not more
// than so many for each run.
constexpr std::uint64_t kShortestPiece = 4;
constexpr std::uint64_t kMostPieces = 2;

// No function, so that loops over lists contain it.
constexpr auto fits_narrow = [](std::int64_t offset) {
  return offset >= std::numeric_limits<std::int32_t>::min() &&
         offset <= std::numeric_limits<std::int32_t>::max();
};

bool narrow_offsets_fit(const LoopNode& node) {
  if (node.parts <= LoopNode::kShortBody) return false;
  std::uint64_t beyond = 0;  // no way out of the loop, so that it takes several at a time
  for (std::uint64_t p = 0; p < node.parts; ++p) {
    beyond |= static_cast<std::uint64_t>(node.offsets[p]) + (std::uint64_t{1} << 31U);
  }
  return beyond >> 32U == 0;
}

bool narrow_ends_fit(const LoopNode& node) {
  return node.parts > LoopNode::kShortBody && node.ends != nullptr &&
         node.body_bytes <= std::numeric_limits<std::uint32_t>::max();
}

bool is_short_body(const LoopNode& node) {
  return node.leaf() && node.parts <= LoopNode::kShortBody;
}

std::uint32_t trips_at_once(const LoopNode& node) {
  const std::uint64_t span = std::max<std::uint64_t>({magnitude(node.stride), node.body_bytes, 1});
  return static_cast<std::uint32_t>(
      std::clamp(kCachedBytes / span, kFewestTripsAtOnce, kMostTripsAtOnce));
}

// Bytes from run to run, if a body's runs are alike and equally far apart; else 0.
std::int64_t stride_of_row(const LoopNode& node) {
  if (node.parts < 2 || node.uniform == 0) return 0;
  const std::int64_t stride = node.offset(1) - node.offset(0);
  for (std::uint64_t p = 2; p < node.parts; ++p) {
    if (node.offset(p) - node.offset(p - 1) != stride) return 0;
  }
  return stride;
}

// Runs, mostly short, whose lengths differ: each would cost a mispredicted branch.
bool is_uneven(const LoopNode& node) {
  return node.leaf() && node.uniform == 0 && node.body_bytes / node.parts <= kLongestShortRun;
}

// Bytes of the pieces that an uneven list's runs are cut into; 0: not worth it.
std::uint32_t piece_of(const LoopNode& node) {
  const std::uint64_t least =
      std::max(kShortestPiece, (node.body_bytes - 1) / (kMostPieces * node.parts) + 1);
  constexpr std::uint64_t kLast = std::numeric_limits<std::int32_t>::max();
  if (node.min_run < least) return 0;
  std::uint64_t piece = 0;
  std::uint64_t start = 0;
  for (std::uint64_t p = 0; p < node.parts; ++p) {
    const std::uint64_t end = node.part_end(p);
    const std::uint64_t length = end - start;
    start = end;
    if (piece == 0 || length % piece != 0) piece = std::gcd(piece, length);
    if (piece < least || !fits_narrow(node.offset(p)) || length > kLast) return 0;
    if (node.offset(p) > static_cast<std::int64_t>(kLast - length)) return 0;
  }
  return static_cast<std::uint32_t>(piece);
}

// Whether there are chunks of it.
bool has_chunks(const LoopNode& node) {
  return node.narrow_offsets != nullptr && node.narrow_ends != nullptr &&
         whole_chunks(node.parts) > 0;
}

// The kernels for a list of runs of `length` bytes.
std::array<ListKernel, 2> list_kernels(const KernelTable& kernels, std::uint64_t length,
                                       bool narrow) {
  const RunMoves moves = length <= kLongestShortRun ? moves_of_run(length) : RunMoves{};
  const auto& lists = narrow ? kernels.narrow_lists : kernels.wide_lists;
  const std::size_t index = moves.first * KernelTable::kSizes + moves.second;
  return {lists[0][index], lists[1][index]};
}

// What takes time in a list of short runs is to find them, and tiles are cut where a buffer ends.
bool hinders_streaming(const LoopNode& node) {
  const bool short_runs = node.parts > LoopNode::kShortBody && node.max_run <= kLongestShortRun;
  return (node.leaf() && short_runs) || node.tile_trips != 0;
}

// Appends `from[0..n)` to `list`, which does not grow, and returns where.
template <typename To, typename From>
const To* append(const From* from, std::uint64_t n, std::vector<To>* list) {
  return &*list->insert(list->end(), from, from + n);
}

// Appends the places of a list's pieces to `list`, which does not grow, and returns where.
const std::int32_t* append_pieces(const LoopNode& node, std::vector<std::int32_t>* list) {
  const std::size_t at = list->size();
  for (std::uint64_t p = 0; p < node.parts; ++p) {
    for (std::uint64_t byte = 0; byte < node.part_bytes(p); byte += node.piece_bytes) {
      list->push_back(static_cast<std::int32_t>(node.offset(p) + static_cast<std::int64_t>(byte)));
    }
  }
  return list->data() + at;
}

}  // namespace

void BlockProgram::finish(const KernelTable& kernels) {
  kernels_ = &kernels;
  find_entry();
  narrow_lists();
  choose_kernels();
  cut_uneven_lists();
  choose_tiles();
  choose_streaming();
}

void BlockProgram::find_entry() {
  while (!nodes_.empty()) {
    const LoopNode& node = entry();
    if (node.leaf() || node.parts > 1 || (entry_ != 0 && node.count > 1)) return;
    entry_offset_ += node.offset(0);
    entry_ = node.child(0);
  }
}

void BlockProgram::narrow_lists() {
  std::size_t offsets = 0, ends = 0;
  for (const LoopNode& node : nodes_) {
    if (narrow_offsets_fit(node)) offsets += node.parts;
    if (narrow_ends_fit(node)) ends += node.parts;
  }
  if (offsets == 0 && ends == 0) return;
  const std::vector<std::int64_t> all_offsets = std::move(offsets_);
  const std::vector<std::uint64_t> all_ends = std::move(ends_);
  offsets_ = {};
  ends_ = {};
  offsets_.reserve(all_offsets.size() - offsets);
  ends_.reserve(all_ends.size() - ends);
  narrow_offsets_.reserve(offsets);
  narrow_ends_.reserve(ends);
  for (LoopNode& node : nodes_) {
    const std::int64_t* const old_offsets = node.offsets;
    const std::uint64_t* const old_ends = node.ends;
    const bool narrow_ends = narrow_ends_fit(node);
    if (narrow_offsets_fit(node)) {
      node.offsets = nullptr;
      node.narrow_offsets = append(old_offsets, node.parts, &narrow_offsets_);
    } else {
      node.offsets = append(old_offsets, node.parts, &offsets_);
    }
    if (narrow_ends) {
      node.ends = nullptr;
      node.narrow_ends = append(old_ends, node.parts, &narrow_ends_);
    } else if (old_ends != nullptr) {
      node.ends = append(old_ends, node.parts, &ends_);
    }
  }
}

void BlockProgram::choose_kernels() {
  std::size_t fewest = 0;  // steps
  for (LoopNode& node : nodes_) {
    if (!is_short_body(node)) continue;
    node.row_stride = stride_of_row(node);
    fewest += (node.parts - 1) / TripsStep::kMoves + (node.row_stride != 0 ? 2 : 1);
  }
  steps_.reserve(fewest);
  std::vector<BodyRun> runs;
  runs.reserve(LoopNode::kShortBody);
  for (LoopNode& node : nodes_) {
    if (is_short_body(node)) {
      const std::size_t first = steps_.size();
      runs.clear();
      for (std::uint64_t p = 0; p < node.parts; ++p) {
        runs.push_back({node.offset(p), node.part_bytes(p)});
      }
      append_steps(*kernels_, runs, &steps_);
      node.step_count = static_cast<std::uint32_t>(steps_.size() - first);
      node.trips_at_once = trips_at_once(node);
      if (node.row_stride != 0) append_steps(*kernels_, {runs.front()}, &steps_);
    }
    if (node.leaf() && node.uniform != 0) {
      node.list = list_kernels(*kernels_, node.uniform, node.narrow_offsets != nullptr);
    }
  }
  steps_.shrink_to_fit();
  const TripsStep* next = steps_.data();
  for (LoopNode& node : nodes_) {
    if (!is_short_body(node)) continue;
    node.steps = next;
    next += node.step_count;
    if (node.row_stride != 0) node.row = next++;
  }
}

void BlockProgram::cut_uneven_lists() {
  std::uint64_t pieces = 0, chunks = 0;
  for (LoopNode& node : nodes_) {
    if (!is_uneven(node)) continue;
    node.piece_bytes = piece_of(node);
    if (node.piece_bytes > 0) {
      node.piece_count = node.body_bytes / node.piece_bytes;
      pieces += node.piece_count;
    } else if (has_chunks(node)) {
      chunks += whole_chunks(node.parts);
    }
  }
  pieces_.reserve(pieces);
  chunks_.reserve(chunks);
  for (LoopNode& node : nodes_) {
    if (!is_uneven(node)) continue;
    if (node.piece_bytes > 0) {
      node.list = list_kernels(*kernels_, node.piece_bytes, true);
      node.pieces = append_pieces(node, &pieces_);
    } else if (has_chunks(node)) {
      node.chunk_kernels = kernels_->chunk;
      node.chunks = chunks_.data() + chunks_.size();
      append_chunks(node.narrow_ends, node.parts, &chunks_);
    }
  }
}

void BlockProgram::choose_tiles() {
  for (LoopNode& node : nodes_) {
    const std::uint64_t step = magnitude(node.stride);
    if (node.height != 2 || node.parts != 1 || step == 0 || step > kLineBytes / 2) continue;
    const LoopNode& rows = nodes_[node.child(0)];
    if (rows.step_count == 0 || magnitude(rows.stride) < kLineBytes) continue;
    node.tile_trips = static_cast<std::uint32_t>(kLineBytes / step);
    if (rows.parts == 1) continue;
    const std::uint64_t in_cache = std::min(lines_in_cache(magnitude(rows.stride)), kMostTileRows);
    node.tile_rows = {static_cast<std::uint32_t>(std::min(kPackedMore * in_cache, kMostTileRows)),
                      static_cast<std::uint32_t>(in_cache)};
  }
}

void BlockProgram::choose_streaming() {
  streams_out_ = kStreamsOut && std::none_of(nodes_.begin(), nodes_.end(), hinders_streaming);
}

}  // namespace mad
