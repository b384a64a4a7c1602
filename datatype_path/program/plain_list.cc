#include "datatype_path/program/plain_list.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "datatype_path/program/joins.h"

namespace mad {
namespace {

/// Runs of one length.
struct EvenRuns {
  const std::int64_t* offsets;
  std::size_t count;
  std::uint64_t bytes;

  std::size_t size() const { return count; }
  std::int64_t offset(std::size_t i) const { return offsets[i]; }
  std::uint64_t length(std::size_t) const { return bytes; }
  bool alike(std::size_t, std::size_t) const { return true; }
};

struct UnevenRuns {
  const std::int64_t* offsets;
  std::size_t count;
  const std::uint64_t* ends;  // packed

  std::size_t size() const { return count; }
  std::int64_t offset(std::size_t i) const { return offsets[i]; }
  std::uint64_t length(std::size_t i) const { return i == 0 ? ends[0] : ends[i] - ends[i - 1]; }
  bool alike(std::size_t i, std::size_t j) const { return length(i) == length(j); }
};

// Without a way out of the loop, so that it takes several at a time.
template <typename Runs>
bool some_touch(const Runs& runs) {
  std::size_t touching = 0;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const auto length = static_cast<std::int64_t>(runs.length(i - 1));
    touching += runs.offset(i) - runs.offset(i - 1) == length ? 1 : 0;
  }
  return touching > 0;
}

template <typename Runs>
bool stay_as_they_are(const Runs& runs) {
  return !some_touch(runs) && period(runs) == 0 && worthwhile_stretches(runs) == 0;
}

std::size_t log2_of(std::uint64_t length) {
  return 63 - static_cast<std::size_t>(__builtin_clzll(length));
}

const TypeDesc& without_bounds(const TypeDesc& type) {
  const TypeDesc* list = &type;
  while (list->kind() == TypeDesc::Kind::kResized) list = &list->child();
  return *list;
}

// Whether each block is one run.
bool has_runs(const TypeDesc& list) {
  const TypeDesc& child = list.child();
  if (!child.is_run()) return false;
  if (child.extent() == static_cast<std::int64_t>(child.size())) return true;
  for (std::size_t i = 0; i < list.count(); ++i) {
    if (list.blocklength(i) != 1) return false;
    if (list.kind() == TypeDesc::Kind::kIndexedBlock) break;
  }
  return true;
}

// A block of no bytes lies outside all bounds: its place may be any number.
bool has_empty_blocks(const TypeDesc& list) {
  if (list.kind() == TypeDesc::Kind::kIndexedBlock) return false;
  for (std::size_t i = 0; i < list.count(); ++i) {
    if (list.blocklength(i) == 0) return true;
  }
  return false;
}

bool is_list(const TypeDesc& type) {
  return type.kind() == TypeDesc::Kind::kIndexed || type.kind() == TypeDesc::Kind::kIndexedBlock;
}

}  // namespace

std::optional<BlockProgram::Tables> plain_list(const TypeDesc& type) {
  const TypeDesc& list = without_bounds(type);
  const std::size_t count = list.count();
  if (!is_list(list) || count < 2 || list.size() == 0) return std::nullopt;
  if (!has_runs(list) || has_empty_blocks(list)) return std::nullopt;

  BlockProgram::Tables tables;
  // A long list is a loop of its own, which the element's refers to.
  const bool is_long = count > kMaxPeriod;
  tables.offsets.resize(count + (is_long ? 1 : 0));
  std::int64_t* const offsets = tables.offsets.data() + (is_long ? 1 : 0);
  list.copy_displacements(list.child().true_lb(), offsets);

  LoopNode node;
  node.stride = type.extent();
  node.body_bytes = list.size();
  Shape& shape = tables.shape;
  if (list.kind() == TypeDesc::Kind::kIndexedBlock) {
    const std::uint64_t length = list.size() / count;
    if (!stay_as_they_are(EvenRuns{offsets, count, length})) return std::nullopt;
    shape.histogram[log2_of(length)] = count;
    node.uniform = node.min_run = node.max_run = length;
  } else {
    tables.ends.resize(count);
    std::uint64_t end = 0, least = UINT64_MAX, most = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t length = list.blocklength(i) * list.child().size();
      least = std::min(least, length);
      most = std::max(most, length);
      ++shape.histogram[log2_of(length)];
      tables.ends[i] = end += length;
    }
    if (!stay_as_they_are(UnevenRuns{offsets, count, tables.ends.data()})) return std::nullopt;
    node.min_run = least;
    node.max_run = most;
    node.uniform = least == most ? least : 0;
    if (node.uniform == 0) {
      node.ends = tables.ends.data();
    } else {
      tables.ends = std::vector<std::uint64_t>();
    }
  }
  node.parts = count;
  node.offsets = offsets;
  shape.bytes = list.size();
  shape.runs = count;
  shape.min_run = node.min_run;
  shape.max_run = node.max_run;
  shape.extent = type.extent();
  shape.contiguous = false;

  if (is_long) {
    LoopNode element;
    element.stride = type.extent();
    element.body_bytes = element.uniform = element.min_run = element.max_run = list.size();
    element.parts = 1;
    element.height = 2;
    const std::int64_t origin = tables.offsets[0] = offsets[0];
    for (std::size_t i = 0; i < count; ++i) offsets[i] -= origin;
    element.offsets = tables.offsets.data();
    tables.children.push_back(1);
    element.children = tables.children.data();
    node.stride = 0;
    tables.nodes = {element, node};
  } else {
    tables.nodes = {node};
  }
  tables.lb = type.lb();
  tables.true_lb = type.true_lb();
  tables.true_extent = type.true_extent();
  return tables;
}

}  // namespace mad
