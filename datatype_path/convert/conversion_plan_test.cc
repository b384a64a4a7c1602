#include "datatype_path/convert/conversion_plan.h"

#include <cstdint>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

using B = BasicType;

std::shared_ptr<const TypedProgram> program(const TypeDescPtr& type) {
  return TypedProgram::build(type).value();
}

TypeDescPtr basic(B type) { return TypeDesc::basic(type).value(); }

TEST(ConversionPlan, sizes_are_the_other_sides) {
  const TypeDescPtr type =
      TypeDesc::structure({1, 3, 2}, {0, 8, 64},
                          {basic(B::kLong), basic(B::kDouble), basic(B::kWchar)})
          .value();
  const auto plan = ConversionPlan::make(program(type), Architecture::external32()).value();
  EXPECT_EQ(type->size(), 40u);
  EXPECT_EQ(plan->remote_bytes(1).value(), 4 + 24 + 4u);
  EXPECT_EQ(plan->remote_bytes(10).value(), 320u);
  EXPECT_EQ(plan->remote_bytes(0).value(), 0u);
  EXPECT_EQ(plan->remote_bytes(UINT64_MAX / 32).status().code(), StatusCode::kInvalidArgument);
}

TEST(ConversionPlan, says_what_the_others_bytes_are_here) {
  const Architecture remote = Architecture::local().with_size(B::kLong, 4);
  const TypeDescPtr type =
      TypeDesc::structure({2, 3}, {0, 16}, {basic(B::kLong), basic(B::kChar)}).value();
  const auto plan = ConversionPlan::make(program(type), remote).value();
  const std::uint64_t local = 2 * sizeof(long) + 3;
  EXPECT_EQ(plan->local_bytes(0), 0u);
  EXPECT_EQ(plan->local_bytes(4), sizeof(long));
  EXPECT_EQ(plan->local_bytes(7), sizeof(long) + 3) << "a part of an element";
  EXPECT_EQ(plan->local_bytes(9), 2 * sizeof(long) + 1);
  EXPECT_EQ(plan->local_bytes(11), local);
  EXPECT_EQ(plan->local_bytes(22000), 2000 * local);
  EXPECT_GT(plan->local_bytes(UINT64_MAX), plan->local_bytes(std::uint64_t{1} << 40));

  const auto wide =
      ConversionPlan::make(program(basic(B::kLong)), remote.with_size(B::kBool, 4)).value();
  EXPECT_EQ(wide->local_bytes(3), 3u);
  const auto bools =
      ConversionPlan::make(program(basic(B::kBool)), remote.with_size(B::kBool, 4)).value();
  EXPECT_EQ(bools->local_bytes(7), 1u) << "never all of an element of which a part is there";
  const TypeDescPtr none = TypeDesc::contiguous(0, basic(B::kLong)).value();
  EXPECT_EQ(ConversionPlan::make(program(none), remote).value()->local_bytes(5), 5u);
}

TEST(ConversionPlan, refuses_what_cannot_be) {
  const Architecture here = Architecture::local();
  const Architecture power = here.with_long_double(RealFormat::kDoubleDouble, 16);
  const TypeDescPtr type =
      TypeDesc::structure({1, 1}, {0, 16}, {basic(B::kLongDouble), basic(B::kInt)}).value();
  const auto refused = ConversionPlan::make(program(type), power);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kUnrepresentable);
  EXPECT_NE(std::string(refused.status().message()).find("long double"), std::string::npos);
  EXPECT_TRUE(ConversionPlan::make(program(basic(B::kDouble)), power).ok());

  EXPECT_FALSE(ConversionPlan::make(program(type), here.with_size(B::kInt, 3)).ok());
  const TypeDescPtr large = TypeDesc::contiguous(std::uint64_t{1} << 60, basic(B::kInt)).value();
  EXPECT_FALSE(ConversionPlan::make(program(large), here.with_size(B::kInt, 8)).ok());
}

}  // namespace
}  // namespace mad
