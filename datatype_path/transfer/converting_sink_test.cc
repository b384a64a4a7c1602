#include "datatype_path/transfer/converting_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/support/foreign_sample.h"

namespace mad {
namespace {

using test::ForeignSample;
using test::RandomTypes;
using test::seed_from_environment;

test::Arena empty_memory(const ForeignSample& sample) {
  return test::Arena(test::expand(*sample.made.type, sample.count), std::byte{0xa5});
}

void place(ConvertingSink& sink, const test::Digits& stream, std::size_t at, std::size_t size) {
  sink.place(at, {const_cast<std::byte*>(stream.data()) + at, size});
}

TEST(ConvertingSink, fragments_of_every_size_make_the_oracles_memory) {
  RandomTypes random(seed_from_environment(491));
  for (const test::Machine& machine : test::machines()) {
    for (std::size_t longest = 1; longest < 200; longest = longest * 3 / 2 + 1) {
      ForeignSample sample(ForeignSample::Direction::kUnpack, machine, false, random);
      SCOPED_TRACE(sample.text());
      test::Arena memory = empty_memory(sample);
      ConvertingSink sink(sample.plan, memory.base(), sample.count);
      ASSERT_EQ(sink.total(), sample.stream.size());
      for (std::size_t at = 0; at < sample.stream.size(); at += longest) {
        place(sink, sample.stream, at, std::min(longest, sample.stream.size() - at));
      }
      EXPECT_TRUE(sink.result().ok()) << sink.result().message();
      ASSERT_EQ(memory.bytes(), sample.memory.bytes());
    }
  }
}

TEST(ConvertingSink, nobody_writes_behind_it) {
  const auto type = TypedProgram::build(TypeDesc::basic(BasicType::kInt).value()).value();
  std::vector<int> memory(4);
  ConvertingSink sink(ConversionPlan::make(type, Architecture::external32()).value(), memory.data(),
                      memory.size());
  Segment run;
  EXPECT_EQ(sink.runs(0, 16, &run, 1), 0u);
}

TEST(ConvertingSink, what_is_beyond_it_is_dropped_and_the_first_misfit_is_told) {
  const Architecture wide = Architecture::local().with_size(BasicType::kInt, 8);
  const auto type = TypedProgram::build(TypeDesc::basic(BasicType::kInt).value()).value();
  std::vector<int> memory(2, 5);
  ConvertingSink sink(ConversionPlan::make(type, wide).value(), memory.data(), 2);
  const std::vector<std::int64_t> sent = {std::int64_t{1} << 40, -7, 3};
  auto* const bytes = const_cast<std::int64_t*>(sent.data());
  sink.place(0, {bytes, 24});
  sink.place(16, {bytes + 2, 8});
  EXPECT_EQ(sink.result().code(), StatusCode::kUnrepresentable);
  EXPECT_NE(sink.result().message().find("element 0 "), std::string::npos);
  EXPECT_EQ(memory, (std::vector<int>{0, -7}));
}

}  // namespace
}  // namespace mad
