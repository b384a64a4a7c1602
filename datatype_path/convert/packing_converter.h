// PackingConverter: packs local data in another architecture's representation, such as external32.
//
// It writes any piece of the packed stream, cut anywhere, in any order; it keeps nothing but its
// place, and allocates nothing once it is made.
#ifndef DATATYPE_PATH_CONVERT_PACKING_CONVERTER_H_
#define DATATYPE_PATH_CONVERT_PACKING_CONVERTER_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "datatype_path/convert/conversion_plan.h"
#include "datatype_path/typed/typed_cursor.h"

namespace mad {

class PackingConverter {
 public:
  /// From `count` elements of the plan's type at `base`; plan->remote_bytes(count) must be a value.
  /// Throws std::bad_alloc if there is no memory.
  PackingConverter(std::shared_ptr<const ConversionPlan> plan, const void* base,
                   std::uint64_t count);

  /// Packed bytes in the other representation.
  std::uint64_t total() const { return total_; }

  /// Writes bytes [offset, offset + size) of the stream to `out`.  kInvalidArgument, with nothing
  /// done, if they go beyond total(); kUnrepresentable if an integer does not fit its place there:
  /// the sentence names the first such element of the piece, each of them is written as 0.
  Status pack(std::uint64_t offset, void* out, std::size_t size);

 private:
  std::size_t pack_part(std::size_t byte, std::byte* out, std::size_t size);
  void convert(std::byte* out, std::uint64_t elements);

  std::shared_ptr<const ConversionPlan> plan_;
  std::uint64_t base_;
  std::uint64_t total_;
  TypedCursor cursor_;
  Status misfit_;  // the first of the piece
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_PACKING_CONVERTER_H_
