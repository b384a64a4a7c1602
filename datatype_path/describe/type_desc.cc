#include "datatype_path/describe/type_desc.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

namespace mad {
namespace {

// Bounds are computed in 128 bits: products of two 64-bit values cannot overflow there.
using Wide = __int128;

constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
constexpr Wide kMin = std::numeric_limits<std::int64_t>::min();

bool fits(Wide value) { return value >= kMin && value <= kMax; }

Status invalid(std::string why) { return Status(StatusCode::kInvalidArgument, std::move(why)); }

}  // namespace

// Accumulates size and bounds over blocks of children.
class TypeDesc::Bounds {
 public:
  // `rows` blocks of `n` children, `stride` apart, the first at `at`.
  void add(std::uint64_t rows, Wide stride, Wide at, std::uint64_t n, const TypeDesc& child) {
    if (rows == 0 || n == 0) return;
    if (rows > kMax || n > kMax) {
      overflow_ = true;
      return;
    }
    const Wide row_span = product(static_cast<Wide>(rows) - 1, stride);
    const Wide block_span = product(static_cast<Wide>(n) - 1, child.extent_);
    if (child.size_ > 0) size_ += product(product(rows, n), child.size_);
    if (overflow_ || size_ > kMax) {
      overflow_ = true;
      return;
    }
    // Every element has a byte, so that there are no more of them than bytes.
    elements_ += rows * n * child.elements_;
    const Wide low = at + std::min<Wide>(row_span, 0) + std::min<Wide>(block_span, 0);
    const Wide high = at + std::max<Wide>(row_span, 0) + std::max<Wide>(block_span, 0);
    widen(lb_, ub_, any_, low + child.lb_, high + child.lb_ + child.extent_);
    if (child.size_ > 0) {
      widen(true_lb_, true_ub_, any_byte_, low + child.true_lb_,
            high + child.true_lb_ + child.true_extent_);
    }
  }

  // One block at each place, of `lengths[i]` children.  Lists are long and most blocks far from any
  // overflow; those are added up in 64 bits.
  void add_blocks(const std::vector<std::int64_t>& places,
                  const std::vector<std::uint64_t>& lengths, const TypeDesc& child) {
    constexpr std::int64_t kSmall = std::int64_t{1} << 30, kNear = std::int64_t{1} << 61;
    const bool small_child = child.extent_ > -kSmall && child.extent_ < kSmall;
    std::int64_t low = std::numeric_limits<std::int64_t>::max();
    std::int64_t high = std::numeric_limits<std::int64_t>::min();
    std::uint64_t children = 0;  // fewer than 2^30 a place
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::int64_t at = places[i];
      const std::uint64_t n = lengths[i];
      if (!small_child || n >= kSmall || at <= -kNear || at >= kNear) {
        add(1, 0, at, n, child);
      } else if (n > 0) {
        const std::int64_t last = at + (static_cast<std::int64_t>(n) - 1) * child.extent_;
        low = std::min({low, at, last});
        high = std::max({high, at, last});
        children += n;
      }
    }
    if (children == 0) return;
    add(1, 0, low, 1, child);
    add(1, 0, high, 1, child);
    // Their bounds are in; of their bytes, those of two children.
    size_ += product(static_cast<Wide>(children) - 2, child.size_);
    elements_ += (children - 2) * child.elements_;
    if (size_ > kMax) overflow_ = true;
  }

  // One block of `n` children at each place.
  void add_equal_blocks(const std::vector<std::int64_t>& places, std::uint64_t n,
                        const TypeDesc& child) {
    if (places.empty() || n == 0) return;
    std::int64_t low = places.front(), high = low;
    for (const std::int64_t at : places) {
      low = std::min(low, at);
      high = std::max(high, at);
    }
    add(1, 0, low, n, child);
    if (places.size() == 1 || overflow_) return;
    add(1, 0, high, n, child);
    // The bounds of all are in; of their bytes, those of two.
    const std::uint64_t others = places.size() - 2;
    size_ += product(product(others, n), child.size_);
    elements_ += others * n * child.elements_;
    if (size_ > kMax) overflow_ = true;
  }

  bool overflow() const {
    return overflow_ || !fits(lb_) || !fits(ub_) || !fits(ub_ - lb_) || !fits(true_lb_) ||
           !fits(true_ub_) || !fits(true_ub_ - true_lb_);
  }

  void store(TypeDesc& node) const {
    node.size_ = static_cast<std::uint64_t>(size_);
    node.elements_ = elements_;
    node.lb_ = static_cast<std::int64_t>(lb_);
    node.extent_ = static_cast<std::int64_t>(ub_ - lb_);
    node.true_lb_ = static_cast<std::int64_t>(true_lb_);
    node.true_extent_ = static_cast<std::int64_t>(true_ub_ - true_lb_);
  }

 private:
  // Every product must fit 64 bits, so that the next one fits 128.
  Wide product(Wide a, Wide b) {
    const Wide p = a * b;
    if (!fits(p)) overflow_ = true;
    return overflow_ ? 0 : p;
  }

  static void widen(Wide& low, Wide& high, bool& any, Wide new_low, Wide new_high) {
    low = any ? std::min(low, new_low) : new_low;
    high = any ? std::max(high, new_high) : new_high;
    any = true;
  }

  Wide size_ = 0;
  std::uint64_t elements_ = 0;
  Wide lb_ = 0, ub_ = 0, true_lb_ = 0, true_ub_ = 0;
  bool any_ = false, any_byte_ = false, overflow_ = false;
};

TypeDesc::~TypeDesc() {
  // Deep trees are taken down in a loop: a child that only this node holds hands over its own
  // children before it dies.
  std::vector<TypeDescPtr> dying = std::move(children_);
  while (!dying.empty()) {
    TypeDescPtr node = std::move(dying.back());
    dying.pop_back();
    if (node.use_count() != 1) continue;
    auto& grandchildren = const_cast<TypeDesc&>(*node).children_;
    for (TypeDescPtr& child : grandchildren) dying.push_back(std::move(child));
    grandchildren.clear();
  }
}

Result<TypeDescPtr> TypeDesc::finish(const std::shared_ptr<TypeDesc>& node, const Bounds& bounds) {
  if (bounds.overflow()) {
    return invalid("the datatype's size or bounds exceed 2^63 - 1 bytes");
  }
  bounds.store(*node);
  node->is_run_ = node->size_ > 0 && node->blocks_are_run();
  return TypeDescPtr(node);
}

// Each block that has bytes is a run, and begins where the one before ends.
bool TypeDesc::blocks_are_run() const {
  const bool in_steps = kind_ == Kind::kContiguous || kind_ == Kind::kVector;
  const std::uint64_t looked_at = in_steps ? std::min<std::uint64_t>(count_, 2) : count_;
  bool any = false;
  std::int64_t end = 0;
  for (std::uint64_t i = 0; i < looked_at; ++i) {
    const TypeDesc& part = child(i);
    const std::uint64_t n = blocklength(i);
    if (n == 0 || part.size_ == 0) continue;
    const bool dense = n == 1 || part.extent_ == static_cast<std::int64_t>(part.size_);
    const std::int64_t begin = displacement(i) + part.true_lb_;
    if (!part.is_run_ || !dense || (any && begin != end)) return false;
    end = begin + static_cast<std::int64_t>(n * part.size_);
    any = true;
  }
  return true;
}

Result<TypeDescPtr> TypeDesc::bytes(std::uint64_t size) {
  if (size > kMax) return invalid("a basic type's size exceeds 2^63 - 1 bytes");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kBytes);
  node->size_ = size;
  node->elements_ = size;
  node->extent_ = static_cast<std::int64_t>(size);
  node->true_extent_ = node->extent_;
  node->is_run_ = size > 0;
  return TypeDescPtr(node);
}

Result<TypeDescPtr> TypeDesc::basic(BasicType type) {
  if (static_cast<std::size_t>(type) >= kBasicTypes) return invalid("no such basic type");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kBytes);
  node->basic_type_ = type;
  node->size_ = size_of(type);
  node->elements_ = 1;
  node->extent_ = static_cast<std::int64_t>(node->size_);
  node->true_extent_ = node->extent_;
  node->is_run_ = true;
  return TypeDescPtr(node);
}

Result<TypeDescPtr> TypeDesc::contiguous(std::uint64_t count, TypeDescPtr child) {
  if (!child) return invalid("contiguous: the child type is missing");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kContiguous);
  Bounds bounds;
  bounds.add(count, child->extent_, 0, 1, *child);
  node->count_ = count;
  node->stride_ = child->extent_;
  node->children_.push_back(std::move(child));
  return finish(node, bounds);
}

Result<TypeDescPtr> TypeDesc::vector(std::uint64_t count, std::uint64_t blocklength,
                                     std::int64_t stride, TypeDescPtr child) {
  if (!child) return invalid("vector: the child type is missing");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kVector);
  Bounds bounds;
  bounds.add(count, stride, 0, blocklength, *child);
  node->count_ = count;
  node->blocklength_ = blocklength;
  node->stride_ = stride;
  node->children_.push_back(std::move(child));
  return finish(node, bounds);
}

Result<TypeDescPtr> TypeDesc::indexed(std::vector<std::uint64_t> blocklengths,
                                      std::vector<std::int64_t> displacements, TypeDescPtr child) {
  if (!child) return invalid("indexed: the child type is missing");
  if (blocklengths.size() != displacements.size()) {
    return invalid("indexed: as many displacements as block lengths are needed");
  }
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kIndexed);
  Bounds bounds;
  bounds.add_blocks(displacements, blocklengths, *child);
  node->count_ = displacements.size();
  node->blocklengths_ = NumberList(std::move(blocklengths));
  node->displacements_ = NumberList(std::move(displacements));
  node->children_.push_back(std::move(child));
  return finish(node, bounds);
}

Result<TypeDescPtr> TypeDesc::indexed_block(std::uint64_t blocklength,
                                            std::vector<std::int64_t> displacements,
                                            TypeDescPtr child) {
  if (!child) return invalid("indexed_block: the child type is missing");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kIndexedBlock);
  Bounds bounds;
  bounds.add_equal_blocks(displacements, blocklength, *child);
  node->count_ = displacements.size();
  node->blocklength_ = blocklength;
  node->displacements_ = NumberList(std::move(displacements));
  node->children_.push_back(std::move(child));
  return finish(node, bounds);
}

Result<TypeDescPtr> TypeDesc::structure(std::vector<std::uint64_t> blocklengths,
                                        std::vector<std::int64_t> displacements,
                                        std::vector<TypeDescPtr> children) {
  if (blocklengths.size() != displacements.size() || children.size() != displacements.size()) {
    return invalid("struct: as many displacements and types as block lengths are needed");
  }
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kStruct);
  Bounds bounds;
  for (std::size_t i = 0; i < displacements.size(); ++i) {
    if (!children[i]) return invalid("struct: a child type is missing");
    bounds.add(1, 0, displacements[i], blocklengths[i], *children[i]);
  }
  node->count_ = displacements.size();
  node->blocklengths_ = NumberList(std::move(blocklengths));
  node->displacements_ = NumberList(std::move(displacements));
  node->children_ = std::move(children);
  return finish(node, bounds);
}

Result<TypeDescPtr> TypeDesc::resized(std::int64_t lb, std::int64_t extent, TypeDescPtr child) {
  if (!child) return invalid("resized: the child type is missing");
  if (!fits(static_cast<Wide>(lb) + extent)) return invalid("resized: the bounds overflow");
  const auto node = std::make_shared<TypeDesc>(Key(), Kind::kResized);
  node->size_ = child->size_;
  node->elements_ = child->elements_;
  node->lb_ = lb;
  node->extent_ = extent;
  node->true_lb_ = child->true_lb_;
  node->true_extent_ = child->true_extent_;
  node->is_run_ = child->is_run_;
  node->children_.push_back(std::move(child));
  return TypeDescPtr(node);
}

}  // namespace mad
