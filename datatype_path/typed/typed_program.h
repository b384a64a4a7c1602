// TypedProgram: a datatype as loops over runs of basic elements, with their kinds.
//
// The merged program (BlockProgram) moves bytes and has forgotten what they are; signatures and
// conversion ask element by element.  A program is built when it is first asked for, most types
// never are.  It has one node for each distinct node of the description, resized ones excepted; a
// node refers to the description for its displacements and lengths and adds what seeking needs:
// prefix sums of elements over lists, and the shortcut of a run where all of the node is one.  So
// memory is a few words a node and at most one word a block, however often nodes are shared.
// Programs are immutable and keep their description alive.
#ifndef DATATYPE_PATH_TYPED_TYPED_PROGRAM_H_
#define DATATYPE_PATH_TYPED_TYPED_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "datatype_path/describe/basic_type.h"
#include "datatype_path/describe/type_desc.h"
#include "madlike/base/status.h"

namespace mad {

/// `count` elements of one kind, `stride` bytes from one to the next.
struct TypedRun {
  BasicType type = BasicType::kByte;
  std::int64_t offset = 0;  // bytes, of the first
  std::uint64_t count = 0;
  std::int64_t stride = 0;

  /// What is left from element `k` on.
  TypedRun from(std::uint64_t k) const;
  /// `n` of these, `distance` bytes apart, if that is one run again.
  std::optional<TypedRun> repeated(std::uint64_t n, std::int64_t distance) const;
};

/// A node of the description.  The arrays belong to the program.
struct TypedNode {
  const TypeDesc* type = nullptr;
  std::optional<TypedRun> run;              // the node, if it is one
  const std::uint32_t* children = nullptr;  // nodes: one for each block of a struct, else one
  const std::uint64_t* ends = nullptr;  // [blocks] elements up to each block's end; null: all alike
  std::uint32_t height = 0;             // longest chain of nodes that are no runs from here down

  /// A struct that is no run: its blocks may hold different children.
  bool is_struct() const { return !run && type->kind() == TypeDesc::Kind::kStruct; }
  std::uint64_t elements() const { return type->elements(); }
  std::uint64_t blocks() const { return type->count(); }
  std::uint32_t child(std::uint64_t block) const {
    return children[type->kind() == TypeDesc::Kind::kStruct ? block : 0];
  }
  std::uint64_t block_start(std::uint64_t block) const {
    return ends == nullptr ? block * block_elements(block) : (block == 0 ? 0 : ends[block - 1]);
  }
  std::uint64_t block_elements(std::uint64_t block) const {
    return type->blocklength(block) * type->child(block).elements();
  }

  struct Place {
    std::uint64_t block;
    std::uint64_t repetition;  // of the child in its block
    std::uint64_t element;     // of the child
  };
  /// Where element `k` (< elements()) is, of a node that is no run.
  Place find(std::uint64_t k) const;
};

class TypedProgram {
 public:
  static Result<std::shared_ptr<const TypedProgram>> build(TypeDescPtr type);

  TypedProgram(const TypedProgram&) = delete;
  TypedProgram& operator=(const TypedProgram&) = delete;

  const TypeDesc& type() const { return *type_; }
  std::uint64_t elements() const { return type_->elements(); }  // of one element of the type
  /// Nodes that are no runs above one another.
  std::uint32_t depth() const { return nodes_.back().height; }

  /// Children before those that use them; the last is the root.
  const std::vector<TypedNode>& nodes() const { return nodes_; }
  const TypedNode& node(std::uint32_t index) const { return nodes_[index]; }
  std::uint32_t root() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }

  /// Bytes of memory held, the description's not counted.
  std::size_t memory_bytes() const;

 private:
  class Builder;
  TypedProgram() = default;

  TypeDescPtr type_;
  std::vector<TypedNode> nodes_;
  std::vector<std::uint32_t> children_;
  std::vector<std::uint64_t> ends_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_TYPED_TYPED_PROGRAM_H_
