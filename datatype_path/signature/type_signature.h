// TypeSignature: the signatures of a datatype, of any count of it and of any prefix.
//
// Made in time and memory proportional to the typed program: one hash a node, and one a block of
// structs.  Immutable; shared by threads.
#ifndef DATATYPE_PATH_SIGNATURE_TYPE_SIGNATURE_H_
#define DATATYPE_PATH_SIGNATURE_TYPE_SIGNATURE_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "datatype_path/signature/signature.h"
#include "datatype_path/typed/typed_program.h"

namespace mad {

class TypeSignature {
 public:
  static Result<std::shared_ptr<const TypeSignature>> build(
      std::shared_ptr<const TypedProgram> program);

  /// Of one element of the type.
  Signature one() const { return nodes_.back(); }
  /// Of `count` elements of the type; count * elements must fit 63 bits.
  Signature of(std::uint64_t count) const { return power(one(), count); }
  /// Of the first `elements` basic elements of any sufficient count of the type, which must have
  /// elements if `elements` is not 0.  O(depth * log elements), a binary search in irregular lists.
  Signature prefix(std::uint64_t elements) const;
  /// The kind of the first element of a type that has elements.
  BasicType first() const;

 private:
  explicit TypeSignature(std::shared_ptr<const TypedProgram> program)
      : program_(std::move(program)) {}
  Signature add(const TypedNode& node);
  Signature block_prefix(std::uint32_t index, std::uint64_t block) const;

  std::shared_ptr<const TypedProgram> program_;
  std::vector<Signature> nodes_;        // of each node
  std::vector<std::size_t> first_end_;  // of each node, in ends_
  std::vector<std::uint64_t> ends_;     // hashes up to each struct block's end
};

}  // namespace mad

#endif  // DATATYPE_PATH_SIGNATURE_TYPE_SIGNATURE_H_
