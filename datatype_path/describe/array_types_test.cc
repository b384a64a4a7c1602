// Subarray and darray against MPI's definitions, one index after the other.
#include "datatype_path/describe/array_types.h"

#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/random_type.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using test::RandomTypes;

using Index = std::vector<std::uint64_t>;

// The displacements, in children, of the indices that belong to the type: in storage order, the
// fastest dimension first.
std::vector<std::uint64_t> owned_places(const Index& sizes, ArrayOrder order,
                                        const std::function<bool(const Index&)>& owned) {
  const std::size_t n = sizes.size();
  const std::uint64_t all =
      std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{1}, std::multiplies<>());
  std::vector<std::uint64_t> places;
  for (std::uint64_t place = 0; place < all; ++place) {
    Index index(n);
    std::uint64_t rest = place;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t d = order == ArrayOrder::kC ? n - 1 - i : i;
      index[d] = rest % sizes[d];
      rest /= sizes[d];
    }
    if (owned(index)) places.push_back(place);
  }
  return places;
}

void expect_places(const TypeDesc& type, const TypeDesc& child, const Index& sizes,
                   const std::vector<std::uint64_t>& places, const std::string& text) {
  test::TypeMap expected;
  for (const std::uint64_t place : places) {
    test::expand(child, static_cast<std::int64_t>(place) * child.extent(), expected);
  }
  ASSERT_EQ(test::byte_places(test::expand(type, 1)), test::byte_places(expected)) << text;
  std::int64_t whole = child.extent();
  for (const std::uint64_t size : sizes) whole *= static_cast<std::int64_t>(size);
  ASSERT_EQ(type.lb(), 0) << text;
  ASSERT_EQ(type.extent(), whole) << text;
}

TypeDescPtr random_child(RandomTypes& random) {
  const TypeDescPtr bytes =
      TypeDesc::bytes(static_cast<std::uint64_t>(random.between(1, 9))).value();
  switch (random.between(0, 2)) {
    case 0:
      return TypeDesc::resized(random.between(-8, 8), random.between(1, 20), bytes).value();
    case 1:
      return TypeDesc::vector(2, 1, random.between(-30, 30), bytes).value();
    default:
      return bytes;
  }
}

ArrayOrder random_order(RandomTypes& random) {
  return random.between(0, 1) == 0 ? ArrayOrder::kC : ArrayOrder::kFortran;
}

TEST(Subarray, holds_the_indices_of_the_box) {
  RandomTypes random(test::seed_from_environment(71));
  for (int n = 0; n < 3000; ++n) {
    Index sizes, subsizes, starts;
    for (std::int64_t d = random.between(1, 4); d > 0; --d) {
      sizes.push_back(static_cast<std::uint64_t>(random.between(1, 6)));
      subsizes.push_back(static_cast<std::uint64_t>(random.between(0, sizes.back())));
      starts.push_back(
          static_cast<std::uint64_t>(random.between(0, sizes.back() - subsizes.back())));
    }
    const ArrayOrder order = random_order(random);
    const TypeDescPtr child = random_child(random);
    const auto inside = [&](const Index& index) {
      for (std::size_t d = 0; d < sizes.size(); ++d) {
        if (index[d] < starts[d] || index[d] >= starts[d] + subsizes[d]) return false;
      }
      return true;
    };
    const Result<TypeDescPtr> made = subarray(sizes, subsizes, starts, order, child);
    ASSERT_TRUE(made.ok()) << made.status().message();
    expect_places(*made.value(), *child, sizes, owned_places(sizes, order, inside),
                  std::to_string(n));
  }
}

// Whether process `coordinate` of the dimension's owns index `i` (MPI 4.0, 5.1.4: blocks are dealt
// out in turn; the default block is 1 for cyclic, the least that fits for block).
bool owns(const DistributedDimension& d, std::uint64_t coordinate, std::uint64_t i) {
  const auto processes = static_cast<std::uint64_t>(d.processes);
  if (d.distribution == Distribution::kNone) return true;
  std::uint64_t block = static_cast<std::uint64_t>(d.argument);
  if (d.argument == kDefaultDistributionArgument) {
    block = d.distribution == Distribution::kBlock ? (d.size + processes - 1) / processes : 1;
  }
  return i / block % processes == coordinate;
}

TEST(Darray, deals_out_the_indices) {
  RandomTypes random(test::seed_from_environment(72));
  for (int n = 0; n < 1000; ++n) {
    std::vector<DistributedDimension> dimensions;
    Index sizes;
    int processes = 1;
    for (std::int64_t i = random.between(1, 3); i > 0; --i) {
      DistributedDimension d;
      d.size = static_cast<std::uint64_t>(random.between(1, 11));
      d.distribution = static_cast<Distribution>(random.between(0, 2));
      if (d.distribution != Distribution::kNone)
        d.processes = static_cast<int>(random.between(1, 4));
      const auto count = static_cast<std::uint64_t>(d.processes);
      if (random.between(0, 1) == 0) {
        d.argument =
            d.distribution == Distribution::kBlock
                ? static_cast<std::int64_t>((d.size + count - 1) / count) + random.between(0, 2)
                : random.between(1, 13);
      }
      processes *= d.processes;
      sizes.push_back(d.size);
      dimensions.push_back(d);
    }
    const ArrayOrder order = random_order(random);
    const TypeDescPtr child = random_child(random);
    std::uint64_t dealt = 0;
    for (int rank = 0; rank < processes; ++rank) {
      // Row-major: the last dimension of the process grid is the fastest.
      std::vector<std::uint64_t> coordinates(dimensions.size());
      int rest = rank;
      for (std::size_t d = dimensions.size(); d-- > 0;) {
        coordinates[d] = static_cast<std::uint64_t>(rest % dimensions[d].processes);
        rest /= dimensions[d].processes;
      }
      const auto mine = [&](const Index& index) {
        for (std::size_t d = 0; d < dimensions.size(); ++d) {
          if (!owns(dimensions[d], coordinates[d], index[d])) return false;
        }
        return true;
      };
      const Result<TypeDescPtr> made = darray(processes, rank, dimensions, order, child);
      ASSERT_TRUE(made.ok()) << made.status().message();
      const std::vector<std::uint64_t> places = owned_places(sizes, order, mine);
      expect_places(*made.value(), *child, sizes, places, std::to_string(n));
      dealt += places.size();
    }
    ASSERT_EQ(dealt,
              std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{1}, std::multiplies<>()));
  }
}

void expect_invalid(const Result<TypeDescPtr>& made) {
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(made.status().message().empty());
}

TEST(Subarray, refuses_boxes_that_leave_the_array) {
  const TypeDescPtr child = TypeDesc::bytes(4).value();
  expect_invalid(subarray({}, {}, {}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {2}, {}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {2, 2}, {0}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {5}, {0}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {2}, {3}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {1}, {UINT64_MAX}, ArrayOrder::kC, child));
  expect_invalid(subarray({4}, {1}, {0}, ArrayOrder::kC, nullptr));
  const std::uint64_t big = std::uint64_t{1} << 40;
  expect_invalid(subarray({big, big}, {1, 1}, {0, 0}, ArrayOrder::kC, child));
  EXPECT_TRUE(subarray({big, 1 << 20}, {1, 1}, {big - 1, 0}, ArrayOrder::kC, child).ok());
}

TEST(Darray, refuses_grids_that_do_not_fit) {
  const TypeDescPtr child = TypeDesc::bytes(4).value();
  const DistributedDimension block{8, Distribution::kBlock, kDefaultDistributionArgument, 2};
  const auto make = [&](int processes, int rank, DistributedDimension d) {
    return darray(processes, rank, {d}, ArrayOrder::kC, child);
  };
  EXPECT_TRUE(make(2, 1, block).ok());
  expect_invalid(make(3, 0, block));
  expect_invalid(make(1, 0, block));
  expect_invalid(make(2, 2, block));
  expect_invalid(make(2, -1, block));
  expect_invalid(darray(1, 0, {}, ArrayOrder::kC, child));
  expect_invalid(darray(2, 0, {block}, ArrayOrder::kC, nullptr));
  DistributedDimension d = block;
  d.argument = 3;  // 2 processes hold 6 of 8
  expect_invalid(make(2, 0, d));
  d.argument = 0;
  expect_invalid(make(2, 0, d));
  d = block;
  d.distribution = Distribution::kNone;
  expect_invalid(make(2, 0, d));
  d = block;
  d.processes = 0;
  expect_invalid(make(2, 0, d));
  d = block;
  d.size = UINT64_MAX / 2;
  expect_invalid(make(2, 0, d));
}

}  // namespace
}  // namespace mad
