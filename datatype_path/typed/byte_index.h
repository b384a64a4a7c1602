// ByteIndex: where packed bytes are among the elements of a typed program, for any machine's sizes.
//
// The elements of a type are the same everywhere, their sizes are not.  An index is made for one
// program and one table of sizes; it has the bytes of each node and, over the blocks of structs,
// their prefix sums.  Other lists need none: their blocks all hold the same child.
#ifndef DATATYPE_PATH_TYPED_BYTE_INDEX_H_
#define DATATYPE_PATH_TYPED_BYTE_INDEX_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "datatype_path/typed/typed_program.h"

namespace mad {

/// Bytes of an element of each kind; none is 0.
using BasicSizes = std::array<std::uint8_t, kBasicTypes>;

class ByteIndex {
 public:
  /// kInvalidArgument if one element of the type has more than 2^63 - 1 bytes.
  static Result<ByteIndex> build(std::shared_ptr<const TypedProgram> program,
                                 const BasicSizes& sizes);

  const TypedProgram& program() const { return *program_; }
  std::uint64_t size_of(BasicType type) const { return sizes_[static_cast<std::size_t>(type)]; }
  /// Packed bytes of one element of the type.
  std::uint64_t bytes() const { return bytes_.back(); }

  struct Place {
    std::uint64_t element;  // basic element, from the data's first
    std::uint64_t byte;     // of that element
  };
  /// The element that holds packed byte `offset` of a type that has bytes; O(depth) plus a binary
  /// search in structs.
  Place find(std::uint64_t offset) const;
  /// Packed bytes before element `element` of a type that has elements; as find().
  std::uint64_t start(std::uint64_t element) const;

 private:
  ByteIndex(std::shared_ptr<const TypedProgram> program, const BasicSizes& sizes)
      : program_(std::move(program)), sizes_(sizes) {}
  bool add(const TypedNode& node);

  std::shared_ptr<const TypedProgram> program_;
  BasicSizes sizes_;
  std::vector<std::uint64_t> bytes_;    // of each node
  std::vector<std::size_t> first_end_;  // of each node, in ends_
  std::vector<std::uint64_t> ends_;     // bytes up to each struct block's end
};

}  // namespace mad

#endif  // DATATYPE_PATH_TYPED_BYTE_INDEX_H_
