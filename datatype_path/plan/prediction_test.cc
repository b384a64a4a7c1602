#include "datatype_path/plan/prediction.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::uint64_t kKiB = 1024;

// `runs` of `length` bytes each, and `more` of 16.
Shape shape_of(std::uint64_t runs, std::uint64_t length, std::uint64_t more = 0) {
  Shape shape;
  shape.contiguous = false;
  shape.runs = runs + more;
  shape.bytes = runs * length + more * 16;
  shape.min_run = more == 0 ? length : 16;
  shape.max_run = length;
  shape.histogram[63 - static_cast<unsigned>(__builtin_clzll(length))] += runs;
  shape.histogram[4] += more;
  return shape;
}

LinkCaps caps_with(std::size_t max_iov) {
  LinkCaps caps;
  caps.max_iov = max_iov;
  caps.max_packet_bytes = 256 * kKiB;
  return caps;
}

TEST(SendWork, of_what_is_staged) {
  const Costs costs = default_costs("tcp");
  const SendWork work = send_work(shape_of(1000, 100), 8, SIZE_MAX, 0, costs, caps_with(1024));
  EXPECT_EQ(work.bytes, 800000u);
  EXPECT_EQ(work.staged, 800000u);
  EXPECT_EQ(work.segments, 0u);
  EXPECT_EQ(work.packets, 13u);  // of 64 KiB
  EXPECT_NEAR(work.copy_ns, 8000 * costs.copy(100), 1);
}

TEST(SendWork, of_what_is_referenced) {
  const Costs costs = default_costs("tcp");
  const Shape shape = shape_of(64, 4 * kKiB);
  const SendWork wide = send_work(shape, 2, 1, 0, costs, caps_with(1024));
  EXPECT_EQ(wide.staged, 0u);
  EXPECT_EQ(wide.segments, 128u);
  EXPECT_EQ(wide.packets, 2u);  // of 256 KiB
  EXPECT_EQ(wide.copy_ns, 0);
  EXPECT_EQ(send_work(shape, 2, 1, 0, costs, caps_with(4)).packets, 43u);  // of three runs
}

TEST(SendWork, splits_by_length) {
  const Costs costs = default_costs("tcp");
  const SendWork work = send_work(shape_of(10, 8 * kKiB, 10), 1, 2048, 0, costs, caps_with(1024));
  EXPECT_NEAR(static_cast<double>(work.staged), 160, 2);
  EXPECT_EQ(work.segments, 20u);  // the short ones between the long ones
}

TEST(SendWork, all_bytes_are_staged_or_referenced_whatever_the_histogram_knows) {
  const Costs costs = default_costs("tcp");
  Shape shape = shape_of(300, 32, 1);
  shape.runs += 300;
  shape.bytes += 300 * 31;
  shape.histogram[4] += 300;
  EXPECT_EQ(send_work(shape, 3, SIZE_MAX, 0, costs, caps_with(8)).staged, 3 * shape.bytes);
  EXPECT_EQ(send_work(shape, 3, 1, 0, costs, caps_with(8)).staged, 0u);
}

TEST(SendWork, flushing_makes_packets) {
  const Costs costs = default_costs("tcp");
  EXPECT_EQ(send_work(shape_of(1024, 64), 1, SIZE_MAX, 4096, costs, caps_with(8)).packets, 16u);
}

TEST(Prediction, adds_the_prices) {
  Costs costs;
  costs.message_ns = 1000;
  costs.byte_ns = 0.5;
  costs.packet_ns = 100;
  costs.segment_ns = 10;
  EXPECT_DOUBLE_EQ(predicted_ns({2000, 500, 6, 3, 70}, costs), 1000 + 1000 + 200 + 60 + 70);
  EXPECT_DOUBLE_EQ(predicted_ns({}, costs), 1000);
}

TEST(Prediction, holds_out_against_sizes_beyond_all_measure) {
  const Costs costs = default_costs("tcp");
  const SendWork work =
      send_work(shape_of(UINT64_MAX / 64, 32), UINT64_MAX, SIZE_MAX, 0, costs, caps_with(4));
  EXPECT_GT(predicted_ns(work, costs), 1e18);
}

}  // namespace
}  // namespace mad
