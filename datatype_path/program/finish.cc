// What a program gets once its loops are known: lists in 32 bits, and its kernels.
#include <algorithm>
#include <limits>

#include "datatype_path/kernels/body_steps.h"
#include "datatype_path/program/block_program.h"

namespace mad {
namespace {

// Trips copied by one step before the next: their memory stays in the first-level cache.
constexpr std::uint64_t kCachedBytes = 16 * 1024;
constexpr std::uint64_t kFewestTripsAtOnce = 4;
constexpr std::uint64_t kMostTripsAtOnce = 64;

bool fits_narrow(std::int64_t offset) {
  return offset >= std::numeric_limits<std::int32_t>::min() &&
         offset <= std::numeric_limits<std::int32_t>::max();
}

bool narrow_offsets_fit(const LoopNode& node) {
  return node.parts > LoopNode::kShortBody &&
         std::all_of(node.offsets, node.offsets + node.parts, fits_narrow);
}

bool narrow_ends_fit(const LoopNode& node) {
  return node.parts > LoopNode::kShortBody && node.ends != nullptr &&
         node.body_bytes <= std::numeric_limits<std::uint32_t>::max();
}

std::uint64_t magnitude(std::int64_t stride) {
  const auto bits = static_cast<std::uint64_t>(stride);
  return stride < 0 ? 0 - bits : bits;
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

// Appends `from[0..n)` to `list`, which does not grow, and returns where.
template <typename To, typename From>
const To* append(const From* from, std::uint64_t n, std::vector<To>* list) {
  const std::size_t at = list->size();
  for (std::uint64_t i = 0; i < n; ++i) list->push_back(static_cast<To>(from[i]));
  return list->data() + at;
}

}  // namespace

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

void BlockProgram::choose_kernels(const KernelTable& kernels) {
  std::vector<std::size_t> first_step(nodes_.size()), row(nodes_.size());
  std::vector<BodyRun> runs;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    LoopNode& node = nodes_[i];
    first_step[i] = steps_.size();
    if (!node.leaf()) continue;
    if (node.parts <= LoopNode::kShortBody) {
      runs.clear();
      for (std::uint64_t p = 0; p < node.parts; ++p) {
        runs.push_back({node.offset(p), node.part_bytes(p)});
      }
      append_steps(kernels, runs, &steps_);
      node.step_count = static_cast<std::uint32_t>(steps_.size() - first_step[i]);
      node.trips_at_once = trips_at_once(node);
      node.row_stride = stride_of_row(node);
      row[i] = steps_.size();
      if (node.row_stride != 0) append_steps(kernels, {runs.front()}, &steps_);
    }
    if (node.uniform != 0) {
      const RunMoves moves =
          node.uniform <= kLongestShortRun ? moves_of_run(node.uniform) : RunMoves{};
      const auto& lists =
          node.narrow_offsets != nullptr ? kernels.narrow_lists : kernels.wide_lists;
      for (std::size_t way = 0; way < 2; ++way) {
        node.list[way] = lists[way][moves.first * KernelTable::kSizes + moves.second];
      }
    }
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].step_count > 0) nodes_[i].steps = steps_.data() + first_step[i];
    if (nodes_[i].row_stride != 0) nodes_[i].row = steps_.data() + row[i];
  }
}

}  // namespace mad
