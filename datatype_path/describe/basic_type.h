// BasicType: the kinds of basic elements that MPI knows, and what each is on this machine.
//
// A kind is what a signature compares and what conversion between machines asks about.  C and
// Fortran kinds stay apart even where the machine represents them alike, as MPI keeps them apart.
// A complex number is one element.  MPI's pair types (MPI_FLOAT_INT, MPI_2INTEGER, ...) are structs
// of two elements and have no kind of their own.
//
// The numbers go over the wire inside of signatures: they never change, new kinds are added at the
// end.
#ifndef DATATYPE_PATH_DESCRIBE_BASIC_TYPE_H_
#define DATATYPE_PATH_DESCRIBE_BASIC_TYPE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mad {

enum class BasicType : std::uint8_t {
  kByte = 0,  // uninterpreted
  kPacked,    // MPI_PACKED: a byte of a stream of any types
  kChar,      // a printable character
  kSignedChar,
  kUnsignedChar,
  kWchar,
  kShort,
  kUnsignedShort,
  kInt,
  kUnsigned,
  kLong,
  kUnsignedLong,
  kLongLong,
  kUnsignedLongLong,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kBool,  // C's _Bool
  kFloat,
  kDouble,
  kLongDouble,
  kFloatComplex,  // C's
  kDoubleComplex,
  kLongDoubleComplex,
  kAint,
  kOffset,
  kCount,
  kCharacter,  // Fortran's from here on, of default kind
  kLogical,
  kInteger,
  kReal,
  kDoublePrecision,
  kFortranComplex,
  kFortranDoubleComplex,
  kInteger1,  // Fortran's of a size
  kInteger2,
  kInteger4,
  kInteger8,
  kInteger16,
  kReal4,
  kReal8,
  kReal16,
  kComplex8,
  kComplex16,
  kComplex32,
  kCxxBool,  // C++'s from here on
  kCxxFloatComplex,
  kCxxDoubleComplex,
  kCxxLongDoubleComplex,
};
constexpr std::size_t kBasicTypes = 54;

/// What the bytes of an element mean.
enum class BasicFamily : std::uint8_t {
  kOpaque,    // nothing that another machine would see otherwise: bytes, characters of one byte
  kSigned,    // two's complement
  kUnsigned,  // wide characters too
  kLogical,   // 0 is false, all else true
  kReal,
  kComplex,  // two reals
};

struct BasicInfo {
  BasicType type;
  BasicFamily family;
  std::uint8_t size;       // bytes
  std::uint8_t alignment;  // bytes
  std::string_view name;   // as C or Fortran has it
};

namespace basic_type_internal {

template <typename T>
constexpr BasicInfo c(BasicType type, BasicFamily family, std::string_view name) {
  return {type, family, sizeof(T), alignof(T), name};
}

using F = BasicFamily;
using T = BasicType;

// Fortran's default kinds are gfortran's; a program compiled with others (-fdefault-integer-8)
// describes its data by the types of a size.  MPI_Aint is an address, MPI_Offset and MPI_Count are
// 64 bits wide.
inline constexpr std::array<BasicInfo, kBasicTypes> kTable = {{
    {T::kByte, F::kOpaque, 1, 1, "byte"},
    {T::kPacked, F::kOpaque, 1, 1, "packed"},
    c<char>(T::kChar, F::kOpaque, "char"),
    c<signed char>(T::kSignedChar, F::kSigned, "signed char"),
    c<unsigned char>(T::kUnsignedChar, F::kUnsigned, "unsigned char"),
    c<wchar_t>(T::kWchar, F::kUnsigned, "wchar_t"),
    c<short>(T::kShort, F::kSigned, "short"),
    c<unsigned short>(T::kUnsignedShort, F::kUnsigned, "unsigned short"),
    c<int>(T::kInt, F::kSigned, "int"),
    c<unsigned>(T::kUnsigned, F::kUnsigned, "unsigned"),
    c<long>(T::kLong, F::kSigned, "long"),
    c<unsigned long>(T::kUnsignedLong, F::kUnsigned, "unsigned long"),
    c<long long>(T::kLongLong, F::kSigned, "long long"),
    c<unsigned long long>(T::kUnsignedLongLong, F::kUnsigned, "unsigned long long"),
    c<std::int8_t>(T::kInt8, F::kSigned, "int8_t"),
    c<std::int16_t>(T::kInt16, F::kSigned, "int16_t"),
    c<std::int32_t>(T::kInt32, F::kSigned, "int32_t"),
    c<std::int64_t>(T::kInt64, F::kSigned, "int64_t"),
    c<std::uint8_t>(T::kUint8, F::kUnsigned, "uint8_t"),
    c<std::uint16_t>(T::kUint16, F::kUnsigned, "uint16_t"),
    c<std::uint32_t>(T::kUint32, F::kUnsigned, "uint32_t"),
    c<std::uint64_t>(T::kUint64, F::kUnsigned, "uint64_t"),
    c<bool>(T::kBool, F::kLogical, "_Bool"),
    c<float>(T::kFloat, F::kReal, "float"),
    c<double>(T::kDouble, F::kReal, "double"),
    c<long double>(T::kLongDouble, F::kReal, "long double"),
    c<float[2]>(T::kFloatComplex, F::kComplex, "float _Complex"),
    c<double[2]>(T::kDoubleComplex, F::kComplex, "double _Complex"),
    c<long double[2]>(T::kLongDoubleComplex, F::kComplex, "long double _Complex"),
    c<std::ptrdiff_t>(T::kAint, F::kSigned, "MPI_Aint"),
    c<std::int64_t>(T::kOffset, F::kSigned, "MPI_Offset"),
    c<std::int64_t>(T::kCount, F::kSigned, "MPI_Count"),
    {T::kCharacter, F::kOpaque, 1, 1, "CHARACTER"},
    {T::kLogical, F::kLogical, 4, 4, "LOGICAL"},
    {T::kInteger, F::kSigned, 4, 4, "INTEGER"},
    {T::kReal, F::kReal, 4, 4, "REAL"},
    {T::kDoublePrecision, F::kReal, 8, 8, "DOUBLE PRECISION"},
    {T::kFortranComplex, F::kComplex, 8, 4, "COMPLEX"},
    {T::kFortranDoubleComplex, F::kComplex, 16, 8, "DOUBLE COMPLEX"},
    {T::kInteger1, F::kSigned, 1, 1, "INTEGER*1"},
    {T::kInteger2, F::kSigned, 2, 2, "INTEGER*2"},
    {T::kInteger4, F::kSigned, 4, 4, "INTEGER*4"},
    {T::kInteger8, F::kSigned, 8, 8, "INTEGER*8"},
    {T::kInteger16, F::kSigned, 16, 16, "INTEGER*16"},
    {T::kReal4, F::kReal, 4, 4, "REAL*4"},
    {T::kReal8, F::kReal, 8, 8, "REAL*8"},
    {T::kReal16, F::kReal, 16, 16, "REAL*16"},
    {T::kComplex8, F::kComplex, 8, 4, "COMPLEX*8"},
    {T::kComplex16, F::kComplex, 16, 8, "COMPLEX*16"},
    {T::kComplex32, F::kComplex, 32, 16, "COMPLEX*32"},
    c<bool>(T::kCxxBool, F::kLogical, "bool"),
    c<float[2]>(T::kCxxFloatComplex, F::kComplex, "std::complex<float>"),
    c<double[2]>(T::kCxxDoubleComplex, F::kComplex, "std::complex<double>"),
    c<long double[2]>(T::kCxxLongDoubleComplex, F::kComplex, "std::complex<long double>"),
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    if (kTable[i].type != static_cast<BasicType>(i)) return false;
  }
  return true;
}
static_assert(in_order(), "the table has a line for each kind, in the enum's order");

}  // namespace basic_type_internal

constexpr const BasicInfo& info(BasicType type) {
  return basic_type_internal::kTable[static_cast<std::size_t>(type)];
}
constexpr std::uint64_t size_of(BasicType type) { return info(type).size; }

/// Bytes of the largest element of any kind.
constexpr std::size_t kMaxBasicBytes = 32;

}  // namespace mad

#endif  // DATATYPE_PATH_DESCRIBE_BASIC_TYPE_H_
