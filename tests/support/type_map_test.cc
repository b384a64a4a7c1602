// The oracle itself, against maps written down by hand from MPI's examples.
#include "tests/support/type_map.h"

#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mad::test {

inline bool operator==(const TypeMapEntry& a, const TypeMapEntry& b) {
  return a.offset == b.offset && a.length == b.length;
}

namespace {

TypeDescPtr bytes(std::uint64_t size) { return TypeDesc::bytes(size).value(); }

// MPI 4.0, examples 5.2 to 5.6: oldtype = {(double, 0), (char, 8)} with extent 16.
TypeDescPtr old_type() {
  return TypeDesc::resized(0, 16, TypeDesc::structure({1, 1}, {0, 8}, {bytes(8), bytes(1)}).value())
      .value();
}

TEST(TypeMap, is_that_of_the_standards_examples) {
  EXPECT_EQ(expand(*TypeDesc::contiguous(3, old_type()).value(), 1),
            (TypeMap{{0, 8}, {8, 1}, {16, 8}, {24, 1}, {32, 8}, {40, 1}}));
  EXPECT_EQ(expand(*TypeDesc::vector(2, 3, 64, old_type()).value(), 1), (TypeMap{{0, 8},
                                                                                 {8, 1},
                                                                                 {16, 8},
                                                                                 {24, 1},
                                                                                 {32, 8},
                                                                                 {40, 1},
                                                                                 {64, 8},
                                                                                 {72, 1},
                                                                                 {80, 8},
                                                                                 {88, 1},
                                                                                 {96, 8},
                                                                                 {104, 1}}));
  EXPECT_EQ(expand(*TypeDesc::vector(3, 1, -32, old_type()).value(), 1),
            (TypeMap{{0, 8}, {8, 1}, {-32, 8}, {-24, 1}, {-64, 8}, {-56, 1}}));
  EXPECT_EQ(expand(*TypeDesc::indexed({3, 1}, {64, 0}, old_type()).value(), 1),
            (TypeMap{{64, 8}, {72, 1}, {80, 8}, {88, 1}, {96, 8}, {104, 1}, {0, 8}, {8, 1}}));
  EXPECT_EQ(
      expand(*TypeDesc::structure({2, 1, 3}, {0, 16, 26}, {bytes(4), old_type(), bytes(1)}).value(),
             1),
      (TypeMap{{0, 4}, {4, 4}, {16, 8}, {24, 1}, {26, 1}, {27, 1}, {28, 1}}));
}

TEST(TypeMap, elements_follow_at_the_extent) {
  const TypeDescPtr type = TypeDesc::resized(-4, -8, bytes(4)).value();
  EXPECT_EQ(expand(*type, 3), (TypeMap{{0, 4}, {-8, 4}, {-16, 4}}));
  EXPECT_TRUE(expand(*type, 0).empty());
  EXPECT_TRUE(expand(*TypeDesc::vector(5, 3, 8, bytes(0)).value(), 2).empty());
}

TEST(TypeMap, joins_only_what_touches_in_packed_order) {
  EXPECT_EQ(joined({{0, 4}, {4, 4}, {12, 4}, {8, 4}, {12, 1}}), (TypeMap{{0, 8}, {12, 4}, {8, 5}}));
}

TEST(TypeMap, packs_and_unpacks_byte_by_byte) {
  const TypeMap map = {{4, 2}, {-2, 1}};
  Arena arena(map);
  EXPECT_EQ(arena.bytes().size(), 8u);  // -2 up to 6
  arena[4] = std::byte{1};
  arena[5] = std::byte{2};
  arena[-2] = std::byte{3};
  const std::vector<std::byte> packed = pack(map, arena);
  EXPECT_EQ(packed, (std::vector<std::byte>{std::byte{1}, std::byte{2}, std::byte{3}}));
  Arena other(map);
  unpack(map, packed, other);
  EXPECT_EQ(other.bytes(), arena.bytes());
  EXPECT_EQ(static_cast<std::byte*>(other.base()), other.bytes().data() + 2);
}

TEST(TypeMap, knows_what_can_be_received_into) {
  EXPECT_TRUE(receivable({{0, 4}, {4, 4}}));
  EXPECT_FALSE(receivable({{0, 4}, {3, 1}}));
  EXPECT_FALSE(receivable({{0, 4}, {0, 4}}));
}

}  // namespace
}  // namespace mad::test
