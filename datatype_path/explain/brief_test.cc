#include <string>
#include <vector>

#include "datatype_path/explain/explain.h"
#include "gtest/gtest.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

TypeDescPtr basic(BasicType type) { return TypeDesc::basic(type).value(); }

TEST(Brief, names_constructors_counts_and_strides) {
  const TypeDescPtr byte = basic(BasicType::kByte), number = basic(BasicType::kDouble);
  EXPECT_EQ(brief(*number), "double");
  EXPECT_EQ(brief(*TypeDesc::bytes(64).value()), "byte[64]");
  EXPECT_EQ(brief(*TypeDesc::contiguous(7, number).value()), "contiguous(7 x double)");
  const TypeDescPtr rows = TypeDesc::vector(16384, 64, 128, byte).value();
  EXPECT_EQ(brief(*rows), "vector(16384 x 64 byte, stride 128)");
  EXPECT_EQ(brief(*TypeDesc::vector(3, 1, -8, number).value()), "vector(3 x double, stride -8)");
  EXPECT_EQ(brief(*TypeDesc::indexed({1, 2}, {0, 64}, rows).value()),
            "indexed(2 blocks of vector(16384 x 64 byte, stride 128))");
  EXPECT_EQ(brief(*TypeDesc::indexed_block(3, {0, 64}, number).value()), "indexed(2 x 3 double)");
  EXPECT_EQ(brief(*TypeDesc::resized(0, 32, number).value()), "resized(double, extent 32)");
}

TEST(Brief, struct_shows_its_first_blocks) {
  const TypeDescPtr byte = basic(BasicType::kByte), number = basic(BasicType::kDouble);
  EXPECT_EQ(brief(*TypeDesc::structure({1, 2}, {0, 8}, {number, byte}).value()),
            "struct(double, 2 byte)");
  EXPECT_EQ(
      brief(*TypeDesc::structure({1, 2, 3, 4}, {0, 8, 16, 24}, {number, byte, byte, byte}).value()),
      "struct(double, 2 byte, 3 byte, ... 4 blocks)");
}

TEST(Brief, types_without_blocks) {
  const TypeDescPtr byte = basic(BasicType::kByte);
  EXPECT_EQ(brief(*TypeDesc::structure({}, {}, {}).value()), "struct()");
  EXPECT_EQ(brief(*TypeDesc::indexed_block(0, {}, byte).value()), "indexed(0 blocks)");
  EXPECT_EQ(brief(*TypeDesc::indexed({}, {}, byte).value()), "indexed(0 blocks of byte)");
}

TEST(Brief, deep_and_wide_types_are_cut) {
  TypeDescPtr deep = basic(BasicType::kInt);
  for (int i = 0; i < 1000; ++i) deep = TypeDesc::contiguous(1, deep).value();
  EXPECT_EQ(brief(*deep),
            "contiguous(1 x contiguous(1 x contiguous(1 x contiguous(1 x contiguous(1 x ...)))))");
  TypeDescPtr wide = basic(BasicType::kInt);
  for (int i = 0; i < 10; ++i) {  // more would have more bytes than can be counted
    wide = TypeDesc::structure({9, 9, 9, 9}, {0, 8, 16, 24}, {wide, wide, wide, wide}).value();
  }
  EXPECT_EQ(brief(*wide).size(), 100u);
  EXPECT_EQ(brief(*wide).substr(97), "...");
}

TEST(Brief, any_type_is_one_short_line) {
  test::RandomTypes random(test::seed_from_environment(52));
  for (int n = 0; n < 500; ++n) {
    const test::RandomType made = random.next();
    const std::string text = brief(*made.type);
    ASSERT_FALSE(text.empty()) << made.text;
    ASSERT_LE(text.size(), 100u) << made.text;
    ASSERT_EQ(text.find('\n'), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace mad
