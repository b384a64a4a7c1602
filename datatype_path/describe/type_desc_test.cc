#include "datatype_path/describe/type_desc.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

constexpr std::int64_t kMax = INT64_MAX;

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

void expect_bounds(const TypeDescPtr& type, std::uint64_t size, std::int64_t lb,
                   std::int64_t extent, std::int64_t true_lb, std::int64_t true_extent) {
  EXPECT_EQ(type->size(), size);
  EXPECT_EQ(type->lb(), lb);
  EXPECT_EQ(type->extent(), extent);
  EXPECT_EQ(type->ub(), lb + extent);
  EXPECT_EQ(type->true_lb(), true_lb);
  EXPECT_EQ(type->true_extent(), true_extent);
}

void expect_invalid(const Result<TypeDescPtr>& made) {
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(made.status().message().empty());
}

TEST(TypeDesc, constructors_have_mpi_bounds) {
  expect_bounds(bytes(8), 8, 0, 8, 0, 8);
  expect_bounds(TypeDesc::contiguous(5, bytes(8)).value(), 40, 0, 40, 0, 40);
  expect_bounds(TypeDesc::vector(3, 2, 24, bytes(4)).value(), 24, 0, 56, 0, 56);
  expect_bounds(TypeDesc::vector(3, 2, -24, bytes(4)).value(), 24, -48, 56, -48, 56);
  expect_bounds(TypeDesc::indexed({2, 0, 1}, {40, 1000, -8}, bytes(4)).value(), 12, -8, 56, -8, 56);
  expect_bounds(TypeDesc::indexed_block(2, {16, 0}, bytes(4)).value(), 16, 0, 24, 0, 24);
  expect_bounds(TypeDesc::structure({1, 1}, {0, 8}, {bytes(1), bytes(8)}).value(), 9, 0, 16, 0, 16);
}

TEST(TypeDesc, basic_leaves_have_their_kinds_bounds) {
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    const auto type = static_cast<BasicType>(i);
    const TypeDescPtr leaf = TypeDesc::basic(type).value();
    const auto size = static_cast<std::int64_t>(size_of(type));
    EXPECT_EQ(leaf->kind(), TypeDesc::Kind::kBytes);
    EXPECT_EQ(leaf->basic_type(), type);
    EXPECT_EQ(leaf->elements(), 1u);
    expect_bounds(leaf, size_of(type), 0, size, 0, size);
  }
  EXPECT_EQ(bytes(3)->basic_type(), BasicType::kByte);
  expect_invalid(TypeDesc::basic(static_cast<BasicType>(kBasicTypes)));
}

TEST(TypeDesc, basic_types_are_as_the_compiler_has_them) {
  EXPECT_EQ(size_of(BasicType::kLong), sizeof(long));
  EXPECT_EQ(info(BasicType::kLongDouble).size, sizeof(long double));
  EXPECT_EQ(info(BasicType::kLongDouble).alignment, alignof(long double));
  EXPECT_EQ(size_of(BasicType::kLongDoubleComplex), sizeof(std::complex<long double>));
  EXPECT_EQ(info(BasicType::kDoubleComplex).alignment, alignof(std::complex<double>));
  EXPECT_EQ(size_of(BasicType::kWchar), sizeof(wchar_t));
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < kBasicTypes; ++i) {
    const BasicInfo& kind = info(static_cast<BasicType>(i));
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_LE(kind.size, kMaxBasicBytes);
    EXPECT_EQ(kind.size % kind.alignment, 0) << kind.name;
  }
}

TEST(TypeDesc, elements_are_counted) {
  const TypeDescPtr number = TypeDesc::basic(BasicType::kDouble).value();
  EXPECT_EQ(bytes(12)->elements(), 12u);
  EXPECT_EQ(TypeDesc::contiguous(5, number).value()->elements(), 5u);
  EXPECT_EQ(TypeDesc::vector(3, 2, 100, number).value()->elements(), 6u);
  EXPECT_EQ(TypeDesc::indexed({2, 0, 1}, {0, 0, 64}, number).value()->elements(), 3u);
  EXPECT_EQ(TypeDesc::structure({1, 2}, {0, 8}, {bytes(3), number}).value()->elements(), 5u);
  EXPECT_EQ(TypeDesc::resized(0, 100, number).value()->elements(), 1u);
  EXPECT_EQ(TypeDesc::contiguous(0, number).value()->elements(), 0u);
  constexpr std::uint64_t kMany = std::uint64_t{1} << 30;
  const TypeDescPtr many = TypeDesc::contiguous(kMany, bytes(1)).value();
  EXPECT_EQ(TypeDesc::contiguous(kMany, many).value()->elements(), kMany * kMany);
  // Counts that hold nothing may have any product.
  const TypeDescPtr nothing = TypeDesc::contiguous(kMany, bytes(0)).value();
  EXPECT_EQ(TypeDesc::contiguous(kMany << 10, nothing).value()->elements(), 0u);
}

TEST(TypeDesc, resized_moves_the_bounds_but_not_the_bytes) {
  const TypeDescPtr child = TypeDesc::indexed({1}, {4}, bytes(8)).value();
  const TypeDescPtr type = TypeDesc::resized(-16, 10, child).value();
  expect_bounds(type, 8, -16, 10, 4, 8);
  // Elements follow one another at the new extent, also where it is negative.
  expect_bounds(TypeDesc::contiguous(3, type).value(), 24, -16, 30, 4, 28);
  const TypeDescPtr backwards = TypeDesc::resized(0, -8, bytes(8)).value();
  expect_bounds(TypeDesc::contiguous(3, backwards).value(), 24, -16, 8, -16, 24);
  // Bounds do not stick: a struct's are those of all its pieces.
  expect_bounds(TypeDesc::structure({1, 1}, {0, 0}, {type, bytes(4)}).value(), 12, -16, 20, 0, 12);
}

TEST(TypeDesc, nothing_has_no_bounds) {
  const TypeDescPtr far = TypeDesc::indexed({1}, {1000}, bytes(4)).value();
  expect_bounds(TypeDesc::contiguous(0, far).value(), 0, 0, 0, 0, 0);
  expect_bounds(TypeDesc::vector(0, 3, 8, far).value(), 0, 0, 0, 0, 0);
  expect_bounds(TypeDesc::vector(3, 0, 8, far).value(), 0, 0, 0, 0, 0);
  expect_bounds(TypeDesc::indexed({}, {}, far).value(), 0, 0, 0, 0, 0);
  expect_bounds(TypeDesc::indexed({0}, {77}, far).value(), 0, 0, 0, 0, 0);
  expect_bounds(TypeDesc::structure({}, {}, {}).value(), 0, 0, 0, 0, 0);
  // A child without bytes is a piece all the same, as MPI_LB and MPI_UB were.
  const TypeDescPtr marker = TypeDesc::resized(-4, 20, bytes(0)).value();
  expect_bounds(TypeDesc::structure({1, 1}, {0, 0}, {marker, bytes(4)}).value(), 4, -4, 20, 0, 4);
}

TEST(TypeDesc, refuses_what_does_not_exist) {
  expect_invalid(TypeDesc::contiguous(1, nullptr));
  expect_invalid(TypeDesc::vector(1, 1, 1, nullptr));
  expect_invalid(TypeDesc::indexed({}, {}, nullptr));
  expect_invalid(TypeDesc::indexed_block(1, {}, nullptr));
  expect_invalid(TypeDesc::resized(0, 1, nullptr));
  expect_invalid(TypeDesc::structure({1}, {0}, {nullptr}));
  expect_invalid(TypeDesc::indexed({1, 2}, {0}, bytes(1)));
  expect_invalid(TypeDesc::structure({1}, {0}, {}));
  expect_invalid(TypeDesc::structure({1}, {}, {bytes(1)}));
}

TEST(TypeDesc, of_equal_blocks_is_that_of_blocks_of_one_length) {
  const std::vector<TypeDescPtr> children = {
      bytes(8), bytes(0), TypeDesc::resized(-4, -24, bytes(8)).value(),
      TypeDesc::resized(INT64_MIN / 4, kMax / 2, bytes(3)).value()};
  const std::vector<std::vector<std::int64_t>> lists = {
      {}, {-16}, {40, -80}, {0, 800, -8, 16}, {kMax - 90, kMax - 99}};
  const std::uint64_t big = std::uint64_t{1} << 61;
  for (const TypeDescPtr& child : children) {
    for (const std::vector<std::int64_t>& places : lists) {
      for (const std::uint64_t length :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, big}) {
        const std::vector<std::uint64_t> lengths(places.size(), length);
        const auto equal = TypeDesc::indexed_block(length, places, child);
        const auto listed = TypeDesc::indexed(lengths, places, child);
        ASSERT_EQ(equal.ok(), listed.ok());
        if (!equal.ok()) continue;
        expect_bounds(equal.value(), listed.value()->size(), listed.value()->lb(),
                      listed.value()->extent(), listed.value()->true_lb(),
                      listed.value()->true_extent());
        EXPECT_EQ(equal.value()->elements(), listed.value()->elements());
      }
    }
  }
}

TEST(TypeDesc, refuses_what_does_not_fit_63_bits) {
  const std::uint64_t big = std::uint64_t{1} << 62;
  expect_invalid(TypeDesc::bytes(std::uint64_t{1} << 63));
  EXPECT_TRUE(TypeDesc::bytes(kMax).ok());
  EXPECT_TRUE(TypeDesc::contiguous(big, bytes(1)).ok());
  expect_invalid(TypeDesc::contiguous(big, bytes(2)));
  expect_invalid(TypeDesc::contiguous(UINT64_MAX, bytes(1)));
  expect_invalid(TypeDesc::vector(big, big, 1, bytes(1)));
  expect_invalid(TypeDesc::vector(3, 1, kMax, bytes(1)));
  expect_invalid(TypeDesc::vector(3, 1, INT64_MIN, bytes(1)));
  expect_invalid(TypeDesc::indexed({1}, {kMax}, bytes(1)));
  EXPECT_TRUE(TypeDesc::indexed({1}, {kMax - 1}, bytes(1)).ok());
  expect_invalid(TypeDesc::indexed({1, 1}, {INT64_MIN, 0}, bytes(1)));  // the extent
  expect_invalid(TypeDesc::indexed_block(big, {0, 0}, bytes(1)));       // the sum
  expect_invalid(TypeDesc::resized(kMax, 1, bytes(1)));
  expect_invalid(TypeDesc::resized(INT64_MIN, -1, bytes(1)));
  // Counts beyond 31 and 32 bits are ordinary.
  expect_bounds(TypeDesc::vector(5'000'000'000, 3, 4096, bytes(8)).value(), 120'000'000'000, 0,
                4'999'999'999 * 4096 + 24, 0, 4'999'999'999 * 4096 + 24);
}

TEST(TypeDesc, of_many_levels_is_made_and_freed) {
  TypeDescPtr type = bytes(1);
  for (int level = 0; level < 200'000; ++level) {
    type = TypeDesc::resized(0, level, std::move(type)).value();
  }
  EXPECT_EQ(type->size(), 1u);
  type.reset();
  // Each level used twice by the next: freed once.
  type = bytes(0);
  for (int level = 0; level < 1000; ++level) {
    type = TypeDesc::structure({1, 1}, {0, 0}, {type, type}).value();
  }
  EXPECT_EQ(type->extent(), 0);
}

TEST(TypeDesc, shares_its_children) {
  const TypeDescPtr child = bytes(4);
  const TypeDescPtr type =
      TypeDesc::structure({1, 2, 3}, {0, 10, 20}, {child, child, child}).value();
  EXPECT_EQ(&type->child(0), child.get());
  EXPECT_EQ(&type->child(2), child.get());
  EXPECT_EQ(type->blocklength(2), 3u);
  EXPECT_EQ(type->displacement(1), 10);
  EXPECT_EQ(child.use_count(), 4);
}

// The bounds straight from MPI's definition: over every piece of every block.
struct Bounds {
  bool any = false;
  std::int64_t low = 0, high = 0;
  void add(std::int64_t from, std::int64_t to) {
    low = any ? std::min(low, from) : from;
    high = any ? std::max(high, to) : to;
    any = true;
  }
};

Bounds literal_bounds(const TypeDesc& type) {
  Bounds bounds;
  if (type.kind() == TypeDesc::Kind::kBytes || type.kind() == TypeDesc::Kind::kResized) {
    bounds.add(type.lb(), type.ub());  // as given
    return bounds;
  }
  for (std::size_t block = 0; block < type.count(); ++block) {
    const TypeDesc& child = type.child(block);
    for (std::uint64_t i = 0; i < type.blocklength(block); ++i) {
      const std::int64_t at =
          type.displacement(block) + static_cast<std::int64_t>(i) * child.extent();
      bounds.add(at + child.lb(), at + child.ub());
    }
  }
  return bounds;
}

TEST(TypeDescProperty, bounds_are_those_of_all_pieces) {
  test::RandomTypes random(test::seed_from_environment(61));
  for (int n = 0; n < 4000; ++n) {
    const test::RandomType made = random.next();
    const TypeDesc& type = *made.type;
    const Bounds bounds = literal_bounds(type);
    ASSERT_EQ(type.lb(), bounds.low) << made.text;
    ASSERT_EQ(type.ub(), bounds.high) << made.text;
    Bounds existing;
    std::uint64_t size = 0;
    for (const test::TypeMapEntry& e : test::expand(type, 1)) {
      existing.add(e.offset, e.offset + static_cast<std::int64_t>(e.length));
      size += e.length;
    }
    ASSERT_EQ(type.size(), size) << made.text;
    ASSERT_EQ(type.true_lb(), existing.low) << made.text;
    ASSERT_EQ(type.true_lb() + type.true_extent(), existing.high) << made.text;
    ASSERT_EQ(type.is_run(), test::joined(test::expand(type, 1)).size() == 1) << made.text;
  }
}

}  // namespace
}  // namespace mad
