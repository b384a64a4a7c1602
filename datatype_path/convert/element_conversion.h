// ElementConversion: how elements of one kind go from one machine's representation to another's.
//
// Decided once for a kind and a pair of machines, then applied to rows of elements.  Same
// representation: copied, in one piece where both rows are dense.  Same but for the byte order:
// swapped.  Otherwise one by one: integers are extended by sign or zeros or narrowed, logicals
// become 0 or 1, reals go from format to format.
#ifndef DATATYPE_PATH_CONVERT_ELEMENT_CONVERSION_H_
#define DATATYPE_PATH_CONVERT_ELEMENT_CONVERSION_H_

#include <cstddef>
#include <cstdint>

#include "datatype_path/convert/architecture.h"
#include "datatype_path/convert/real_format.h"
#include "datatype_path/describe/basic_type.h"

namespace mad {

/// Elements `stride` bytes apart, the first at an address that may wrap around.
struct ElementRow {
  std::uint64_t address;
  std::int64_t stride;

  std::byte* at(std::uint64_t i) const {
    return reinterpret_cast<std::byte*>(address + i * static_cast<std::uint64_t>(stride));
  }
};

class ElementConversion {
 public:
  ElementConversion(const Architecture& from, const Architecture& to, BasicType type);

  /// False for long doubles that are double-doubles on one side only or in other byte orders.
  bool possible() const { return kernel_ != Kernel::kNone; }

  /// Converts `count` elements.  An integer that does not fit is written as 0; returns the index of
  /// the first of these, or `count`.
  std::uint64_t apply(const ElementRow& from, const ElementRow& to, std::uint64_t count) const;

 private:
  enum class Kernel : std::uint8_t { kNone, kCopy, kSwap, kSigned, kUnsigned, kLogical, kReal };

  bool convert_unit(const std::byte* in, std::byte* out) const;

  Kernel kernel_ = Kernel::kNone;
  std::uint8_t units_;  // of an element: 2 of complex numbers
  RealLayout from_;     // of a unit; the format is of reals only
  RealLayout to_;
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_ELEMENT_CONVERSION_H_
