#include "datatype_path/convert/architecture.h"

#include <algorithm>
#include <cfloat>
#include <string>

namespace mad {
namespace {

using B = BasicType;

constexpr std::byte kVersion{1};

// A kind whose size is that of another kind, `times` over.
struct Follower {
  BasicType type;
  BasicType leader;
  std::uint8_t times;
};
constexpr std::array<Follower, 8> kFollowers = {
    {{B::kUnsignedShort, B::kShort, 1},
     {B::kUnsigned, B::kInt, 1},
     {B::kUnsignedLong, B::kLong, 1},
     {B::kUnsignedLongLong, B::kLongLong, 1},
     {B::kLongDoubleComplex, B::kLongDouble, 2},
     {B::kCxxLongDoubleComplex, B::kLongDouble, 2},
     {B::kFortranComplex, B::kReal, 2},
     {B::kFortranDoubleComplex, B::kDoublePrecision, 2}}};

constexpr RealFormat local_long_double() {
  switch (LDBL_MANT_DIG) {
    case 53:
      return RealFormat::kBinary64;
    case 64:
      return RealFormat::kX87;
    case 113:
      return RealFormat::kBinary128;
    default:
      return RealFormat::kDoubleDouble;
  }
}

bool is_long_double(BasicType type) {
  return type == B::kLongDouble || type == B::kLongDoubleComplex ||
         type == B::kCxxLongDoubleComplex;
}

bool possible_long_double(RealFormat format, std::uint8_t bytes) {
  switch (format) {
    case RealFormat::kBinary64:
      return bytes == 8;
    case RealFormat::kX87:
      return bytes == 12 || bytes == 16;
    case RealFormat::kBinary128:
    case RealFormat::kDoubleDouble:
      return bytes == 16;
    case RealFormat::kBinary32:
      break;
  }
  return false;
}

bool possible_size(BasicFamily family, std::uint8_t bytes) {
  if (family == BasicFamily::kReal) return bytes == 4 || bytes == 8 || bytes == 16;
  return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

}  // namespace

Architecture Architecture::local() {
  Architecture out;
  out.order_ = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? ByteOrder::kBig : ByteOrder::kLittle;
  out.long_double_ = local_long_double();
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    out.sizes_[i] = info(static_cast<BasicType>(i)).size;
  }
  return out;
}

Architecture Architecture::external32() {
  Architecture out = local().with(ByteOrder::kBig).with_long_double(RealFormat::kBinary128, 16);
  for (const BasicType type : {B::kBool, B::kCxxBool}) out.set_size(type, 1);
  for (const BasicType type : {B::kWchar, B::kShort}) out.set_size(type, 2);
  for (const BasicType type : {B::kInt, B::kLong, B::kLogical, B::kInteger, B::kReal}) {
    out.set_size(type, 4);
  }
  for (const BasicType type :
       {B::kLongLong, B::kAint, B::kOffset, B::kCount, B::kDoublePrecision}) {
    out.set_size(type, 8);
  }
  return out;
}

void Architecture::set_size(BasicType type, std::uint8_t bytes) {
  sizes_[static_cast<std::size_t>(type)] = bytes;
  for (const Follower& f : kFollowers) {
    if (f.leader != type) continue;
    sizes_[static_cast<std::size_t>(f.type)] = static_cast<std::uint8_t>(f.times * bytes);
  }
}

Architecture Architecture::with(ByteOrder order) const {
  Architecture out = *this;
  out.order_ = order;
  return out;
}

Architecture Architecture::with_size(BasicType type, std::uint8_t bytes) const {
  Architecture out = *this;
  out.set_size(type, bytes);
  return out;
}

Architecture Architecture::with_long_double(RealFormat format, std::uint8_t bytes) const {
  Architecture out = *this;
  out.long_double_ = format;
  out.set_size(B::kLongDouble, bytes);
  return out;
}

RealFormat Architecture::real_format(BasicType type) const {
  if (is_long_double(type)) return long_double_;
  const bool complex = info(type).family == BasicFamily::kComplex;
  switch (size_of(type) / (complex ? 2 : 1)) {
    case 4:
      return RealFormat::kBinary32;
    case 8:
      return RealFormat::kBinary64;
    default:
      return RealFormat::kBinary128;
  }
}

Status Architecture::check() const {
  // What the variable kinds' sizes make of this machine's is all there is.
  Architecture sizes = local();
  for (const BasicType type : kVariable) sizes.set_size(type, size_of(type));
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    const BasicInfo& kind = info(static_cast<BasicType>(i));
    const bool variable =
        std::find(kVariable.begin(), kVariable.end(), kind.type) != kVariable.end();
    const bool possible =
        !variable || (kind.type == B::kLongDouble ? possible_long_double(long_double_, sizes_[i])
                                                  : possible_size(kind.family, sizes_[i]));
    if (possible && sizes_[i] == sizes.sizes_[i]) continue;
    return Status(StatusCode::kInvalidArgument, "architecture: a " + std::string(kind.name) +
                                                    " of " + std::to_string(sizes_[i]) +
                                                    " bytes is not known");
  }
  return {};
}

Architecture::Encoded Architecture::encode() const {
  Encoded out{};
  out[0] = kVersion;
  out[1] = static_cast<std::byte>(order_);
  out[2] = static_cast<std::byte>(long_double_);
  for (std::size_t i = 0; i < kVariable.size(); ++i) {
    out[3 + i] = static_cast<std::byte>(size_of(kVariable[i]));
  }
  return out;
}

Result<Architecture> Architecture::decode(const std::byte* bytes, std::size_t size) {
  const auto number = [bytes](std::size_t i) { return std::to_integer<std::uint8_t>(bytes[i]); };
  if (size == 0) return Status(StatusCode::kProtocol, "architecture: there are no bytes");
  if (bytes[0] != kVersion) {
    return Status(StatusCode::kVersion,
                  "architecture: version " + std::to_string(number(0)) + " is not known");
  }
  if (size != kEncodedBytes || number(1) > 1 ||
      number(2) > static_cast<std::uint8_t>(RealFormat::kDoubleDouble)) {
    return Status(StatusCode::kProtocol,
                  "architecture: not " + std::to_string(kEncodedBytes) +
                      " bytes with a known byte order and long double format");
  }
  Architecture out = local();
  out.order_ = static_cast<ByteOrder>(number(1));
  out.long_double_ = static_cast<RealFormat>(number(2));
  for (std::size_t i = 0; i < kVariable.size(); ++i) out.set_size(kVariable[i], number(3 + i));
  const Status possible = out.check();
  if (!possible.ok()) return Status(StatusCode::kProtocol, std::string(possible.message()));
  return out;
}

}  // namespace mad
