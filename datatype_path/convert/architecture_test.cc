#include "datatype_path/convert/architecture.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"
#include "tests/support/foreign_data.h"

namespace mad {
namespace {

using B = BasicType;

TEST(Architecture, local_is_this_machine) {
  const Architecture here = Architecture::local();
  EXPECT_TRUE(here.check().ok());
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    const auto type = static_cast<BasicType>(i);
    EXPECT_EQ(here.size_of(type), size_of(type)) << info(type).name;
  }
  const std::uint16_t word = 1;
  std::uint8_t first = 0;
  std::memcpy(&first, &word, 1);
  EXPECT_EQ(here.order(), first == 1 ? ByteOrder::kLittle : ByteOrder::kBig);
  EXPECT_EQ(here.real_format(B::kLongDouble), RealFormat::kX87);
  EXPECT_EQ(here.real_format(B::kLongDoubleComplex), RealFormat::kX87);
}

TEST(Architecture, external32_has_mpis_sizes) {
  const Architecture e = Architecture::external32();
  EXPECT_TRUE(e.check().ok());
  EXPECT_EQ(e.order(), ByteOrder::kBig);
  struct Case {
    BasicType type;
    int bytes;
  };
  for (const Case& c : {Case{B::kByte, 1},
                        Case{B::kPacked, 1},
                        Case{B::kChar, 1},
                        Case{B::kWchar, 2},
                        Case{B::kShort, 2},
                        Case{B::kUnsignedShort, 2},
                        Case{B::kInt, 4},
                        Case{B::kUnsigned, 4},
                        Case{B::kLong, 4},
                        Case{B::kUnsignedLong, 4},
                        Case{B::kLongLong, 8},
                        Case{B::kUnsignedLongLong, 8},
                        Case{B::kFloat, 4},
                        Case{B::kDouble, 8},
                        Case{B::kLongDouble, 16},
                        Case{B::kBool, 1},
                        Case{B::kInt64, 8},
                        Case{B::kAint, 8},
                        Case{B::kOffset, 8},
                        Case{B::kCount, 8},
                        Case{B::kFloatComplex, 8},
                        Case{B::kLongDoubleComplex, 32},
                        Case{B::kCharacter, 1},
                        Case{B::kLogical, 4},
                        Case{B::kInteger, 4},
                        Case{B::kReal, 4},
                        Case{B::kDoublePrecision, 8},
                        Case{B::kFortranComplex, 8},
                        Case{B::kFortranDoubleComplex, 16},
                        Case{B::kInteger16, 16},
                        Case{B::kReal16, 16},
                        Case{B::kCxxBool, 1},
                        Case{B::kCxxLongDoubleComplex, 32}}) {
    EXPECT_EQ(e.size_of(c.type), c.bytes) << info(c.type).name;
  }
  EXPECT_EQ(e.real_format(B::kLongDouble), RealFormat::kBinary128);
  EXPECT_EQ(e.real_format(B::kFloatComplex), RealFormat::kBinary32);
}

TEST(Architecture, unsigned_and_complex_kinds_follow) {
  const Architecture a = Architecture::local()
                             .with_size(B::kLong, 4)
                             .with_long_double(RealFormat::kX87, 12)
                             .with_size(B::kReal, 8);
  EXPECT_EQ(a.size_of(B::kUnsignedLong), 4);
  EXPECT_EQ(a.size_of(B::kLongDoubleComplex), 24);
  EXPECT_EQ(a.size_of(B::kCxxLongDoubleComplex), 24);
  EXPECT_EQ(a.size_of(B::kFortranComplex), 16);
  EXPECT_EQ(a.real_format(B::kFortranComplex), RealFormat::kBinary64);
  EXPECT_NE(a, Architecture::local());
}

TEST(Architecture, travels) {
  for (const test::Machine& machine : test::machines()) {
    const Architecture::Encoded bytes = machine.architecture.encode();
    const auto back = Architecture::decode(bytes.data(), bytes.size());
    ASSERT_TRUE(back.ok()) << machine.name;
    EXPECT_EQ(back.value(), machine.architecture) << machine.name;
  }
}

TEST(Architecture, what_nobody_sends_is_refused) {
  const Architecture::Encoded good = Architecture::local().encode();
  EXPECT_EQ(Architecture::decode(good.data(), 0).status().code(), StatusCode::kProtocol);
  EXPECT_EQ(Architecture::decode(good.data(), good.size() - 1).status().code(),
            StatusCode::kProtocol);
  const auto code_with = [&](std::size_t at, int value) {
    Architecture::Encoded bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    const auto decoded = Architecture::decode(bytes.data(), bytes.size());
    return decoded.ok() ? StatusCode::kOk : decoded.status().code();
  };
  EXPECT_EQ(code_with(0, 2), StatusCode::kVersion);
  EXPECT_EQ(code_with(1, 2), StatusCode::kProtocol);
  EXPECT_EQ(code_with(2, 5), StatusCode::kProtocol);
  EXPECT_EQ(code_with(2, 1), StatusCode::kProtocol);  // a binary64 of 16 bytes
  for (std::size_t i = 3; i < good.size(); ++i) {
    EXPECT_EQ(code_with(i, 0), StatusCode::kProtocol) << i;
    EXPECT_EQ(code_with(i, 3), StatusCode::kProtocol) << i;
    EXPECT_EQ(code_with(i, 255), StatusCode::kProtocol) << i;
  }
  // No bytes at all make it fail otherwise.
  test::RandomTypes random(test::seed_from_environment(102));
  for (int n = 0; n < 20000; ++n) {
    Architecture::Encoded bytes = good;
    for (int i = 0; i < 3; ++i) {
      bytes[static_cast<std::size_t>(random.between(0, good.size() - 1))] =
          static_cast<std::byte>(random.between(0, 17));
    }
    const auto decoded = Architecture::decode(bytes.data(), bytes.size());
    if (decoded.ok()) {
      EXPECT_EQ(decoded.value().encode(), bytes);
      EXPECT_TRUE(decoded.value().check().ok());
    }
  }
}

TEST(Architecture, sizes_that_cannot_be_are_named) {
  const Status status = Architecture::local().with_size(B::kLong, 5).check();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(status.message()).find("long"), std::string::npos);
  EXPECT_FALSE(Architecture::local().with_size(B::kInt32, 8).check().ok());
  EXPECT_FALSE(Architecture::local().with_size(B::kUnsignedLong, 4).check().ok());
  EXPECT_FALSE(Architecture::local().with_long_double(RealFormat::kX87, 8).check().ok());
  EXPECT_FALSE(Architecture::local().with_long_double(RealFormat::kBinary32, 4).check().ok());
  EXPECT_TRUE(Architecture::local().with_long_double(RealFormat::kDoubleDouble, 16).check().ok());
}

}  // namespace
}  // namespace mad
