#include "datatype_path/plan/plan.h"

#include <algorithm>
#include <initializer_list>

#include "gtest/gtest.h"

namespace mad {
namespace {

struct Runs {
  std::uint64_t runs;
  std::uint64_t bytes;  // of each
};

Shape shape_of(std::initializer_list<Runs> groups) {
  Shape shape;
  shape.contiguous = false;
  shape.min_run = UINT64_MAX;
  for (const Runs& g : groups) {
    shape.runs += g.runs;
    shape.bytes += g.runs * g.bytes;
    shape.min_run = std::min(shape.min_run, g.bytes);
    shape.max_run = std::max(shape.max_run, g.bytes);
    shape.histogram[63 - __builtin_clzll(g.bytes)] += g.runs;
  }
  shape.extent = static_cast<std::int64_t>(2 * shape.bytes);
  return shape;
}

Shape one_run(std::uint64_t bytes, bool contiguous = true) {
  Shape shape = shape_of({{1, bytes}});
  shape.contiguous = contiguous;
  return shape;
}

DriverCaps caps_with(std::size_t max_iov) {
  DriverCaps caps;
  caps.max_iov = max_iov;
  caps.max_packet_bytes = 1 << 20;
  caps.inject_bytes = 128;
  return caps;
}

constexpr std::size_t kLimits[] = {1, 2, 4, 6, 8, 1024};
constexpr Mode kModes[] = {Mode::kAuto, Mode::kGather, Mode::kHybrid, Mode::kPipeline, Mode::kPack};

TEST(SendPlan, one_run_is_referenced_unless_short) {
  for (const std::size_t limit : kLimits) {
    for (const Mode mode : kModes) {
      if (mode == Mode::kPack) continue;
      const Plan plan = choose_send_plan(one_run(1 << 16), 3, caps_with(limit), {}, mode);
      EXPECT_EQ(plan.path, Path::kContiguous);
      EXPECT_EQ(plan.reference_from, limit == 1 ? Plan::kNever : 1u) << limit;
    }
  }
  EXPECT_EQ(choose_send_plan(one_run(100), 1, caps_with(4), {}, Mode::kAuto).reference_from,
            Plan::kNever);
  EXPECT_EQ(choose_send_plan(one_run(2047), 1, caps_with(4), {}, Mode::kAuto).reference_from,
            Plan::kNever);
  EXPECT_EQ(choose_send_plan(one_run(2048), 1, caps_with(4), {}, Mode::kAuto).reference_from, 1u);
  EXPECT_EQ(choose_send_plan(one_run(512), 4, caps_with(4), {}, Mode::kAuto).reference_from, 1u);
  DriverCaps wide = caps_with(4);
  wide.inject_bytes = 4096;
  EXPECT_EQ(choose_send_plan(one_run(4096), 1, wide, {}, Mode::kAuto).reference_from, Plan::kNever);
}

TEST(SendPlan, an_element_of_one_run_is_contiguous_alone_only) {
  const Shape padded = one_run(4096, false);
  EXPECT_EQ(choose_send_plan(padded, 1, caps_with(4), {}, Mode::kAuto).path, Path::kContiguous);
  EXPECT_EQ(choose_send_plan(padded, 2, caps_with(4), {}, Mode::kAuto).path, Path::kGather);
}

TEST(SendPlan, long_runs_are_gathered_where_the_fabric_can) {
  const Shape shape = shape_of({{16, 4096}});
  for (const std::size_t limit : kLimits) {
    const Plan plan = choose_send_plan(shape, 10, caps_with(limit), {}, Mode::kAuto);
    EXPECT_EQ(plan.path, limit > 2 ? Path::kGather : Path::kPipeline) << limit;
    EXPECT_EQ(plan.reference_from, limit > 2 ? 1u : Plan::kNever) << limit;
  }
}

TEST(SendPlan, short_runs_are_staged) {
  const Plan plan = choose_send_plan(shape_of({{1000, 64}}), 10, caps_with(1024), {}, Mode::kAuto);
  EXPECT_EQ(plan.path, Path::kPipeline);
  EXPECT_EQ(plan.reference_from, Plan::kNever);
  EXPECT_EQ(plan.reason, "all runs are short");
}

TEST(SendPlan, mixed_runs_are_split_by_length) {
  const Plan plan =
      choose_send_plan(shape_of({{4, 65536}, {4, 16}}), 1, caps_with(4), {}, Mode::kAuto);
  EXPECT_EQ(plan.path, Path::kHybrid);
  EXPECT_EQ(plan.reference_from, 2048u);
  // The mean run is short here, but the bytes are in the long one.
  EXPECT_EQ(
      choose_send_plan(shape_of({{1, 65536}, {1000, 8}}), 1, caps_with(4), {}, Mode::kAuto).path,
      Path::kHybrid);
  EXPECT_EQ(
      choose_send_plan(shape_of({{1, 4096}, {1000, 64}}), 1, caps_with(4), {}, Mode::kAuto).path,
      Path::kPipeline);
}

TEST(SendPlan, tuning_moves_the_limits) {
  Tuning tuning;
  tuning.max_blocks = 100;
  const Shape shape = shape_of({{10, 4096}});
  EXPECT_EQ(choose_send_plan(shape, 10, caps_with(4), tuning, Mode::kAuto).path, Path::kGather);
  const Plan many = choose_send_plan(shape, 11, caps_with(4), tuning, Mode::kAuto);
  EXPECT_EQ(many.path, Path::kPipeline);
  EXPECT_EQ(many.reason, "more runs than max_blocks");
  // A product beyond 64 bits is many, not few.
  EXPECT_EQ(choose_send_plan(shape, UINT64_MAX / 2, caps_with(4), tuning, Mode::kAuto).path,
            Path::kPipeline);
  tuning.min_reference = 5000;
  EXPECT_EQ(choose_send_plan(shape, 1, caps_with(4), tuning, Mode::kAuto).path, Path::kPipeline);
  tuning.min_reference = 3000;  // between the histogram's powers of two
  EXPECT_EQ(choose_send_plan(shape_of({{10, 3500}}), 1, caps_with(4), tuning, Mode::kAuto).path,
            Path::kGather);
  tuning.flush_threshold = 12345;
  for (const Mode mode : kModes) {
    EXPECT_EQ(choose_send_plan(shape, 1, caps_with(4), tuning, mode).flush_bytes, 12345u);
  }
}

TEST(SendPlan, forced_modes_do_what_they_say) {
  const Shape shape = shape_of({{4, 65536}, {100, 16}});
  for (const std::size_t limit : kLimits) {
    const DriverCaps caps = caps_with(limit);
    const Plan gather = choose_send_plan(shape, 2, caps, {}, Mode::kGather);
    const Plan hybrid = choose_send_plan(shape, 2, caps, {}, Mode::kHybrid);
    const Plan pipeline = choose_send_plan(shape, 2, caps, {}, Mode::kPipeline);
    const Plan pack = choose_send_plan(shape, 2, caps, {}, Mode::kPack);
    EXPECT_EQ(gather.path, limit == 1 ? Path::kPipeline : Path::kGather);
    EXPECT_EQ(gather.reference_from, limit == 1 ? Plan::kNever : 1u);
    EXPECT_EQ(hybrid.path, limit == 1 ? Path::kPipeline : Path::kHybrid);
    EXPECT_EQ(hybrid.reference_from, limit == 1 ? Plan::kNever : 2048u);
    EXPECT_EQ(pipeline.path, Path::kPipeline);
    EXPECT_EQ(pipeline.reference_from, Plan::kNever);
    EXPECT_EQ(pack.path, Path::kPack);
    EXPECT_EQ(pack.reference_from, limit == 1 ? Plan::kNever : 1u);
  }
  // Gathering refuses neither short runs nor many blocks when it is asked for.
  Tuning few;
  few.max_blocks = 1;
  EXPECT_EQ(choose_send_plan(shape_of({{50, 1}}), 9, caps_with(4), few, Mode::kGather).path,
            Path::kGather);
}

TEST(SendPlan, one_run_is_packed_only_when_asked_for) {
  EXPECT_EQ(choose_send_plan(one_run(4096), 2, caps_with(4), {}, Mode::kPack).path, Path::kPack);
}

TEST(SendPlan, nothing_to_send_is_contiguous) {
  EXPECT_EQ(choose_send_plan(Shape{}, 5, caps_with(4), {}, Mode::kGather).path, Path::kContiguous);
  const Plan none = choose_send_plan(shape_of({{9, 9}}), 0, caps_with(4), {}, Mode::kHybrid);
  EXPECT_EQ(none.path, Path::kContiguous);
  EXPECT_EQ(none.reason, "no data");
}

TEST(SendPlan, every_plan_has_its_reason) {
  for (const std::size_t limit : kLimits) {
    for (const Mode mode : kModes) {
      for (const Shape& shape :
           {one_run(8), one_run(1 << 20), shape_of({{9, 9}}), shape_of({{9, 9999}, {9, 9}})}) {
        EXPECT_FALSE(choose_send_plan(shape, 3, caps_with(limit), {}, mode).reason.empty());
        EXPECT_FALSE(choose_receive_plan(shape, 3, {}, mode).reason.empty());
      }
    }
  }
}

TEST(ReceivePlan, is_in_place_or_as_it_arrives) {
  const auto path = [](const Shape& shape, std::uint64_t count, Mode mode) {
    return choose_receive_plan(shape, count, {}, mode).path;
  };
  EXPECT_EQ(path(one_run(64), 7, Mode::kAuto), Path::kContiguous);
  EXPECT_EQ(path(one_run(64, false), 1, Mode::kGather), Path::kContiguous);
  EXPECT_EQ(path(one_run(64, false), 2, Mode::kAuto), Path::kPipeline);
  EXPECT_EQ(path(one_run(64), 7, Mode::kPack), Path::kPack);
  // Long runs are received where they belong, short ones if that is asked for.
  EXPECT_EQ(path(shape_of({{9, 9999}}), 1, Mode::kAuto), Path::kGather);
  EXPECT_EQ(path(shape_of({{9, 9999}}), 1, Mode::kHybrid), Path::kGather);
  EXPECT_EQ(path(shape_of({{9, 9999}}), 1, Mode::kPipeline), Path::kPipeline);
  EXPECT_EQ(path(shape_of({{9, 9}}), 1, Mode::kAuto), Path::kPipeline);
  EXPECT_EQ(path(shape_of({{9, 9}}), 1, Mode::kGather), Path::kGather);
  Tuning few;
  few.max_blocks = 8;
  EXPECT_EQ(choose_receive_plan(shape_of({{9, 9999}}), 1, few, Mode::kAuto).path, Path::kPipeline);
}

TEST(Names, are_those_of_the_interface) {
  EXPECT_EQ(to_string(Mode::kAuto), "auto");
  EXPECT_EQ(to_string(Mode::kPack), "pack");
  EXPECT_EQ(to_string(Path::kContiguous), "contiguous");
  EXPECT_EQ(to_string(Path::kHybrid), "hybrid");
}

}  // namespace
}  // namespace mad
