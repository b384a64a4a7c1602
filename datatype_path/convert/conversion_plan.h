// ConversionPlan: what there is to know to exchange data of one type with one other architecture.
//
// Sizes and offsets in the other's packed stream, and how each kind of element is converted either
// way.  Made once for a type and an architecture, in time and memory proportional to the type's
// description; immutable, shared by any number of converters and threads.
#ifndef DATATYPE_PATH_CONVERT_CONVERSION_PLAN_H_
#define DATATYPE_PATH_CONVERT_CONVERSION_PLAN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/convert/element_conversion.h"
#include "datatype_path/typed/byte_index.h"
#include "datatype_path/typed/typed_program.h"

namespace mad {

class ConversionPlan {
 public:
  /// kInvalidArgument if there is no such architecture, or the type's packed bytes there exceed
  /// 2^63 - 1; kUnrepresentable if it has long doubles that cannot be converted (double-doubles).
  static Result<std::shared_ptr<const ConversionPlan>> make(
      std::shared_ptr<const TypedProgram> program, const Architecture& remote);

  const TypedProgram& program() const { return remote_index_.program(); }
  /// Packed bytes on the other side.
  const ByteIndex& remote_index() const { return remote_index_; }
  std::uint64_t remote_size_of(BasicType type) const { return remote_index_.size_of(type); }
  /// Packed bytes of `count` elements of the type on the other side; kInvalidArgument if they
  /// exceed 2^63 - 1.
  Result<std::uint64_t> remote_bytes(std::uint64_t count) const;
  /// What the first `remote` packed bytes of the other side, of however many elements, are here:
  /// the bytes of the basic elements in them; of one that is there in part, not all of its bytes.
  std::uint64_t local_bytes(std::uint64_t remote) const;

  const ElementConversion& to_local(BasicType type) const {
    return to_local_[static_cast<std::size_t>(type)];
  }
  const ElementConversion& to_remote(BasicType type) const {
    return to_remote_[static_cast<std::size_t>(type)];
  }

  /// The error, kUnrepresentable, of basic element `element`, which does not fit `bytes` bytes on
  /// the receiving side.
  static Status misfit(std::uint64_t element, BasicType type, std::uint64_t bytes);

 private:
  ConversionPlan(ByteIndex local_index, ByteIndex remote_index, const Architecture& remote);

  ByteIndex local_index_;
  ByteIndex remote_index_;
  std::vector<ElementConversion> to_local_;  // of each kind
  std::vector<ElementConversion> to_remote_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_CONVERSION_PLAN_H_
