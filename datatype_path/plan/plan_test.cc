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

LinkCaps caps_with(std::size_t max_iov) {
  LinkCaps caps;
  caps.max_iov = max_iov;
  caps.max_packet_bytes = 1 << 20;
  caps.inject_bytes = 128;
  return caps;
}

// References runs of 2048 bytes and more, unless `tuning` says otherwise.
Policy policy_with(std::size_t max_iov, Tuning tuning = {}) {
  if (tuning.reference_from == 0) tuning.reference_from = 2048;
  return {caps_with(max_iov), default_costs("tcp"), tuning};
}

constexpr std::size_t kLimits[] = {1, 2, 4, 6, 8, 1024};
constexpr Mode kModes[] = {Mode::kAuto, Mode::kGather, Mode::kHybrid, Mode::kPipeline, Mode::kPack};

TEST(Sending, one_run_is_referenced_unless_short) {
  for (const std::size_t limit : kLimits) {
    for (const Mode mode : kModes) {
      if (mode == Mode::kPack) continue;
      const Plan plan = policy_with(limit).send(one_run(1 << 16), 3, mode);
      EXPECT_EQ(plan.path, Path::kContiguous);
      EXPECT_EQ(plan.reference_from, limit == 1 ? Plan::kNever : 1u) << limit;
    }
  }
  const auto reference = [](std::uint64_t bytes, std::uint64_t count) {
    return policy_with(4).send(one_run(bytes), count, Mode::kAuto).reference_from;
  };
  EXPECT_EQ(reference(100, 1), Plan::kNever);
  EXPECT_EQ(reference(2047, 1), Plan::kNever);
  EXPECT_EQ(reference(2048, 1), 1u);
  EXPECT_EQ(reference(512, 4), 1u);
  LinkCaps wide = caps_with(4);
  wide.inject_bytes = 4096;
  EXPECT_EQ(Policy(wide, default_costs("tcp"), {}).send_run(4096).reference_from, Plan::kNever);
}

TEST(Sending, an_element_of_one_run_is_contiguous_alone_only) {
  const Shape padded = one_run(4096, false);
  EXPECT_EQ(policy_with(4).send(padded, 1, Mode::kAuto).path, Path::kContiguous);
  EXPECT_EQ(policy_with(4).send(padded, 2, Mode::kAuto).path, Path::kGather);
}

TEST(Sending, long_runs_are_gathered_where_the_fabric_can) {
  const Shape shape = shape_of({{16, 4096}});
  for (const std::size_t limit : kLimits) {
    const Plan plan = policy_with(limit).send(shape, 10, Mode::kAuto);
    EXPECT_EQ(plan.path, limit > 1 ? Path::kGather : Path::kPipeline) << limit;
    EXPECT_EQ(plan.reference_from, limit > 1 ? 1u : Plan::kNever) << limit;
  }
}

// The fewer segments a packet takes, the longer runs must be to be worth one.
TEST(Sending, short_lists_ask_for_longer_runs) {
  const auto path = [](std::size_t run, std::size_t limit) {
    const Policy policy(caps_with(limit), default_costs("tcp"), {});
    return policy.send(shape_of({{1000, run}}), 1, Mode::kAuto).path;
  };
  EXPECT_EQ(path(4096, 4), Path::kPipeline);
  EXPECT_EQ(path(4096, 1024), Path::kGather);
  EXPECT_EQ(path(65536, 4), Path::kGather);
  EXPECT_EQ(path(64, 1024), Path::kPipeline);
}

TEST(Sending, short_runs_are_staged) {
  const Plan plan = policy_with(1024).send(shape_of({{1000, 64}}), 10, Mode::kAuto);
  EXPECT_EQ(plan.path, Path::kPipeline);
  EXPECT_EQ(plan.reference_from, Plan::kNever);
}

TEST(Sending, mixed_runs_are_split_by_length) {
  const auto auto_plan = [](const Shape& shape) {
    return policy_with(1024).send(shape, 1, Mode::kAuto);
  };
  EXPECT_EQ(auto_plan(shape_of({{4, 65536}, {4, 16}})).path, Path::kHybrid);
  EXPECT_EQ(auto_plan(shape_of({{4, 65536}, {4, 16}})).reference_from, 2048u);
  // The mean run is short here, but the bytes are in the long one.
  EXPECT_EQ(auto_plan(shape_of({{1, 65536}, {1000, 8}})).path, Path::kHybrid);
}

TEST(Sending, mixed_runs_are_all_staged_where_segments_are_dear) {
  Costs costs = default_costs("tcp");
  const Shape shape = shape_of({{1000, 4096}, {1000, 64}});
  EXPECT_EQ(Policy(caps_with(1024), costs, {}).send(shape, 1, Mode::kAuto).path, Path::kHybrid);
  // A segment alone would still pay, but each long run brings a short one's with it.
  costs.segment_ns = 500;
  EXPECT_EQ(Policy(caps_with(1024), costs, {}).send(shape, 1, Mode::kAuto).path, Path::kPipeline);
}

TEST(Sending, tuning_moves_the_limits) {
  Tuning tuning;
  tuning.max_blocks = 100;
  const Shape shape = shape_of({{10, 4096}});
  EXPECT_EQ(policy_with(4, tuning).send(shape, 10, Mode::kAuto).path, Path::kGather);
  const Plan many = policy_with(4, tuning).send(shape, 11, Mode::kAuto);
  EXPECT_EQ(many.path, Path::kPipeline);
  EXPECT_EQ(many.reason, "more runs than max_blocks");
  // A product beyond 64 bits is many, not few.
  EXPECT_EQ(policy_with(4, tuning).send(shape, UINT64_MAX / 2, Mode::kAuto).path, Path::kPipeline);
  tuning.reference_from = 5000;
  EXPECT_EQ(policy_with(4, tuning).send(shape, 1, Mode::kAuto).path, Path::kPipeline);
  tuning.flush_threshold = 12345;
  for (const Mode mode : kModes) {
    EXPECT_EQ(policy_with(4, tuning).send(shape, 1, mode).flush_bytes, 12345u);
  }
}

TEST(Sending, forced_modes_do_what_they_say) {
  const Shape shape = shape_of({{4, 65536}, {100, 16}});
  for (const std::size_t limit : kLimits) {
    const Policy policy = policy_with(limit);
    const Plan gather = policy.send(shape, 2, Mode::kGather);
    const Plan hybrid = policy.send(shape, 2, Mode::kHybrid);
    const Plan pipeline = policy.send(shape, 2, Mode::kPipeline);
    const Plan pack = policy.send(shape, 2, Mode::kPack);
    EXPECT_EQ(gather.path, limit == 1 ? Path::kPipeline : Path::kGather);
    EXPECT_EQ(gather.reference_from, limit == 1 ? Plan::kNever : 1u);
    EXPECT_EQ(hybrid.path, limit == 1 ? Path::kPipeline : Path::kHybrid);
    if (limit > 1) {
      EXPECT_EQ(hybrid.reference_from, 2048u);
    }
    EXPECT_EQ(pipeline.path, Path::kPipeline);
    EXPECT_EQ(pipeline.reference_from, Plan::kNever);
    EXPECT_EQ(pack.path, Path::kPack);
    EXPECT_EQ(pack.reference_from, limit == 1 ? Plan::kNever : 1u);
  }
  // Gathering refuses neither short runs nor many blocks when it is asked for.
  Tuning few;
  few.max_blocks = 1;
  EXPECT_EQ(policy_with(4, few).send(shape_of({{50, 1}}), 9, Mode::kGather).path, Path::kGather);
}

TEST(Sending, one_run_is_packed_only_when_asked_for) {
  EXPECT_EQ(policy_with(4).send(one_run(4096), 2, Mode::kPack).path, Path::kPack);
}

TEST(Sending, nothing_to_send_is_contiguous) {
  EXPECT_EQ(policy_with(4).send(Shape{}, 5, Mode::kGather).path, Path::kContiguous);
  const Plan none = policy_with(4).send(shape_of({{9, 9}}), 0, Mode::kHybrid);
  EXPECT_EQ(none.path, Path::kContiguous);
  EXPECT_EQ(none.reason, "no data");
}

TEST(Sending, every_plan_has_its_reason) {
  for (const std::size_t limit : kLimits) {
    for (const Mode mode : kModes) {
      for (const Shape& shape :
           {one_run(8), one_run(1 << 20), shape_of({{9, 9}}), shape_of({{9, 9999}, {9, 9}})}) {
        EXPECT_FALSE(policy_with(limit).send(shape, 3, mode).reason.empty());
        EXPECT_FALSE(policy_with(limit).receive(shape, 3, mode).reason.empty());
      }
    }
  }
}

// What auto chooses is what the model says is cheapest, on any fabric.
TEST(Sending, auto_takes_what_is_predicted_cheapest) {
  for (const std::size_t limit : kLimits) {
    const Policy policy(caps_with(limit), default_costs("tcp"), {});
    for (std::uint64_t run = 16; run <= 1 << 17; run *= 2) {
      const Shape shape = shape_of({{256, run}});
      const double chosen = policy.predicted_ns(shape, 8, policy.send(shape, 8, Mode::kAuto));
      for (const Mode mode : {Mode::kGather, Mode::kPipeline, Mode::kPack}) {
        const double forced = policy.predicted_ns(shape, 8, policy.send(shape, 8, mode));
        EXPECT_LE(chosen, forced * 1.01)
            << limit << " segments, runs of " << run << ", " << to_string(mode);
      }
    }
  }
}

TEST(Sending, work_of_touching_elements_is_that_of_one_run) {
  const Policy policy = policy_with(4);
  const SendWork run = policy.work(one_run(8), 100000, policy.send_run(800000));
  EXPECT_EQ(run.bytes, 800000u);
  EXPECT_EQ(run.segments, 1u);
  EXPECT_EQ(run.packets, 1u);
  EXPECT_EQ(run.staged, 0u);
  const Plan pack = policy.send(one_run(8), 100000, Mode::kPack);
  EXPECT_EQ(policy.work(one_run(8), 100000, pack).staged, 800000u);
  EXPECT_DOUBLE_EQ(policy.work(one_run(8), 100000, pack).copy_ns, policy.costs().copy(800000));
  EXPECT_EQ(policy.work(one_run(8), 0, policy.send_run(0)).bytes, 0u);
}

TEST(Sending, work_is_what_the_plan_says) {
  const Policy policy = policy_with(1024);
  const Shape mixed = shape_of({{10, 64}, {10, 4096}});
  const auto staged = [&](Mode mode) {
    return policy.work(mixed, 2, policy.send(mixed, 2, mode)).staged;
  };
  EXPECT_EQ(staged(Mode::kGather), 0u);
  EXPECT_EQ(staged(Mode::kPipeline), 2 * mixed.bytes);
  EXPECT_EQ(staged(Mode::kPack), 2 * mixed.bytes);
  EXPECT_GT(staged(Mode::kHybrid), 0u);
  EXPECT_LT(staged(Mode::kHybrid), mixed.bytes);
}

TEST(Receiving, is_in_place_or_as_it_arrives) {
  const auto path = [](const Shape& shape, std::uint64_t count, Mode mode) {
    return policy_with(4).receive(shape, count, mode).path;
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
  EXPECT_EQ(policy_with(4, few).receive(shape_of({{9, 9999}}), 1, Mode::kAuto).path,
            Path::kPipeline);
}

// A limit belongs to what it allows: runs of 2048 bytes are long, those a byte shorter are not.
TEST(Limits, are_the_least_lengths) {
  const auto sent = [](std::initializer_list<Runs> groups) {
    return policy_with(1024).send(shape_of(groups), 1, Mode::kAuto).path;
  };
  EXPECT_EQ(sent({{9, 2048}}), Path::kGather);
  EXPECT_EQ(sent({{9, 2047}}), Path::kPipeline);
  const auto received = [](std::uint64_t run, std::uint64_t runs) {
    Tuning tuning;
    tuning.max_blocks = 9;
    return policy_with(4, tuning).receive(shape_of({{runs, run}}), 1, Mode::kAuto).path;
  };
  EXPECT_EQ(received(2048, 9), Path::kGather);
  EXPECT_EQ(received(2047, 9), Path::kPipeline);
  EXPECT_EQ(received(2048, 10), Path::kPipeline);
  const auto alone = [](std::uint64_t bytes, std::size_t segments) {
    return policy_with(segments).send_run(bytes).reference_from;
  };
  EXPECT_EQ(alone(2048, 2), 1u);
  EXPECT_EQ(alone(2047, 2), Plan::kNever);
  EXPECT_EQ(alone(2048, 1), Plan::kNever);
}

TEST(Limits, of_one_segment_a_packet_are_none) {
  EXPECT_EQ(policy_with(1).limits().send, Plan::kNever);
  EXPECT_EQ(policy_with(2).limits().send, 2048u);
  EXPECT_EQ(policy_with(1).send(shape_of({{9, 9999}}), 1, Mode::kAuto).reason,
            "the fabric takes one segment a packet");
  EXPECT_EQ(policy_with(1).send_run(8).reason,
            "one run, copied: the fabric takes one segment a packet");
  EXPECT_EQ(policy_with(2).send_run(8).reason, "one run, copied: it is short");
}

// The one buffer of the whole message is new memory.
TEST(Sending, what_is_packed_touches_pages) {
  Costs costs = default_costs("tcp");
  const auto predicted = [&](Mode mode) {
    const Policy policy(caps_with(4), costs, {});
    const Shape shape = shape_of({{16, 4096}});
    return policy.predicted_ns(shape, 1, policy.send(shape, 1, mode));
  };
  costs.page_ns = 0;
  const double packed = predicted(Mode::kPack), staged = predicted(Mode::kPipeline);
  costs.page_ns = 100;
  EXPECT_DOUBLE_EQ(predicted(Mode::kPack), packed + 16 * 100);
  EXPECT_DOUBLE_EQ(predicted(Mode::kPipeline), staged);
}

TEST(Names, are_those_of_the_interface) {
  EXPECT_EQ(to_string(Mode::kAuto), "auto");
  EXPECT_EQ(to_string(Mode::kPack), "pack");
  EXPECT_EQ(to_string(Path::kContiguous), "contiguous");
  EXPECT_EQ(to_string(Path::kHybrid), "hybrid");
}

}  // namespace
}  // namespace mad
