#include "datatype_path/program/block_program.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <utility>

#include "datatype_path/describe/children_first.h"
#include "datatype_path/program/how_copied.h"
#include "datatype_path/program/loop_builder.h"

namespace mad {
namespace {

// Counts the runs of one element: how often each loop's body runs, outer loops first, times its
// runs. One number a loop is remembered, whatever the program.
class ShapeCounter {
 public:
  // `inner_first`: every loop that `top` uses, before those that use it; others may be among them.
  static Shape of_trips(const Loop& top, const std::deque<Loop>& inner_first) {
    ShapeCounter counter;
    counter.shape_.min_run = UINT64_MAX;
    counter.add(top, top.count);
    for (auto loop = inner_first.rbegin(); loop != inner_first.rend(); ++loop) {
      const auto trips = counter.trips_.find(&*loop);
      if (trips != counter.trips_.end()) counter.add(*loop, trips->second);
    }
    return counter.shape_;
  }

 private:
  // No number exceeds the packed bytes, which fit 63 bits.
  void add(const Loop& loop, std::uint64_t trips) {
    for (const Part& part : loop.parts) {
      if (part.is_run()) {
        shape_.bytes += trips * part.size;
        shape_.runs += trips;
        shape_.min_run = std::min(shape_.min_run, part.size);
        shape_.max_run = std::max(shape_.max_run, part.size);
        shape_.histogram[63 - __builtin_clzll(part.size)] += trips;
      } else {
        trips_[part.loop] += trips * part.loop->count;
      }
    }
  }

  Shape shape_;
  std::unordered_map<const Loop*, std::uint64_t> trips_;
};

// Numbers the loops that `top` uses, breadth first, so that equal programs have equal numbers.
std::vector<const Loop*> in_order_of_use(const Loop& top,
                                         std::unordered_map<const Loop*, std::uint32_t>& number) {
  std::vector<const Loop*> order{&top};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Part& part : order[i]->parts) {
      if (part.is_run()) continue;
      if (number.emplace(part.loop, static_cast<std::uint32_t>(order.size())).second) {
        order.push_back(part.loop);
      }
    }
  }
  return order;
}

}  // namespace

std::uint64_t LoopNode::find_part(std::uint64_t offset) const {
  if (uniform != 0) return parts == 1 ? 0 : offset / uniform;
  std::uint64_t first = 0;  // upper bound of `offset` among the ends
  for (std::uint64_t left = parts; left > 0;) {
    const std::uint64_t half = left / 2;
    const bool before = part_end(first + half) <= offset;
    first += before ? half + 1 : 0;
    left = before ? left - half - 1 : half;
  }
  return first;
}

// Turns a description into loops, and loops into the program's tables.
class BlockProgram::Compiler {
 public:
  Part build(const TypeDesc& root) {
    children_first(
        root, [this](const TypeDesc& type) { return built_.count(&type) != 0; },
        [this](const TypeDesc& type) { built_.emplace(&type, build_node(type)); });
    return built_.at(&root);
  }

  std::shared_ptr<BlockProgram> program(const TypeDesc& type, const Part& part) {
    std::shared_ptr<BlockProgram> out(new BlockProgram);
    out->lb_ = type.lb();
    out->true_lb_ = type.true_lb();
    out->true_extent_ = type.true_extent();
    if (part.size > 0) {
      Loop top = builder_.body(part, type.extent());
      for (const Part& p : top.parts) {
        if (!p.is_run()) top.height = std::max(top.height, p.loop->height + 1);
      }
      out->shape_ = ShapeCounter::of_trips(top, builder_.loops());
      write_tables(top, *out);
    }
    out->shape_.extent = type.extent();
    out->shape_.contiguous =
        part.size == 0 || (part.is_run() && type.extent() == static_cast<std::int64_t>(part.size));
    return out;
  }

 private:
  Part build_node(const TypeDesc& type) {
    // Counts that pack nothing may have any product.
    if (type.size() == 0) return {};
    switch (type.kind()) {
      case TypeDesc::Kind::kBytes:
        return LoopBuilder::run(type.size());
      case TypeDesc::Kind::kResized:
        return built_.at(&type.child());
      case TypeDesc::Kind::kContiguous:
      case TypeDesc::Kind::kVector: {
        const Part& child = built_.at(&type.child());
        const Part block = builder_.repeat(child, type.blocklength(0), type.child().extent());
        return builder_.repeat(block, type.count(), type.stride());
      }
      case TypeDesc::Kind::kIndexed:
      case TypeDesc::Kind::kIndexedBlock:
      case TypeDesc::Kind::kStruct:
        return build_list(type);
    }
    return {};
  }

  Part build_list(const TypeDesc& type) {
    std::vector<Part> parts;
    parts.reserve(type.count());
    if (type.kind() != TypeDesc::Kind::kStruct && dense(type.child())) {
      const Part element = built_.at(&type.child());
      for (std::size_t i = 0; i < type.count(); ++i) {
        const std::uint64_t bytes = element.size * type.blocklength(i);
        if (bytes > 0) parts.emplace_back(type.displacement(i) + element.offset, bytes, nullptr);
      }
      return builder_.sequence(std::move(parts));
    }
    if (type.kind() == TypeDesc::Kind::kIndexedBlock && type.count() > 0) {
      // The same block everywhere.
      const TypeDesc& child = type.child();
      const Part block = builder_.repeat(built_.at(&child), type.blocklength(0), child.extent());
      if (block.size == 0) return {};
      for (std::size_t i = 0; i < type.count(); ++i) {
        parts.push_back(block.moved(type.displacement(i)));
      }
      return builder_.sequence(std::move(parts));
    }
    for (std::size_t i = 0; i < type.count(); ++i) {
      const TypeDesc& child = type.child(i);
      const Part block = builder_.repeat(built_.at(&child), type.blocklength(i), child.extent());
      if (block.size > 0) parts.push_back(block.moved(type.displacement(i)));
    }
    return builder_.sequence(std::move(parts));
  }

  // Any number of elements is one run.
  bool dense(const TypeDesc& type) const {
    const Part& element = built_.at(&type);
    return element.is_run() && static_cast<std::int64_t>(element.size) == type.extent();
  }

  static bool uniform(const Loop& loop) {
    return std::all_of(loop.parts.begin(), loop.parts.end(),
                       [&](const Part& p) { return p.size == loop.parts.front().size; });
  }

  static void write_tables(const Loop& top, BlockProgram& out) {
    std::unordered_map<const Loop*, std::uint32_t> number;
    const std::vector<const Loop*> order = in_order_of_use(top, number);
    std::size_t offsets = 0, ends = 0, children = 0;
    for (const Loop* loop : order) {
      offsets += loop->parts.size();
      if (!uniform(*loop)) ends += loop->parts.size();
      if (loop->height > 1) children += loop->parts.size();
    }
    // Reserved at once: the nodes point into the lists.
    out.nodes_.reserve(order.size());
    out.offsets_.reserve(offsets);
    out.ends_.reserve(ends);
    out.children_.reserve(children);
    for (const Loop* loop : order) out.nodes_.push_back(write_node(*loop, number, out));
  }

  static LoopNode write_node(const Loop& loop,
                             const std::unordered_map<const Loop*, std::uint32_t>& number,
                             BlockProgram& out) {
    LoopNode node;
    node.count = loop.count;
    node.stride = loop.stride;
    node.parts = loop.parts.size();
    node.height = loop.height;
    node.offsets = out.offsets_.data() + out.offsets_.size();
    const bool same = uniform(loop);
    if (same) node.uniform = loop.parts.front().size;
    if (!same) node.ends = out.ends_.data() + out.ends_.size();
    if (loop.height > 1) node.children = out.children_.data() + out.children_.size();
    node.min_run = UINT64_MAX;
    std::uint64_t end = 0;
    for (const Part& part : loop.parts) {
      out.offsets_.push_back(part.offset);
      end += part.size;
      if (!same) out.ends_.push_back(end);
      if (loop.height > 1) {
        out.children_.push_back(part.is_run() ? LoopNode::kRun : number.at(part.loop));
      }
      node.min_run = std::min(node.min_run, part.size);
      node.max_run = std::max(node.max_run, part.size);
    }
    node.body_bytes = end;
    return node;
  }

  LoopBuilder builder_;
  std::unordered_map<const TypeDesc*, Part> built_;
};

Result<std::shared_ptr<const BlockProgram>> BlockProgram::compile(const TypeDesc& type,
                                                                  const KernelTable& kernels) {
  try {
    Compiler compiler;
    const Part part = compiler.build(type);
    std::shared_ptr<BlockProgram> program = compiler.program(type, part);
    program->finish(kernels);
    return std::shared_ptr<const BlockProgram>(std::move(program));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory to compile a datatype");
  }
}

std::shared_ptr<const BlockProgram> BlockProgram::from_tables(Tables&& tables,
                                                              const KernelTable& kernels) {
  std::shared_ptr<BlockProgram> out(new BlockProgram);
  // Moved as they are: the nodes go on pointing into the lists.
  out->nodes_ = std::move(tables.nodes);
  out->offsets_ = std::move(tables.offsets);
  out->ends_ = std::move(tables.ends);
  out->children_ = std::move(tables.children);
  out->shape_ = tables.shape;
  out->lb_ = tables.lb;
  out->true_lb_ = tables.true_lb;
  out->true_extent_ = tables.true_extent;
  out->finish(kernels);
  return out;
}

std::size_t BlockProgram::memory_bytes() const {
  const auto bytes = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  return sizeof(*this) + bytes(nodes_) + bytes(offsets_) + bytes(narrow_offsets_) + bytes(ends_) +
         bytes(narrow_ends_) + bytes(children_) + bytes(steps_) + bytes(pieces_) + bytes(chunks_);
}

bool BlockProgram::same_loops(const BlockProgram& other) const {
  const auto same_node = [](const LoopNode& a, const LoopNode& b) {
    return a.count == b.count && a.stride == b.stride && a.parts == b.parts &&
           a.uniform == b.uniform && a.leaf() == b.leaf();
  };
  return std::equal(nodes_.begin(), nodes_.end(), other.nodes_.begin(), other.nodes_.end(),
                    same_node) &&
         offsets_ == other.offsets_ && narrow_offsets_ == other.narrow_offsets_ &&
         ends_ == other.ends_ && narrow_ends_ == other.narrow_ends_ && children_ == other.children_;
}

std::string BlockProgram::to_string() const {
  constexpr std::uint64_t kShownParts = 8;
  constexpr std::size_t kShownLoops = 32;
  const auto text = [](auto number) { return std::to_string(number); };
  const auto range = [text](std::int64_t low, std::int64_t extent) {
    return "[" + text(low) + ", " + text(low + extent) + ")";
  };
  const std::string all_loops = text(loops()) + (loops() == 1 ? " loop" : " loops");
  std::string out = "program: " + all_loops + ", " + text(depth()) + " deep, bounds " +
                    range(lb_, extent()) + ", true " + range(true_lb_, true_extent_) + ", " +
                    text(memory_bytes()) + " bytes of memory, " + kernels() + " kernels\n";
  for (std::size_t i = 0; i < std::min(loops(), kShownLoops); ++i) {
    const LoopNode& n = nodes_[i];
    out += "  " + (i == 0 ? "element" : "loop " + text(i)) + ": " + text(n.count) + " x " +
           text(n.body_bytes) + " B" + (n.count == 1 ? "" : ", " + text(n.stride) + " apart");
    for (std::uint64_t p = 0; p < std::min(n.parts, kShownParts); ++p) {
      const bool run = n.child(p) == LoopNode::kRun;
      out += (p == 0 ? ", of [" : ", ") + text(n.offset(p)) + ": " +
             (run ? text(n.part_bytes(p)) + " B" : "loop " + text(n.child(p)));
    }
    if (n.parts > kShownParts) out += ", ... " + text(n.parts) + " in all";
    out += "], " + how_copied(n) + "\n";
  }
  if (loops() > kShownLoops) out += "  ... " + all_loops + " in all\n";
  return out;
}

}  // namespace mad
