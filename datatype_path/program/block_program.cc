#include "datatype_path/program/block_program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <map>
#include <memory_resource>
#include <optional>
#include <utility>

#include "datatype_path/describe/children_first.h"
#include "datatype_path/program/how_copied.h"
#include "datatype_path/program/loop_builder.h"
#include "datatype_path/program/plain_list.h"
#include "datatype_path/program/pointer_map.h"

namespace mad {
namespace {

// Counts the runs of one element: how often each loop's body runs, outer loops first, times its
// runs. One number a loop is remembered, whatever the program.
class ShapeCounter {
 public:
  // `inner_first`: every loop that `top` uses, before those that use it; others may be among them.
  static Shape of_trips(const Loop& top, const std::pmr::deque<Loop>& inner_first,
                        std::pmr::memory_resource* memory) {
    ShapeCounter counter(memory);
    counter.shape_.min_run = UINT64_MAX;
    counter.add(top, top.count);
    for (auto loop = inner_first.rbegin(); loop != inner_first.rend(); ++loop) {
      const std::uint64_t* const trips = counter.trips_.find(&*loop);
      if (trips != nullptr) counter.add(*loop, *trips);
    }
    return counter.shape_;
  }

 private:
  explicit ShapeCounter(std::pmr::memory_resource* memory) : trips_(memory) {}

  void add(const Loop& loop, std::uint64_t trips) {
    if (loop.height == 1 && loop.uniform())
      return add_runs(loop.min_part, trips * loop.parts.size());
    for (const Part& part : loop.parts) {
      if (part.is_run()) {
        add_runs(part.size, trips);
      } else {
        *trips_.insert(part.loop, 0).first += trips * part.loop->count;
      }
    }
  }

  // No number exceeds the packed bytes, which fit 63 bits.
  void add_runs(std::uint64_t size, std::uint64_t runs) {
    shape_.bytes += runs * size;
    shape_.runs += runs;
    shape_.min_run = std::min(shape_.min_run, size);
    shape_.max_run = std::max(shape_.max_run, size);
    shape_.histogram[63 - __builtin_clzll(size)] += runs;
  }

  Shape shape_;
  PointerMap<Loop, std::uint64_t> trips_;
};

using LoopNumbers = PointerMap<Loop, std::uint32_t>;

// Numbers the loops that `top` uses, breadth first, so that equal programs have equal numbers.
std::pmr::vector<const Loop*> in_order_of_use(const Loop& top, LoopNumbers& number,
                                              std::pmr::memory_resource* memory) {
  std::pmr::vector<const Loop*> order({&top}, memory);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i]->height == 1) continue;
    for (const Part& part : order[i]->parts) {
      if (part.is_run()) continue;
      if (number.insert(part.loop, static_cast<std::uint32_t>(order.size())).second) {
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
        root,
        [this](const TypeDesc& type) { return is_leaf(type) || built_.find(&type) != nullptr; },
        [this](const TypeDesc& type) { built_.insert(&type, build_node(type)); });
    return built(root);
  }

  std::shared_ptr<BlockProgram> program(const TypeDesc& type, const Part& part) {
    std::shared_ptr<BlockProgram> out(new BlockProgram);
    out->lb_ = type.lb();
    out->true_lb_ = type.true_lb();
    out->true_extent_ = type.true_extent();
    if (part.size > 0) {
      const Loop top = builder_.body(part, type.extent());
      out->shape_ = ShapeCounter::of_trips(top, builder_.loops(), &memory_);
      write_tables(top, *out);
    }
    out->shape_.extent = type.extent();
    out->shape_.contiguous =
        part.size == 0 || (part.is_run() && type.extent() == static_cast<std::int64_t>(part.size));
    return out;
  }

 private:
  static bool is_leaf(const TypeDesc& type) { return type.kind() == TypeDesc::Kind::kBytes; }

  Part built(const TypeDesc& type) {
    if (is_leaf(type)) return LoopBuilder::run(type.size());
    return *built_.find(&type);
  }

  Part build_node(const TypeDesc& type) {
    // Counts that pack nothing may have any product.
    if (type.size() == 0) return {};
    switch (type.kind()) {
      case TypeDesc::Kind::kBytes:
        return built(type);
      case TypeDesc::Kind::kResized:
        return built(type.child());
      case TypeDesc::Kind::kContiguous:
      case TypeDesc::Kind::kVector: {
        const Part child = built(type.child());
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
    std::pmr::vector<Part> parts = builder_.room_for(type.count());
    if (type.kind() != TypeDesc::Kind::kStruct && dense(type.child())) {
      const Part element = built(type.child());
      for (std::size_t i = 0; i < type.count(); ++i) {
        const std::uint64_t bytes = element.size * type.blocklength(i);
        if (bytes > 0) parts.emplace_back(type.displacement(i) + element.offset, bytes, nullptr);
      }
      return builder_.sequence(std::move(parts));
    }
    if (type.kind() == TypeDesc::Kind::kIndexedBlock && type.count() > 0) {
      // The same block everywhere.
      const TypeDesc& child = type.child();
      const Part block = builder_.repeat(built(child), type.blocklength(0), child.extent());
      if (block.size == 0) return {};
      for (std::size_t i = 0; i < type.count(); ++i) {
        parts.push_back(block.moved(type.displacement(i)));
      }
      return builder_.sequence(std::move(parts));
    }
    Blocks blocks(&memory_);
    for (std::size_t i = 0; i < type.count(); ++i) {
      const Part block = build_block(type.child(i), type.blocklength(i), blocks);
      if (block.size > 0) parts.push_back(block.moved(type.displacement(i)));
    }
    return builder_.sequence(std::move(parts));
  }

  using Blocks = std::pmr::map<std::pair<const TypeDesc*, std::uint64_t>, Part>;

  // A loop over a loop is built once for blocks of one child and one length: what would be built of
  // the others, up to 1.5 KB each, stays in memory until all is compiled.
  Part build_block(const TypeDesc& child, std::uint64_t blocklength, Blocks& blocks) {
    const Part element = built(child);
    if (element.is_run() || blocklength == 1) {
      return builder_.repeat(element, blocklength, child.extent());
    }
    const auto [block, added] = blocks.try_emplace({&child, blocklength});
    if (added) block->second = builder_.repeat(element, blocklength, child.extent());
    return block->second;
  }

  // Any number of elements is one run.
  bool dense(const TypeDesc& type) {
    const Part element = built(type);
    return element.is_run() && static_cast<std::int64_t>(element.size) == type.extent();
  }

  void write_tables(const Loop& top, BlockProgram& out) {
    LoopNumbers number(&memory_);
    const std::pmr::vector<const Loop*> order = in_order_of_use(top, number, &memory_);
    std::size_t offsets = 0, ends = 0, children = 0;
    for (const Loop* loop : order) {
      offsets += loop->parts.size();
      if (!loop->uniform()) ends += loop->parts.size();
      if (loop->height > 1) children += loop->parts.size();
    }
    // Reserved at once: the nodes point into the lists.
    out.nodes_.reserve(order.size());
    out.offsets_.reserve(offsets);
    out.ends_.reserve(ends);
    out.children_.reserve(children);
    for (const Loop* loop : order) out.nodes_.push_back(write_node(*loop, number, out));
  }

  static LoopNode write_node(const Loop& loop, LoopNumbers& number, BlockProgram& out) {
    LoopNode node;
    node.count = loop.count;
    node.stride = loop.stride;
    node.parts = loop.parts.size();
    node.height = loop.height;
    node.offsets = out.offsets_.data() + out.offsets_.size();
    node.body_bytes = loop.body_bytes;
    node.min_run = loop.min_part;
    node.max_run = loop.max_part;
    append(
        loop.parts, [](const Part& part) { return part.offset; }, &out.offsets_);
    if (loop.uniform()) {
      node.uniform = loop.min_part;
    } else {
      node.ends = out.ends_.data() + out.ends_.size();
      std::uint64_t end = 0;
      append(
          loop.parts, [&](const Part& part) { return end += part.size; }, &out.ends_);
    }
    if (loop.height > 1) {
      node.children = out.children_.data() + out.children_.size();
      for (const Part& part : loop.parts) {
        out.children_.push_back(part.is_run() ? LoopNode::kRun : *number.find(part.loop));
      }
    }
    return node;
  }

  // Appends a number of each part to `list`, which does not move.
  template <typename T, typename Number>
  static void append(const std::pmr::vector<Part>& parts, Number number, std::vector<T>* list) {
    const std::size_t before = list->size();
    list->resize(before + parts.size());
    std::transform(parts.begin(), parts.end(), list->data() + before, number);
  }

  // Of everything but the program: most types need no more than the first bytes.
  static constexpr std::size_t kFirstBytes = 8 * 1024;
  std::array<std::byte, kFirstBytes> first_;
  std::pmr::monotonic_buffer_resource memory_{first_.data(), first_.size()};
  LoopBuilder builder_{&memory_};
  PointerMap<TypeDesc, Part> built_{&memory_};  // all but leaves
};

Result<std::shared_ptr<const BlockProgram>> BlockProgram::compile(const TypeDesc& type,
                                                                  const KernelTable& kernels) {
  try {
    if (std::optional<Tables> list = plain_list(type))
      return from_tables(std::move(*list), kernels);
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
