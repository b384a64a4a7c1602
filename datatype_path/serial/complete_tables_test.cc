#include "datatype_path/serial/complete_tables.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint32_t kRun = LoopNode::kRun;

// Tables written by hand, loop after loop.
class Hand {
 public:
  Hand(std::int64_t lb, std::int64_t extent) {
    tables.lb = lb;
    tables.shape.extent = extent;
    tables.offsets.reserve(kRoom);  // the nodes point into the lists
    tables.ends.reserve(kRoom);
    tables.children.reserve(kRoom);
  }

  Hand& leaf(std::uint64_t count, std::int64_t stride, std::vector<std::int64_t> offsets,
             std::vector<std::uint64_t> sizes) {
    return loop(count, stride, 1, std::move(offsets), std::move(sizes), {});
  }

  Hand& loop(std::uint64_t count, std::int64_t stride, std::uint32_t height,
             std::vector<std::int64_t> offsets, std::vector<std::uint64_t> sizes,
             std::vector<std::uint32_t> children) {
    LoopNode node;
    node.count = count;
    node.stride = stride;
    node.height = height;
    node.parts = offsets.size();
    node.offsets = append(tables.offsets, offsets);
    for (std::uint64_t& size : sizes) size = node.body_bytes += size;
    node.ends = append(tables.ends, sizes);
    if (!children.empty()) node.children = append(tables.children, children);
    tables.nodes.push_back(node);
    return *this;
  }

  std::string refusal() {
    const Status status = complete_tables(tables);
    if (status.ok()) return "";
    EXPECT_EQ(status.code(), StatusCode::kProtocol);
    return std::string(status.message());
  }

  BlockProgram::Tables tables;

 private:
  static constexpr std::size_t kRoom = 64;

  template <typename T>
  static const T* append(std::vector<T>& list, const std::vector<T>& more) {
    const std::size_t at = list.size();
    list.insert(list.end(), more.begin(), more.end());
    return list.data() + at;
  }
};

TEST(CompleteTables, computes_shape_and_true_bounds) {
  // Two trips of: 4 bytes, three times 8 bytes going down, 1 byte.
  Hand hand(-100, 200);
  hand.loop(2, 100, 2, {-8, 50, 7}, {4, 24, 1}, {kRun, 1, kRun}).leaf(3, -16, {0}, {8});
  ASSERT_EQ(hand.refusal(), "");
  const Shape& shape = hand.tables.shape;
  EXPECT_EQ(shape.bytes, 58u);
  EXPECT_EQ(shape.runs, 10u);
  EXPECT_EQ(shape.min_run, 1u);
  EXPECT_EQ(shape.max_run, 8u);
  EXPECT_EQ(shape.histogram[0], 2u);
  EXPECT_EQ(shape.histogram[2], 2u);
  EXPECT_EQ(shape.histogram[3], 6u);
  EXPECT_FALSE(shape.contiguous);
  EXPECT_EQ(hand.tables.true_lb, -8);
  EXPECT_EQ(hand.tables.true_extent, 158 + 8);
}

TEST(CompleteTables, one_dense_run_is_contiguous) {
  Hand dense(0, 8), gap(0, 9), two_trips(0, 8);
  dense.leaf(1, 8, {0}, {8});
  gap.leaf(1, 9, {0}, {8});
  two_trips.leaf(2, 4, {0}, {4});
  EXPECT_EQ(dense.refusal() + gap.refusal() + two_trips.refusal(), "");
  EXPECT_TRUE(dense.tables.shape.contiguous);
  EXPECT_FALSE(gap.tables.shape.contiguous);
  EXPECT_FALSE(two_trips.tables.shape.contiguous);
}

TEST(CompleteTables, trips_that_overlap_are_not_contiguous) {
  Hand overlapping(0, 8);
  overlapping.leaf(2, 4, {0}, {8});
  ASSERT_EQ(overlapping.refusal(), "");
  EXPECT_FALSE(overlapping.tables.shape.contiguous);
}

TEST(CompleteTables, of_nothing_have_any_extent) {
  Hand nothing(-5, 17), too_far(1, kMax);
  EXPECT_EQ(nothing.refusal(), "");
  EXPECT_TRUE(nothing.tables.shape.contiguous);
  EXPECT_EQ(nothing.tables.true_extent, 0);
  EXPECT_EQ(too_far.refusal(), "program form: the bounds exceed 64 bits");
}

TEST(CompleteTables, a_loop_used_twice_counts_twice) {
  Hand hand(0, 200);
  hand.loop(1, 200, 3, {0, 100}, {40, 20}, {2, 1})
      .leaf(10, 4, {0}, {2})
      .loop(2, 50, 2, {0}, {20}, {1});
  ASSERT_EQ(hand.refusal(), "");
  EXPECT_EQ(hand.tables.shape.runs, 30u);
  EXPECT_EQ(hand.tables.shape.bytes, 60u);
  EXPECT_EQ(hand.tables.true_extent, 138);
}

TEST(CompleteTables, refuse_an_element_that_its_loop_does_not_span) {
  const std::string why = "program form: the element's loop does not span the extent";
  EXPECT_EQ(Hand(0, 20).leaf(2, 8, {0}, {4}).refusal(), why);
  EXPECT_EQ(Hand(0, 0).leaf(std::uint64_t{1} << 62, 4, {0}, {1}).refusal(), why);
}

TEST(CompleteTables, refuse_wrong_heights_and_so_cycles) {
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 3, {0}, {8}, {1}).leaf(1, 0, {0}, {8}).refusal(),
            "program form: loop 0 has height 3 above parts of height 1");
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0}, {8}, {kRun}).refusal(),
            "program form: loop 0 has height 2 above parts of height 0");
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0}, {8}, {1}).loop(1, 0, 2, {0}, {8}, {1}).refusal(),
            "program form: loop 0 has height 2 above parts of height 2");
  EXPECT_EQ(Hand(0, 8)
                .loop(1, 8, 3, {0}, {8}, {1})
                .loop(1, 0, 2, {0}, {8}, {2})
                .loop(1, 0, 2, {0}, {8}, {1})
                .refusal(),
            "program form: loop 1 has height 2 above parts of height 2");
}

TEST(CompleteTables, refuse_parts_of_another_size_than_their_loop) {
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0, 40}, {6, 8}, {kRun, 1}).leaf(3, 4, {0}, {2}).refusal(),
            "program form: loop 0 gives its part 1 another size than loop 1 has");
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0, 40}, {6, 5}, {kRun, 1}).leaf(3, 4, {0}, {2}).refusal(),
            "program form: loop 0 gives its part 1 another size than loop 1 has");
}

TEST(CompleteTables, refuse_loops_that_are_not_used) {
  EXPECT_EQ(Hand(0, 8).leaf(1, 8, {0}, {8}).leaf(1, 0, {0}, {8}).refusal(),
            "program form: loop 1 is no part of the element");
  EXPECT_EQ(Hand(0, 8)
                .leaf(1, 8, {0}, {8})
                .loop(1, 0, 3, {0}, {8}, {2})
                .loop(1, 0, 2, {0}, {8}, {3})
                .leaf(1, 0, {0}, {8})
                .refusal(),
            "program form: loop 1 is no part of the element");
}

TEST(CompleteTables, refuse_bytes_too_far_apart) {
  const auto why = [](int loop) {
    return "program form: loop " + std::to_string(loop) +
           " has bytes more than 2^63 - 1 bytes apart or away";
  };
  EXPECT_EQ(Hand(0, 8).leaf(1, 8, {-kMax, 1}, {1, 2}).refusal(), why(0));
  EXPECT_EQ(Hand(0, 8).leaf(1, 8, {-kMax, -1}, {1, 1}).refusal(), "");
  EXPECT_EQ(Hand(0, 8).leaf(1, 8, {kMax}, {1}).refusal(), why(0));
  EXPECT_EQ(Hand(0, 8).leaf(1, 8, {kMax - 1}, {1}).refusal(), "");
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0}, {kMax}, {1}).leaf(kMax, kMax, {0}, {1}).refusal(),
            why(1));
  // The loop inside is right for itself, but not where it stands.
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {1}, {2}, {1}).leaf(2, kMax - 1, {0}, {1}).refusal(), why(0));
  EXPECT_EQ(Hand(0, 8).loop(1, 8, 2, {0}, {2}, {1}).leaf(2, kMax - 1, {0}, {1}).refusal(), "");
}

}  // namespace
}  // namespace mad
