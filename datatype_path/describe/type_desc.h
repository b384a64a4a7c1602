// TypeDesc: what a datatype is, as an immutable tree that knows nothing of MPI.
//
// A node says how its children are laid out; the order in which it says so is the packed order. All
// displacements, strides and bounds are bytes; lengths count children, which follow one another at
// the child's extent.  Counts may be 0, strides, bounds and extents negative, blocks may overlap.
//
// Bounds.  lb is the least lb and lb + extent the greatest upper bound of all pieces (children of a
// block of length 0 are no pieces); true_lb and true_extent are the same over bytes that exist.
// With no piece all of them are 0.  There is no alignment padding and a bound set by resized() does
// not stick to the types built on it, as in MPICH 4: a caller with other wishes says resized()
// again.
//
// A leaf says what its bytes are (BasicType), for signatures and conversion; the merged program
// sees only its size.
//
// Trees are shared: factories keep references to children, and an identical child used a thousand
// times is one node.  Everything computed fits int64, or the factory refuses.
#ifndef DATATYPE_PATH_DESCRIBE_TYPE_DESC_H_
#define DATATYPE_PATH_DESCRIBE_TYPE_DESC_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "datatype_path/describe/basic_type.h"
#include "datatype_path/describe/number_list.h"
#include "madlike/base/status.h"

namespace mad {

class TypeDesc;
using TypeDescPtr = std::shared_ptr<const TypeDesc>;

class TypeDesc {
  struct Key {};  // of the factories

 public:
  /// kBytes: a leaf, be it bytes() or basic().
  enum class Kind { kBytes, kContiguous, kVector, kIndexed, kIndexedBlock, kStruct, kResized };

  /// A run of `size` elements of BasicType::kByte, lb 0, extent `size`.
  static Result<TypeDescPtr> bytes(std::uint64_t size);
  /// One element as this machine has it, lb 0, extent its size.
  static Result<TypeDescPtr> basic(BasicType type);
  static Result<TypeDescPtr> contiguous(std::uint64_t count, TypeDescPtr child);
  /// `count` blocks of `blocklength` children; `stride` bytes from one block's start to the next.
  static Result<TypeDescPtr> vector(std::uint64_t count, std::uint64_t blocklength,
                                    std::int64_t stride, TypeDescPtr child);
  static Result<TypeDescPtr> indexed(std::vector<std::uint64_t> blocklengths,
                                     std::vector<std::int64_t> displacements, TypeDescPtr child);
  static Result<TypeDescPtr> indexed_block(std::uint64_t blocklength,
                                           std::vector<std::int64_t> displacements,
                                           TypeDescPtr child);
  /// `structure`, as `struct` is a word of the language.
  static Result<TypeDescPtr> structure(std::vector<std::uint64_t> blocklengths,
                                       std::vector<std::int64_t> displacements,
                                       std::vector<TypeDescPtr> children);
  static Result<TypeDescPtr> resized(std::int64_t lb, std::int64_t extent, TypeDescPtr child);

  TypeDesc(Key, Kind kind) : kind_(kind) {}
  ~TypeDesc();
  TypeDesc(const TypeDesc&) = delete;
  TypeDesc& operator=(const TypeDesc&) = delete;

  Kind kind() const { return kind_; }
  std::uint64_t size() const { return size_; }          // packed bytes
  std::uint64_t elements() const { return elements_; }  // basic elements; at most size()
  /// What the elements of a leaf are.
  BasicType basic_type() const { return basic_type_; }
  std::int64_t lb() const { return lb_; }
  std::int64_t extent() const { return extent_; }
  std::int64_t ub() const { return lb_ + extent_; }
  std::int64_t true_lb() const { return true_lb_; }
  std::int64_t true_extent() const { return true_extent_; }
  /// The packed bytes, of which there are some, follow one another in memory, from true_lb() on.
  bool is_run() const { return is_run_; }

  /// Number of blocks (contiguous, vector, indexed, indexed_block, struct), else 1.
  std::uint64_t count() const { return count_; }
  /// Length of block `i`: 1 for contiguous and resized.
  std::uint64_t blocklength(std::size_t i) const {
    return blocklengths_.empty() ? blocklength_ : blocklengths_[i];
  }
  /// Start of block `i` (contiguous: of child `i`).
  std::int64_t displacement(std::size_t i) const {
    return displacements_.empty() ? static_cast<std::int64_t>(i) * stride_ : displacements_[i];
  }
  /// Writes displacement(i) + `added` of all blocks of a list (indexed, indexed_block, struct).
  void copy_displacements(std::int64_t added, std::int64_t* out) const {
    displacements_.copy(added, out);
  }
  std::int64_t stride() const { return stride_; }  // contiguous, vector
  /// The child of block `i`; bytes have none.
  const TypeDesc& child(std::size_t i = 0) const {
    return *children_[kind_ == Kind::kStruct ? i : 0];
  }
  /// The distinct places that hold children: one for each block of a struct, else at most one.
  const std::vector<TypeDescPtr>& children() const { return children_; }

 private:
  class Bounds;
  static Result<TypeDescPtr> finish(const std::shared_ptr<TypeDesc>& node, const Bounds& bounds);
  bool blocks_are_run() const;

  Kind kind_;
  BasicType basic_type_ = BasicType::kByte;
  std::uint64_t count_ = 1;
  std::uint64_t blocklength_ = 1;
  std::int64_t stride_ = 0;
  NumberList<std::uint64_t> blocklengths_;
  NumberList<std::int64_t> displacements_;
  std::vector<TypeDescPtr> children_;

  std::uint64_t size_ = 0;
  std::uint64_t elements_ = 0;
  std::int64_t lb_ = 0;
  std::int64_t extent_ = 0;
  std::int64_t true_lb_ = 0;
  std::int64_t true_extent_ = 0;
  bool is_run_ = false;
};

}  // namespace mad

#endif  // DATATYPE_PATH_DESCRIBE_TYPE_DESC_H_
