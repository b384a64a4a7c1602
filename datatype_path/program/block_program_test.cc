#include "datatype_path/program/block_program.h"

#include <algorithm>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "datatype_path/describe/array_types.h"
#include "gtest/gtest.h"
#include "tests/support/copies.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using ProgramPtr = std::shared_ptr<const BlockProgram>;

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }
ProgramPtr compile(const TypeDescPtr& type) { return BlockProgram::compile(*type).value(); }
ProgramPtr compile(Result<TypeDescPtr> type) { return compile(type.value()); }

void expect_one_run(const ProgramPtr& program, std::uint64_t size) {
  EXPECT_TRUE(program->contiguous()) << program->to_string();
  EXPECT_TRUE(program->shape().is_one_run(1)) << program->to_string();
  EXPECT_EQ(program->size(), size);
  EXPECT_EQ(program->depth(), 1u);
  EXPECT_EQ(program->top().parts, 1u);
}

// The datatypes of RT-0306's programs: `blocks` blocks whose ends touch.
TEST(DenseLayouts, the_three_of_rt_0306_are_one_run) {
  for (const std::uint64_t blocks : {1u, 2u, 3u, 8u, 10u, 1000u}) {
    for (const std::uint64_t ints : {1u, 7u, 4096u}) {
      std::vector<std::uint64_t> lengths(blocks, ints);
      std::vector<std::int64_t> places;
      for (std::uint64_t i = 0; i < blocks; ++i) {
        places.push_back(static_cast<std::int64_t>(4 * i * ints));
      }
      const std::uint64_t size = 4 * blocks * ints;
      expect_one_run(compile(TypeDesc::indexed(lengths, places, bytes(4))), size);
      expect_one_run(compile(TypeDesc::indexed_block(ints, places, bytes(4))), size);
      expect_one_run(compile(TypeDesc::vector(blocks, ints, std::int64_t(4 * ints), bytes(4))),
                     size);
    }
  }
  // Particle: x, y, z, then an identity and a species, without padding.
  const TypeDescPtr particle =
      TypeDesc::structure({3, 1, 1}, {0, 24, 28}, {bytes(8), bytes(4), bytes(4)}).value();
  expect_one_run(compile(particle), 32);
  expect_one_run(compile(TypeDesc::contiguous(100, particle)), 3200);
}

TEST(DenseLayouts, whole_arrays_are_one_run) {
  expect_one_run(compile(subarray({4, 5, 6}, {4, 5, 6}, {0, 0, 0}, ArrayOrder::kC, bytes(8))), 960);
  expect_one_run(
      compile(darray(1, 0, {{7, Distribution::kCyclic, 3, 1}}, ArrayOrder::kFortran, bytes(2))),
      14);
  // Whole rows of an array are a run, but elements of it are apart.
  const ProgramPtr rows = compile(subarray({4, 6}, {2, 6}, {1, 0}, ArrayOrder::kC, bytes(8)));
  EXPECT_TRUE(rows->shape().is_one_run(1));
  EXPECT_FALSE(rows->contiguous());
}

TEST(CanonicalForm, many_descriptions_of_one_layout_meet) {
  // 100 times 8 bytes, 24 apart.
  std::vector<std::int64_t> places;
  std::vector<std::uint64_t> twos(100, 2);
  std::vector<TypeDescPtr> children(100, bytes(4));
  for (int i = 0; i < 100; ++i) places.push_back(24 * i);
  const TypeDescPtr padded = TypeDesc::resized(0, 24, bytes(8)).value();
  const ProgramPtr vector =
      compile(TypeDesc::resized(0, 4000, TypeDesc::vector(100, 2, 24, bytes(4)).value()));
  EXPECT_EQ(vector->shape().runs, 100u);
  for (const TypeDescPtr& type :
       {TypeDesc::indexed(twos, places, bytes(4)).value(),
        TypeDesc::indexed_block(1, places, bytes(8)).value(),
        TypeDesc::structure(twos, places, children).value(),
        TypeDesc::contiguous(100, padded).value(), TypeDesc::vector(100, 1, 24, padded).value(),
        TypeDesc::vector(10, 10, 240, padded).value(),
        TypeDesc::contiguous(4, TypeDesc::contiguous(25, padded).value()).value(),
        TypeDesc::resized(-7, 10000, TypeDesc::vector(100, 8, 24, bytes(1)).value()).value(),
        subarray({100, 6}, {100, 2}, {0, 0}, ArrayOrder::kC, bytes(4)).value()}) {
    const ProgramPtr other = compile(TypeDesc::resized(0, 4000, type));
    EXPECT_TRUE(other->same_loops(*vector)) << other->to_string() << vector->to_string();
  }
}

TEST(CanonicalForm, elements_continue_the_loop_inside) {
  const ProgramPtr program =
      compile(TypeDesc::contiguous(5, TypeDesc::resized(0, 16, bytes(4)).value()));
  EXPECT_EQ(program->depth(), 1u);
  EXPECT_EQ(program->top().count, 5u);
  EXPECT_EQ(program->top().stride, 16);
  EXPECT_NE(program->to_string().find("\n  element: 5 x 4 B, 16 apart, of [0: 4 B], in 1 step\n"),
            std::string::npos)
      << program->to_string();
}

// Nests, periods and stretches on both sides of where the compiler writes them out or makes loops
// of them: other programs, the same bytes.
TEST(CanonicalForm, of_any_kind_copies_the_same_bytes) {
  test::RandomTypes random(306);
  std::vector<TypeDescPtr> types;
  for (const std::uint64_t rows : {8u, 9u}) {
    const TypeDescPtr nest = TypeDesc::vector(rows, 1, 24, bytes(8)).value();
    types.push_back(TypeDesc::vector(20, 1, 300, nest).value());
    types.push_back(TypeDesc::structure({1, 1}, {0, 300}, {nest, bytes(3)}).value());
  }
  for (const std::int64_t runs : {64, 65}) {  // twice the same list; a list, often
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < runs; ++i) places.push_back(16 * i * i);
    const TypeDescPtr list = TypeDesc::indexed_block(1, places, bytes(8)).value();
    types.push_back(TypeDesc::vector(5, 1, 100'000, list).value());
    for (std::int64_t i = 0; i < runs; ++i) places.push_back(100'000 + 16 * i * i);
    types.push_back(TypeDesc::indexed_block(1, places, bytes(8)).value());
  }
  for (const std::int64_t length : {8, 9, 12, 13}) {  // stretches, and stretches among others
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < length; ++i) places.push_back(24 * i);
    for (std::int64_t i = 0; i < length; ++i) places.push_back(900 + 32 * i);
    types.push_back(TypeDesc::indexed_block(1, places, bytes(8)).value());
    for (const std::int64_t place : {-900, -800, -600}) places.push_back(place);
    types.push_back(TypeDesc::indexed_block(1, places, bytes(8)).value());
  }
  for (const TypeDescPtr& type : types) {
    const TypeDescPtr element =
        TypeDesc::resized(type->true_lb(), type->true_extent() + 8, type).value();
    for (const std::uint64_t count : {1u, 3u}) test::expect_copied(*element, count, random);
  }
}

TEST(CanonicalForm, different_layouts_differ) {
  const ProgramPtr a = compile(TypeDesc::vector(10, 1, 24, bytes(8)));
  EXPECT_FALSE(a->same_loops(*compile(TypeDesc::vector(10, 1, 25, bytes(8)))));
  EXPECT_FALSE(a->same_loops(*compile(TypeDesc::vector(11, 1, 24, bytes(8)))));
  EXPECT_FALSE(a->same_loops(*compile(TypeDesc::vector(10, 1, 24, bytes(4)))));
  EXPECT_FALSE(a->same_loops(*compile(TypeDesc::vector(10, 1, -24, bytes(8)))));
}

TEST(BlockProgram, of_nothing_is_contiguous) {
  for (const TypeDescPtr& type :
       {bytes(0), TypeDesc::contiguous(0, bytes(8)).value(),
        TypeDesc::structure({}, {}, {}).value(), TypeDesc::vector(7, 0, 8, bytes(8)).value(),
        TypeDesc::vector(1000, 3, 8, bytes(0)).value(),
        TypeDesc::resized(-8, 100, bytes(0)).value()}) {
    const ProgramPtr program = compile(type);
    EXPECT_EQ(program->size(), 0u);
    EXPECT_EQ(program->depth(), 0u);
    EXPECT_TRUE(program->contiguous());
    EXPECT_EQ(program->shape().runs, 0u);
    EXPECT_EQ(program->extent(), type->extent());
  }
}

TEST(BlockProgram, may_have_any_product_of_counts_that_pack_nothing) {
  const std::uint64_t big = std::uint64_t{1} << 62;
  const TypeDescPtr wide = TypeDesc::vector(big / 8, 1, 4, bytes(2)).value();
  const TypeDescPtr none = TypeDesc::vector(0, big, 16, wide).value();
  EXPECT_EQ(compile(none)->size(), 0u);
  const ProgramPtr program =
      compile(TypeDesc::structure({1, 0, 3}, {0, 8, 16}, {none, wide, bytes(4)}));
  EXPECT_EQ(program->size(), 12u);
  EXPECT_EQ(program->shape().runs, 1u);
  EXPECT_EQ(program->shape().min_run, 12u);
}

TEST(BlockProgram, counts_beyond_32_bits) {
  const std::uint64_t many = std::uint64_t{1} << 40;
  const ProgramPtr program = compile(TypeDesc::vector(many, 3, 4096, bytes(8)));
  EXPECT_EQ(program->size(), many * 24);
  EXPECT_EQ(program->shape().runs, many);
  EXPECT_EQ(program->shape().histogram[4], many);
  EXPECT_EQ(program->shape().mean_run(), 24u);
  EXPECT_LT(program->memory_bytes(), 2048u);
  expect_one_run(compile(TypeDesc::contiguous(many, bytes(1 << 20))), many << 20);
}

TEST(BlockProgram, memory_is_that_of_the_description) {
  EXPECT_LT(compile(TypeDesc::vector(1'000'000, 1, 64, bytes(8)))->memory_bytes(), 2048u);
  test::RandomTypes random(1);
  constexpr std::uint64_t kBlocks = 1'000'000;
  std::vector<std::uint64_t> lengths;
  std::vector<std::int64_t> places;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    lengths.push_back(static_cast<std::uint64_t>(random.between(1, 9)));
    places.push_back(random.between(0, 1 << 30));
  }
  const ProgramPtr indexed = compile(TypeDesc::indexed(lengths, places, bytes(8)));
  const ProgramPtr uniform = compile(TypeDesc::indexed_block(3, places, bytes(8)));
  EXPECT_LE(indexed->memory_bytes(), 16 * kBlocks + 4096);
  EXPECT_LE(uniform->memory_bytes(), 8 * kBlocks + 4096);
  // A thousand of such a list refer to it.
  const ProgramPtr shared = compile(TypeDesc::vector(
      1000, 1, std::int64_t{1} << 31, TypeDesc::indexed(lengths, places, bytes(8)).value()));
  EXPECT_LE(shared->memory_bytes(), 16 * kBlocks + 4096);
}

TEST(BlockProgram, has_no_memory_to_spare) {
  test::RandomTypes random(test::seed_from_environment(82));
  for (int n = 0; n < 1000; ++n) {
    const test::RandomType made = random.next();
    const ProgramPtr program = compile(made.type);
    std::size_t bytes = sizeof(BlockProgram) + program->loops() * sizeof(LoopNode);
    for (std::uint32_t i = 0; i < program->loops(); ++i) {
      const LoopNode& node = program->node(i);
      bytes += node.parts * (node.narrow_offsets != nullptr ? 4 : 8);
      if (node.uniform == 0) bytes += node.parts * (node.narrow_ends != nullptr ? 4 : 8);
      if (!node.leaf()) bytes += node.parts * 4;
      bytes += (node.step_count + (node.row != nullptr ? 1 : 0)) * sizeof(TripsStep);
      bytes += node.piece_count * 4;
      if (node.chunks != nullptr) bytes += (node.parts - 1) / 64 * sizeof(RunChunk);
    }
    ASSERT_EQ(program->memory_bytes(), bytes) << made.text << program->to_string();
  }
}

TEST(BlockProgram, equal_strides_in_lists_are_loops) {
  std::vector<std::int64_t> places;
  for (int i = 0; i < 100'000; ++i) places.push_back(64 * i);
  for (int i = 0; i < 100'000; ++i) places.push_back(10'000'000 + 32 * i);
  const ProgramPtr program = compile(TypeDesc::indexed_block(2, places, bytes(8)));
  EXPECT_LT(program->memory_bytes(), 4096u) << program->to_string();
  EXPECT_EQ(program->shape().runs, 200'000u);
}

TEST(BlockProgram, of_many_levels_compiles_without_recursion) {
  // Every level adds a run beside the one inside, so that none of them folds.
  TypeDescPtr type = bytes(4);
  constexpr int kLevels = 20'000;
  for (int level = 0; level < kLevels; ++level) {
    type = TypeDesc::structure({1, 1}, {0, 8}, {bytes(4), type}).value();
  }
  const ProgramPtr program = compile(type);
  EXPECT_EQ(program->size(), 4u * (kLevels + 1));
  EXPECT_EQ(program->shape().runs, kLevels + 1u);
}

TEST(BlockProgram, of_doubling_levels_stays_small) {
  TypeDescPtr type = bytes(4);
  for (int level = 0; level < 40; ++level) {
    const std::int64_t apart = type->true_extent() + 4 + level % 3;
    type = TypeDesc::structure({1, 1}, {0, apart}, {type, type}).value();
  }
  const ProgramPtr program = compile(type);
  EXPECT_EQ(program->size(), std::uint64_t{4} << 40);
  EXPECT_LT(program->memory_bytes(), 20'000u);
}

// The shape of one element, counted in its own top loop and what hangs below.
void count_runs(const BlockProgram& program, const LoopNode& node, std::uint64_t times,
                Shape* sum) {
  for (std::uint64_t p = 0; p < node.parts; ++p) {
    if (node.child(p) != LoopNode::kRun) {
      count_runs(program, program.node(node.child(p)), times * program.node(node.child(p)).count,
                 sum);
      continue;
    }
    const std::uint64_t length = node.part_bytes(p);
    sum->bytes += times * length;
    sum->runs += times;
    sum->min_run = std::min(sum->min_run, length);
    sum->max_run = std::max(sum->max_run, length);
    std::size_t k = 0;
    while (k < 63 && (length >> (k + 1)) != 0) ++k;
    sum->histogram[k] += times;
  }
}

TEST(ShapeProperty, counts_what_the_program_has) {
  test::RandomTypes random(test::seed_from_environment(81));
  for (int n = 0; n < 2000; ++n) {
    const test::RandomType made = random.next();
    const ProgramPtr program = compile(made.type);
    const Shape& shape = program->shape();
    ASSERT_EQ(shape.bytes, made.type->size()) << made.text;
    ASSERT_EQ(shape.extent, made.type->extent());
    ASSERT_EQ(program->lb(), made.type->lb());
    ASSERT_EQ(program->true_lb(), made.type->true_lb());
    ASSERT_EQ(program->true_extent(), made.type->true_extent());
    if (shape.bytes == 0) continue;
    Shape counted;
    counted.min_run = UINT64_MAX;
    count_runs(*program, program->top(), program->top().count, &counted);
    ASSERT_EQ(shape.bytes, counted.bytes) << made.text << program->to_string();
    ASSERT_EQ(shape.runs, counted.runs) << made.text << program->to_string();
    ASSERT_EQ(shape.min_run, counted.min_run) << made.text;
    ASSERT_EQ(shape.max_run, counted.max_run) << made.text;
    ASSERT_EQ(shape.histogram, counted.histogram) << made.text;
    // Never more runs than basic elements, never fewer than can be.
    const test::TypeMap map = test::expand(*made.type, 1);
    ASSERT_LE(shape.runs, map.size()) << made.text;
    ASSERT_GE(shape.runs, test::joined(map).size()) << made.text;
    const bool dense = test::joined(test::expand(*made.type, 3)).size() == 1;
    ASSERT_EQ(program->contiguous(), dense) << made.text << program->to_string();
  }
}

// Counts what the compiler asks for, as long as it is there.
class CountedMemory : public std::pmr::memory_resource {
 public:
  CountedMemory() { std::pmr::set_default_resource(this); }
  ~CountedMemory() override { std::pmr::set_default_resource(nullptr); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    bytes_ += bytes;
    return std::pmr::new_delete_resource()->allocate(bytes, alignment);
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t bytes_ = 0;
};

// Blocks of a list that is short enough to be the body of the loop that repeats it.
TEST(CompilingMemory, of_many_blocks_is_not_one_body_each) {
  constexpr std::size_t kBlocks = 20'000;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < 64; ++i) inside.push_back(16 * i * i);
  const TypeDescPtr list = TypeDesc::indexed_block(1, inside, bytes(4)).value();
  for (const std::uint64_t lengths : {4, 97}) {
    std::vector<std::uint64_t> blocklengths;
    std::vector<std::int64_t> places;
    std::int64_t place = 0;
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      blocklengths.push_back(2 + i * i % lengths);
      places.push_back(place);
      place += static_cast<std::int64_t>(blocklengths.back()) * list->extent() + 7;
    }
    const TypeDescPtr one_child = TypeDesc::indexed(blocklengths, places, list).value();
    const std::vector<TypeDescPtr> children(kBlocks, list);
    const TypeDescPtr many = TypeDesc::structure(blocklengths, places, children).value();
    for (const TypeDescPtr& type : {one_child, many}) {
      const CountedMemory memory;
      ASSERT_EQ(compile(type)->size(), type->size());
      EXPECT_LT(memory.bytes(), kBlocks * 100) << lengths;
      EXPECT_GT(memory.bytes(), kBlocks * sizeof(std::int64_t));
    }
  }
}

// Children that are equal, each described anew: of a loop that is there already nothing stays.
TEST(CompilingMemory, of_many_equal_children_is_not_one_body_each) {
  constexpr std::size_t kBlocks = 20'000;
  std::vector<std::int64_t> inside;
  for (std::int64_t i = 0; i < 64; ++i) inside.push_back(16 * i * i);
  const TypeDescPtr list = TypeDesc::indexed_block(1, inside, bytes(4)).value();
  const std::vector<std::uint64_t> ones(kBlocks, 1);
  std::vector<std::int64_t> places;
  std::vector<TypeDescPtr> repeated, listed;
  for (std::size_t i = 0; i < kBlocks; ++i) {
    places.push_back(static_cast<std::int64_t>(i * 1'000'000 + i * i % 97 * 8));
    repeated.push_back(TypeDesc::vector(3, 1, 2 * list->extent(), list).value());
    listed.push_back(TypeDesc::indexed_block(1, inside, bytes(4)).value());
  }
  for (const auto& children : {repeated, listed}) {
    const TypeDescPtr type = TypeDesc::structure(ones, places, children).value();
    const CountedMemory memory;
    const ProgramPtr program = compile(type);
    EXPECT_EQ(program->loops(), 3u) << program->to_string();
    EXPECT_LT(memory.bytes(), 400 * kBlocks) << "its own list, and where each child is found";
  }
}

}  // namespace
}  // namespace mad
