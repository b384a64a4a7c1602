#include "datatype_path/serial/complete_tables.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace mad {
namespace {

// Wide enough for any product of two 64-bit numbers.
using Wide = __int128;

bool fits(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() &&
         value <= std::numeric_limits<std::int64_t>::max();
}

class Completion {
 public:
  explicit Completion(BlockProgram::Tables& tables) : tables_(tables), nodes_(tables.nodes) {}

  Status run() {
    const Shape& shape = tables_.shape;
    if (!fits(Wide{tables_.lb} + shape.extent)) return wrong("the bounds exceed 64 bits");
    if (nodes_.empty()) return {};
    if (static_cast<Wide>(nodes_[0].count) * nodes_[0].stride != shape.extent) {
      return wrong("the element's loop does not span the extent");
    }
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      Status parts = check_parts(i);
      if (!parts.ok()) return parts;
    }
    order_by_height();
    Status bounds = find_bounds();
    return bounds.ok() ? count_runs() : bounds;
  }

 private:
  // Bytes of all trips, from the start of the first.
  struct Span {
    std::int64_t low, high;
  };

  static Status wrong(const std::string& why) {
    return {StatusCode::kProtocol, "program form: " + why};
  }
  static Status wrong(std::uint32_t loop, const std::string& why) {
    return wrong("loop " + std::to_string(loop) + " " + why);
  }

  // Heights that fall from each loop to its parts leave no cycle.
  Status check_parts(std::uint32_t i) const {
    const LoopNode& node = nodes_[i];
    std::uint32_t below = 0;
    for (std::uint64_t p = 0; p < node.parts; ++p) {
      const std::uint32_t number = node.child(p);
      if (number == LoopNode::kRun) continue;
      const LoopNode& child = nodes_[number];
      if (node.part_bytes(p) != child.count * child.body_bytes) {
        return wrong(i, "gives its part " + std::to_string(p) + " another size than loop " +
                            std::to_string(number) + " has");
      }
      below = std::max(below, child.height);
    }
    if (node.height == 0 || node.height - 1 != below) {
      return wrong(i, "has height " + std::to_string(node.height) + " above parts of height " +
                          std::to_string(below));
    }
    return {};
  }

  void order_by_height() {
    order_.resize(nodes_.size());
    std::iota(order_.begin(), order_.end(), 0u);
    std::sort(order_.begin(), order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return nodes_[a].height < nodes_[b].height;
    });
  }

  Status find_bounds() {
    spans_.resize(nodes_.size());
    for (const std::uint32_t i : order_) {
      const LoopNode& node = nodes_[i];
      Wide low = 0, high = 0;
      for (std::uint64_t p = 0; p < node.parts; ++p) {
        const std::uint32_t child = node.child(p);
        const bool run = child == LoopNode::kRun;
        const Wide at = node.offset(p);
        const Wide part_low = run ? at : at + spans_[child].low;
        const Wide part_high = run ? at + node.part_bytes(p) : at + spans_[child].high;
        low = p == 0 ? part_low : std::min(low, part_low);
        high = p == 0 ? part_high : std::max(high, part_high);
      }
      const Wide reach = static_cast<Wide>(node.count - 1) * node.stride;
      low += std::min<Wide>(reach, 0);
      high += std::max<Wide>(reach, 0);
      if (!fits(low) || !fits(high) || !fits(high - low)) {
        return wrong(i, "has bytes more than 2^63 - 1 bytes apart or away");
      }
      spans_[i] = {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)};
    }
    tables_.true_lb = spans_[0].low;
    tables_.true_extent = spans_[0].high - spans_[0].low;
    return {};
  }

  // Outer loops first: how often each loop's body runs, times its runs.  A body has a byte at
  // least, so no number exceeds the packed bytes, which fit 63 bits.
  Status count_runs() {
    Shape& shape = tables_.shape;
    std::vector<std::uint64_t> trips(nodes_.size(), 0);
    trips[0] = nodes_[0].count;
    shape.min_run = UINT64_MAX;
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const LoopNode& node = nodes_[*it];
      const std::uint64_t times = trips[*it];
      if (times == 0) return wrong(*it, "is no part of the element");
      for (std::uint64_t p = 0; p < node.parts; ++p) {
        const std::uint32_t child = node.child(p);
        if (child != LoopNode::kRun) {
          trips[child] += times * nodes_[child].count;
          continue;
        }
        const std::uint64_t length = node.part_bytes(p);
        shape.bytes += times * length;
        shape.runs += times;
        shape.min_run = std::min(shape.min_run, length);
        shape.max_run = std::max(shape.max_run, length);
        shape.histogram[63 - __builtin_clzll(length)] += times;
      }
    }
    const LoopNode& top = nodes_[0];
    shape.contiguous = top.leaf() && top.count == 1 && top.parts == 1 &&
                       shape.extent == static_cast<std::int64_t>(top.body_bytes);
    return {};
  }

  BlockProgram::Tables& tables_;
  const std::vector<LoopNode>& nodes_;
  std::vector<std::uint32_t> order_;
  std::vector<Span> spans_;
};

}  // namespace

Status complete_tables(BlockProgram::Tables& tables) { return Completion(tables).run(); }

}  // namespace mad
