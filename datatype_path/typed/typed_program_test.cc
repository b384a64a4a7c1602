#include "datatype_path/typed/typed_program.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

using B = BasicType;

TypeDescPtr basic(B type) { return TypeDesc::basic(type).value(); }

std::shared_ptr<const TypedProgram> build(const TypeDescPtr& type) {
  return TypedProgram::build(type).value();
}

void expect_run(const TypeDescPtr& type, B kind, std::int64_t offset, std::uint64_t count,
                std::int64_t stride) {
  const auto program = build(type);
  const auto& run = program->node(program->root()).run;
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(program->depth(), 0u);
  EXPECT_EQ(run->type, kind);
  EXPECT_EQ(run->offset, offset);
  EXPECT_EQ(run->count, count);
  EXPECT_EQ(run->stride, stride);
}

TEST(TypedProgram, what_is_one_run_is_known_as_one) {
  const TypeDescPtr number = basic(B::kDouble);
  expect_run(number, B::kDouble, 0, 1, 8);
  expect_run(TypeDesc::bytes(12).value(), B::kByte, 0, 12, 1);
  const TypeDescPtr row = TypeDesc::contiguous(5, number).value();
  expect_run(row, B::kDouble, 0, 5, 8);
  expect_run(TypeDesc::contiguous(3, row).value(), B::kDouble, 0, 15, 8);
  const TypeDescPtr column = TypeDesc::vector(4, 1, -80, number).value();
  expect_run(column, B::kDouble, 0, 4, -80);
  expect_run(TypeDesc::vector(4, 2, 16, number).value(), B::kDouble, 0, 8, 8);
  const TypeDescPtr sparse = TypeDesc::resized(0, 24, number).value();
  expect_run(TypeDesc::contiguous(5, sparse).value(), B::kDouble, 0, 5, 24);
  expect_run(TypeDesc::indexed({0, 3, 0}, {8, 40, 16}, sparse).value(), B::kDouble, 40, 3, 24);
  expect_run(TypeDesc::structure({0, 1}, {8, -16}, {basic(B::kInt), row}).value(), B::kDouble, -16,
             5, 8);
}

TEST(TypedProgram, nodes_find_their_elements) {
  const TypeDescPtr pair =
      TypeDesc::structure({1, 2}, {0, 8}, {basic(B::kInt), basic(B::kDouble)}).value();
  const auto program = build(TypeDesc::indexed({2, 0, 3}, {0, 7, 100}, pair).value());
  const TypedNode& root = program->node(program->root());
  EXPECT_FALSE(root.run.has_value());
  EXPECT_EQ(program->depth(), 2u);
  EXPECT_EQ(program->elements(), 15u);
  const TypedNode::Place place = root.find(10);
  EXPECT_EQ(place.block, 2u);
  EXPECT_EQ(place.repetition, 1u);
  EXPECT_EQ(place.element, 1u);
  EXPECT_EQ(program->node(root.child(2)).find(2).repetition, 1u);
}

TEST(TypedProgram, of_nothing) {
  for (const TypeDescPtr& type :
       {TypeDesc::bytes(0).value(), TypeDesc::contiguous(0, basic(B::kInt)).value(),
        TypeDesc::structure({}, {}, {}).value(),
        TypeDesc::indexed({0, 0}, {0, 0}, basic(B::kInt)).value()}) {
    const auto program = build(type);
    EXPECT_EQ(program->elements(), 0u);
    EXPECT_EQ(program->depth(), 0u);
  }
  EXPECT_EQ(TypedProgram::build(nullptr).status().code(), StatusCode::kInvalidArgument);
}

TEST(TypedProgram, takes_memory_for_the_description_only) {
  TypeDescPtr type =
      TypeDesc::structure({1, 1}, {0, 8}, {basic(B::kInt), basic(B::kDouble)}).value();
  for (int level = 0; level < 40; ++level) {  // 2^41 elements of 41 nodes
    type = TypeDesc::structure({1, 1}, {0, type->extent() + 8}, {type, type}).value();
  }
  const auto program = build(type);
  EXPECT_EQ(program->elements(), std::uint64_t{1} << 41);
  EXPECT_LE(program->nodes().size(), 44u);
  EXPECT_LE(program->memory_bytes(), 44 * 128u);
  constexpr std::size_t kBlocks = 100000;
  const std::vector<std::int64_t> places(kBlocks, 3);
  const auto uniform = build(TypeDesc::indexed_block(2, places, basic(B::kInt)).value());
  EXPECT_LE(uniform->memory_bytes(), 1000u);
}

TEST(TypedProgram, of_many_levels) {
  TypeDescPtr type = basic(B::kInt);
  for (int level = 0; level < 100000; ++level) {
    type = TypeDesc::structure({1, 1}, {0, 8}, {basic(B::kChar), type}).value();
  }
  const auto program = build(type);
  EXPECT_EQ(program->elements(), 100001u);
  EXPECT_EQ(program->depth(), 100000u);
}

}  // namespace
}  // namespace mad
