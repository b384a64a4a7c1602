// SendTransfer as plans start it: every plan sends the same bytes, and only the forced pack
// allocates.
#include "datatype_path/transfer/send_transfer.h"

#include <new>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/allocations.h"
#include "tests/support/packet_stream.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::PacketLimits;
using test::PacketStream;
using test::RandomTypes;
using test::Sample;

constexpr Mode kModes[] = {Mode::kAuto, Mode::kGather, Mode::kHybrid, Mode::kPipeline, Mode::kPack};

LinkCaps caps_of(const PacketLimits& limits) {
  LinkCaps caps;
  caps.max_iov = limits.max_segments;
  caps.max_packet_bytes = limits.max_bytes;
  caps.inject_bytes = 16;
  return caps;
}

Tuning small_tuning(RandomTypes& random) {
  Tuning tuning;
  tuning.reference_from = static_cast<std::size_t>(random.between(1, 100));
  tuning.max_blocks = static_cast<std::uint64_t>(random.between(1, 200));
  return tuning;
}

// What the plan promises of the way the bytes take.
void expect_planned(const Plan& plan, const PacketStream& stream, const std::string& text) {
  switch (plan.path) {
    case Path::kPipeline:
      EXPECT_EQ(stream.referenced(), 0u) << text;
      break;
    case Path::kGather:
      EXPECT_EQ(stream.staged(), 0u) << text;
      break;
    case Path::kHybrid:
      break;
    case Path::kContiguous:
    case Path::kPack:
      if (plan.reference_from == Plan::kNever && !stream.bytes().empty()) {
        EXPECT_GT(stream.staged(), 0u) << text;
      }
      break;
  }
}

TEST(SendTransfer, every_plan_sends_the_packed_stream) {
  RandomTypes random(test::seed_from_environment(41));
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    Sample s(random);
    SendTransfer transfer;  // the slots of the engine are used again
    for (const Mode mode : kModes) {
      const PacketLimits limits = test::random_limits(random);
      const Policy policy(caps_of(limits), default_costs("tcp"), small_tuning(random));
      const Plan plan = policy.send(s.program->shape(), s.count, mode);
      const std::size_t before = test::allocations().count;
      PayloadSource& source = transfer.start_layout(s.program, s.memory.base(), s.count, plan);
      const std::size_t starting = test::allocations().count - before;
      PacketStream stream(limits, s.packed.size());
      const std::size_t start = test::allocations().count;
      stream.drain(source, s.packed.size(), random);
      ASSERT_EQ(test::allocations().count, start) << to_string(plan.path);
      ASSERT_EQ(starting, plan.path == Path::kPack ? 1u : 0u) << to_string(plan.path);
      ASSERT_EQ(stream.bytes(), s.packed) << to_string(plan.path) << " " << s.text();
      expect_planned(plan, stream, s.text());
    }
  }
}

TEST(SendTransfer, sends_runs) {
  std::vector<std::byte> run(5000, std::byte{3});
  RandomTypes random(1);
  SendTransfer transfer;
  PacketStream stream({}, run.size());
  stream.drain(transfer.start_run({run.data(), run.size()}, 1), run.size(), random);
  EXPECT_EQ(stream.bytes(), run);
  EXPECT_EQ(stream.referenced(), run.size());
}

TEST(SendTransfer, packing_fails_cleanly_without_memory) {
  const auto program =
      BlockProgram::compile(*TypeDesc::vector(1 << 16, 1, 32, TypeDesc::bytes(16).value()).value())
          .value();
  std::vector<std::byte> memory(std::size_t{32} << 16);
  const Plan pack{Path::kPack, 1, 0, ""};
  SendTransfer transfer;
  test::fail_allocations_from(1 << 20);
  EXPECT_THROW(transfer.start_layout(program, memory.data(), 1, pack), std::bad_alloc);
  test::fail_allocations_from(0);
  // It can be used again.
  RandomTypes random(1);
  PacketStream stream({}, program->size());
  stream.drain(transfer.start_layout(program, memory.data(), 1, pack), program->size(), random);
  EXPECT_EQ(stream.bytes().size(), program->size());
}

}  // namespace
}  // namespace mad
