#include "datatype_path/convert/conversion_plans.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/foreign_data.h"

namespace mad {
namespace {

TypeDescPtr ints(std::uint64_t count) {
  return TypeDesc::contiguous(count, TypeDesc::basic(BasicType::kInt).value()).value();
}

TEST(ConversionPlans, are_made_once_for_a_type_and_a_machine) {
  const std::vector<test::Machine> machines = test::machines();
  ConversionPlans plans;
  const TypeDescPtr type = ints(3), alike = ints(3);
  const auto plan = plans.find(type, machines[1].architecture).value();
  EXPECT_EQ(plans.find(type, machines[1].architecture).value(), plan);
  EXPECT_NE(plans.find(type, machines[2].architecture).value(), plan);
  EXPECT_NE(plans.find(alike, machines[1].architecture).value(), plan);
  EXPECT_EQ(plans.size(), 3u);
}

TEST(ConversionPlans, are_bounded_and_those_in_use_stay) {
  const Architecture remote = Architecture::external32();
  ConversionPlans plans;
  std::vector<TypeDescPtr> types;
  for (std::uint64_t i = 0; i < 3 * ConversionPlans::kMost; ++i) types.push_back(ints(i + 1));
  const auto first = plans.find(types.front(), remote).value();
  for (const TypeDescPtr& type : types) {
    EXPECT_EQ(&plans.find(type, remote).value()->program().type(), type.get());
    EXPECT_EQ(plans.find(types.front(), remote).value(), first);
  }
  EXPECT_EQ(plans.size(), ConversionPlans::kMost);
}

TEST(ConversionPlans, keep_what_names_them_alive) {
  const Architecture remote = Architecture::external32();
  ConversionPlans plans;
  TypeDescPtr type = ints(5);
  const std::weak_ptr<const TypeDesc> seen = type;
  ASSERT_TRUE(plans.find(type, remote).ok());
  type.reset();
  EXPECT_FALSE(seen.expired());
}

TEST(ConversionPlans, that_cannot_be_are_not_kept) {
  const Architecture power = Architecture::local().with_long_double(RealFormat::kDoubleDouble, 16);
  ConversionPlans plans;
  const auto type = TypeDesc::basic(BasicType::kLongDouble).value();
  EXPECT_EQ(plans.find(type, power).status().code(), StatusCode::kUnrepresentable);
  EXPECT_EQ(plans.size(), 0u);
}

}  // namespace
}  // namespace mad
