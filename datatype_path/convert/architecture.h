// Architecture: how a machine represents the basic types - what its peers must know to read its
// data.
//
// A value that travels in a few bytes.  Byte order is one for all kinds.  Integers are two's
// complement of 1, 2, 4 or 8 bytes; float is binary32 and double binary64 everywhere, long double
// is said.  Kinds whose size is in their name (int32_t, REAL*8) and characters are the same
// everywhere.
#ifndef DATATYPE_PATH_CONVERT_ARCHITECTURE_H_
#define DATATYPE_PATH_CONVERT_ARCHITECTURE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "datatype_path/convert/real_format.h"
#include "datatype_path/describe/basic_type.h"
#include "datatype_path/typed/byte_index.h"
#include "madlike/base/status.h"

namespace mad {

class Architecture {
 public:
  /// This machine.
  static Architecture local();
  /// MPI's external32 (MPI 4.0, 14.5.2): big endian, IEEE formats, long of 4 bytes, wide characters
  /// of 2, long double of 16.
  static Architecture external32();

  /// This one with another byte order, size or long double.  Sizes are said of the kinds in
  /// kVariable; unsigned and complex kinds follow.
  Architecture with(ByteOrder order) const;
  Architecture with_size(BasicType type, std::uint8_t bytes) const;
  Architecture with_long_double(RealFormat format, std::uint8_t bytes) const;

  ByteOrder order() const { return order_; }
  const BasicSizes& sizes() const { return sizes_; }
  std::uint8_t size_of(BasicType type) const { return sizes_[static_cast<std::size_t>(type)]; }
  /// The format of a real kind, or of a complex kind's parts.
  RealFormat real_format(BasicType type) const;

  /// kInvalidArgument if a size or the long double is none that there can be.
  Status check() const;

  bool operator==(const Architecture& o) const {
    return order_ == o.order_ && long_double_ == o.long_double_ && sizes_ == o.sizes_;
  }
  bool operator!=(const Architecture& o) const { return !(*this == o); }

  /// The kinds whose size differs from machine to machine.
  static constexpr std::array<BasicType, 15> kVariable = {
      BasicType::kWchar,           BasicType::kShort,   BasicType::kInt,       BasicType::kLong,
      BasicType::kLongLong,        BasicType::kBool,    BasicType::kAint,      BasicType::kOffset,
      BasicType::kCount,           BasicType::kLogical, BasicType::kInteger,   BasicType::kReal,
      BasicType::kDoublePrecision, BasicType::kCxxBool, BasicType::kLongDouble};

  /// For other processes: version (1), byte order, long double's RealFormat, and the sizes in
  /// kVariable's order, a byte each.
  static constexpr std::size_t kEncodedBytes = 3 + kVariable.size();
  using Encoded = std::array<std::byte, kEncodedBytes>;
  Encoded encode() const;
  /// kVersion or kProtocol if the bytes are none that encode() makes.
  static Result<Architecture> decode(const std::byte* bytes, std::size_t size);

 private:
  Architecture() = default;
  void set_size(BasicType type, std::uint8_t bytes);

  ByteOrder order_ = ByteOrder::kLittle;
  RealFormat long_double_ = RealFormat::kBinary64;
  BasicSizes sizes_{};
};

}  // namespace mad

#endif  // DATATYPE_PATH_CONVERT_ARCHITECTURE_H_
