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

TEST(ConversionPlan, refuses_what_cannot_be) {
  const Architecture here = Architecture::local();
  const Architecture power = here.with_long_double(RealFormat::kDoubleDouble, 16);
  const TypeDescPtr type =
      TypeDesc::structure({1, 1}, {0, 16}, {basic(B::kLongDouble), basic(B::kInt)}).value();
  const auto refused = ConversionPlan::make(program(type), power);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_NE(std::string(refused.status().message()).find("long double"), std::string::npos);
  EXPECT_TRUE(ConversionPlan::make(program(basic(B::kDouble)), power).ok());

  EXPECT_FALSE(ConversionPlan::make(program(type), here.with_size(B::kInt, 3)).ok());
  const TypeDescPtr large = TypeDesc::contiguous(std::uint64_t{1} << 60, basic(B::kInt)).value();
  EXPECT_FALSE(ConversionPlan::make(program(large), here.with_size(B::kInt, 8)).ok());
}

}  // namespace
}  // namespace mad
