// ReceiveTransfer as plans start it: every plan places the same bytes, and only the forced pack
// allocates.
#include "datatype_path/transfer/receive_transfer.h"

#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::Arena;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::Sample;

constexpr Mode kModes[] = {Mode::kAuto, Mode::kGather, Mode::kHybrid, Mode::kPipeline, Mode::kPack};

TEST(ReceiveTransfer, every_plan_places_the_payload) {
  RandomTypes random(test::seed_from_environment(42));
  RandomTypeOptions options;
  options.overlaps = false;
  const Policy policy({}, default_costs("tcp"), {});
  for (int n = 0; n < 1000; ++n) {
    Sample s(random, options);
    std::vector<std::byte> payload = s.packed;
    if (random.between(0, 3) == 0) {
      payload.resize(static_cast<std::size_t>(random.between(0, payload.size())));
    }
    Arena expected(s.map, std::byte{0xee});
    const Arena untouched = expected;
    test::unpack(s.map, payload, expected);
    LineMemory lines;
    ReceiveTransfer transfer;
    for (const Mode mode : kModes) {
      Arena memory = untouched;
      const auto pieces = test::fragments(payload.size(), 300, random);
      const Plan plan = policy.receive(s.program->shape(), s.count, mode);
      const test::Allocations before = test::allocations();
      PayloadSink& sink =
          transfer.start_layout(s.program, memory.base(), s.count, payload.size(), plan, &lines);
      for (const auto& [at, size] : pieces) sink.place(at, {payload.data() + at, size});
      transfer.finish(payload.size());
      const std::size_t allocated = test::allocations().count - before.count;
      ASSERT_EQ(allocated, plan.path == Path::kPack ? 1u : 0u);
      if (plan.path == Path::kPack) {
        ASSERT_EQ(test::allocations().bytes - before.bytes, payload.size());
      }
      ASSERT_EQ(memory.bytes(), expected.bytes()) << to_string(plan.path) << " " << s.text();
    }
  }
}

TEST(ReceiveTransfer, places_one_run_where_it_is) {
  const auto program =
      BlockProgram::compile(
          *TypeDesc::resized(-4, 24,
                             TypeDesc::indexed({8}, {4}, TypeDesc::bytes(1).value()).value())
               .value())
          .value();
  std::vector<std::byte> memory(16);
  const Plan plan = Policy({}, default_costs("tcp"), {}).receive(program->shape(), 1, Mode::kAuto);
  ASSERT_EQ(plan.path, Path::kContiguous);
  LineMemory lines;
  ReceiveTransfer transfer;
  PayloadSink& sink = transfer.start_layout(program, memory.data(), 1, 8, plan, &lines);
  Segment run;
  ASSERT_EQ(sink.runs(0, 8, &run, 1), 1u);
  EXPECT_EQ(run.begin(), memory.data() + 4);
  EXPECT_EQ(sink.runs(0, 9, &run, 1), 0u);
}

TEST(ReceiveTransfer, collecting_fails_cleanly_without_memory) {
  const auto program =
      BlockProgram::compile(*TypeDesc::vector(4, 1, 8, TypeDesc::bytes(4).value()).value()).value();
  std::vector<std::byte> memory(28), payload(16, std::byte{1});
  const Plan pack{Path::kPack, Plan::kNever, 0, ""};
  LineMemory lines;
  ReceiveTransfer transfer;
  test::fail_allocations_from(16);
  EXPECT_THROW(transfer.start_layout(program, memory.data(), 1, 16, pack, &lines), std::bad_alloc);
  test::fail_allocations_from(0);
  // It can be used again, and finishing what never started does nothing.
  transfer.finish(16);
  transfer.start_layout(program, memory.data(), 1, 16, pack, &lines).place(0, {payload.data(), 16});
  transfer.finish(16);
  EXPECT_EQ(memory[24], std::byte{1});
}

}  // namespace
}  // namespace mad
