#include "datatype_path/typed/typed_program.h"

#include <algorithm>
#include <new>
#include <unordered_map>
#include <utility>

#include "datatype_path/describe/children_first.h"

namespace mad {

TypedRun TypedRun::from(std::uint64_t k) const {
  // Wraps around where a caller's displacements do: offsets are differences of addresses.
  const std::uint64_t ahead = k * static_cast<std::uint64_t>(stride);
  return {type, static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) + ahead), count - k,
          stride};
}

std::optional<TypedRun> TypedRun::repeated(std::uint64_t n, std::int64_t distance) const {
  if (n == 1) return *this;
  if (count == 1) return TypedRun{type, offset, n, distance};
  std::int64_t span = 0;
  if (__builtin_mul_overflow(count, stride, &span) || span != distance) return std::nullopt;
  return TypedRun{type, offset, count * n, stride};
}

TypedNode::Place TypedNode::find(std::uint64_t k) const {
  Place place{};
  if (ends == nullptr) {
    place.block = k / block_elements(0);
  } else {
    place.block = static_cast<std::uint64_t>(std::upper_bound(ends, ends + blocks(), k) - ends);
  }
  k -= block_start(place.block);
  const std::uint64_t each = type->child(place.block).elements();
  place.repetition = k / each;
  place.element = k % each;
  return place;
}

class TypedProgram::Builder {
 public:
  std::shared_ptr<const TypedProgram> build(TypeDescPtr type) {
    put_in_order(*type);
    std::shared_ptr<TypedProgram> out(new TypedProgram);
    out_ = out.get();
    out_->type_ = std::move(type);
    reserve();
    for (const TypeDesc* node : order_) out_->nodes_.push_back(make(*node));
    return out;
  }

 private:
  // Numbers every node, children first; a resized one is its child.
  void put_in_order(const TypeDesc& root) {
    children_first(
        root, [this](const TypeDesc& type) { return number_.count(&type) != 0; },
        [this](const TypeDesc& type) {
          if (type.kind() == TypeDesc::Kind::kResized) {
            number_.emplace(&type, number_.at(&type.child()));
          } else {
            number_.emplace(&type, static_cast<std::uint32_t>(order_.size()));
            order_.push_back(&type);
          }
        });
  }

  // At once: the nodes point into the lists.
  void reserve() {
    std::size_t children = 0, ends = 0;
    for (const TypeDesc* node : order_) {
      children += node->children().size();
      if (!alike(*node)) ends += node->count();
    }
    out_->nodes_.reserve(order_.size());
    out_->children_.reserve(children);
    out_->ends_.reserve(ends);
  }

  static std::uint64_t block_elements(const TypeDesc& type, std::size_t block) {
    return type.blocklength(block) * type.child(block).elements();
  }

  // Whether all blocks have as many elements.  Nobody seeks in a node without elements.
  static bool alike(const TypeDesc& type) {
    const bool list =
        type.kind() == TypeDesc::Kind::kIndexed || type.kind() == TypeDesc::Kind::kStruct;
    if (!list || type.elements() == 0) return true;
    for (std::size_t i = 1; i < type.count(); ++i) {
      if (block_elements(type, i) != block_elements(type, 0)) return false;
    }
    return true;
  }

  TypedNode make(const TypeDesc& type) {
    TypedNode node;
    node.type = &type;
    node.children = out_->children_.data() + out_->children_.size();
    std::uint32_t below = 0;
    for (const TypeDescPtr& child : type.children()) {
      out_->children_.push_back(number_.at(child.get()));
      below = std::max(below, out_->node(out_->children_.back()).height);
    }
    if (!alike(type)) {
      node.ends = out_->ends_.data() + out_->ends_.size();
      std::uint64_t end = 0;
      for (std::size_t i = 0; i < type.count(); ++i) {
        out_->ends_.push_back(end += block_elements(type, i));
      }
    }
    node.run = run_of(node);
    node.height = node.run ? 0 : below + 1;
    return node;
  }

  std::optional<TypedRun> run_of(const TypedNode& node) const {
    const TypeDesc& type = *node.type;
    if (type.elements() == 0) return TypedRun{};
    switch (type.kind()) {
      case TypeDesc::Kind::kBytes:
        return TypedRun{type.basic_type(), 0, type.elements(),
                        static_cast<std::int64_t>(size_of(type.basic_type()))};
      case TypeDesc::Kind::kContiguous:
      case TypeDesc::Kind::kVector: {
        const auto block = block_run(node, 0);
        return block ? block->repeated(type.count(), type.stride()) : std::nullopt;
      }
      default:
        break;
    }
    // A list is a run only if all of it is in one block.
    std::size_t full = 0;
    while (block_elements(type, full) == 0) ++full;
    return block_elements(type, full) == type.elements() ? block_run(node, full) : std::nullopt;
  }

  std::optional<TypedRun> block_run(const TypedNode& node, std::size_t block) const {
    const TypeDesc& type = *node.type;
    const std::optional<TypedRun>& child = out_->node(node.child(block)).run;
    if (!child) return std::nullopt;
    auto run = child->repeated(type.blocklength(block), type.child(block).extent());
    if (run) run->offset += type.displacement(block);
    return run;
  }

  std::vector<const TypeDesc*> order_;
  std::unordered_map<const TypeDesc*, std::uint32_t> number_;
  TypedProgram* out_ = nullptr;
};

Result<std::shared_ptr<const TypedProgram>> TypedProgram::build(TypeDescPtr type) {
  if (!type) return Status(StatusCode::kInvalidArgument, "typed program: the type is missing");
  try {
    return Builder().build(std::move(type));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kNoMemory, "no memory for a datatype's typed program");
  }
}

std::size_t TypedProgram::memory_bytes() const {
  return sizeof(*this) + nodes_.capacity() * sizeof(TypedNode) +
         children_.capacity() * sizeof(std::uint32_t) + ends_.capacity() * sizeof(std::uint64_t);
}

}  // namespace mad
