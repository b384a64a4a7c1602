#include "datatype_path/transfer/run_transfer.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/packet_stream.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::PacketLimits;
using test::PacketStream;
using test::RandomTypes;

Segment all(std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

std::vector<std::byte> random_bytes(std::size_t size, RandomTypes& random) {
  std::vector<std::byte> bytes(size);
  test::fill_randomly(bytes, random);
  return bytes;
}

TEST(RunSource, packets_concatenate_to_the_run) {
  RandomTypes random(test::seed_from_environment(21));
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    std::vector<std::byte> run = random_bytes(random.between(0, 4000), random);
    const PacketLimits limits = test::random_limits(random);
    RunSource source(all(run), static_cast<std::uint64_t>(random.between(1, 5000)));
    PacketStream stream(limits, run.size());
    stream.drain(source, run.size(), random);
    ASSERT_EQ(stream.bytes(), run);
    ASSERT_EQ(stream.staged() + stream.referenced(), run.size());
  }
}

TEST(RunSource, fills_lent_memory_whatever_it_may_reference) {
  RandomTypes random(test::seed_from_environment(22));
  for (int n = 0; n < 200; ++n) {
    std::vector<std::byte> run = random_bytes(random.between(1, 4000), random);
    const auto from = static_cast<std::size_t>(random.between(1, 5000));
    RunSource source(all(run), from);
    std::vector<std::byte> lent(run.size());
    Packet packet({}, 4, 0);
    for (std::size_t done = 0; done < lent.size(); done += packet.bytes()) {
      const std::size_t room = static_cast<std::size_t>(random.between(1, 3000));
      packet.lend({lent.data() + done, std::min(room, lent.size() - done)});
      source.fill(packet, packet.bytes_room());
      ASSERT_EQ(packet.bytes_room(), 0u);
      ASSERT_EQ(packet.staged_bytes(), packet.bytes()) << from;
    }
    ASSERT_EQ(lent, run);
  }
}

TEST(RunSource, references_or_copies_as_told) {
  RandomTypes random(1);
  std::vector<std::byte> run = random_bytes(10000, random);
  for (const std::uint64_t from : {std::uint64_t{1}, std::uint64_t{10000}, UINT64_MAX}) {
    RunSource source(all(run), from);
    PacketLimits limits;
    limits.memory_bytes = 20000;
    PacketStream stream(limits, run.size());
    stream.drain(source, run.size(), random);
    EXPECT_EQ(stream.bytes(), run);
    EXPECT_EQ(stream.packets(), 1u);
    EXPECT_EQ(stream.referenced(), from == UINT64_MAX ? 0u : 10000u);
  }
}

TEST(RunSource, copies_where_the_fabric_takes_one_segment) {
  RandomTypes random(2);
  std::vector<std::byte> run = random_bytes(10000, random);
  RunSource source(all(run), 1);
  PacketLimits limits;
  limits.max_segments = 1;
  PacketStream stream(limits, run.size());
  stream.drain(source, run.size(), random);
  EXPECT_EQ(stream.bytes(), run);
  EXPECT_EQ(stream.referenced(), 0u);
  EXPECT_EQ(stream.packets(), (10000 + 4055) / 4056);
}

TEST(RunSink, takes_fragments_in_any_order) {
  RandomTypes random(test::seed_from_environment(22));
  for (int n = 0; n < 500; ++n) {
    const std::vector<std::byte> payload = random_bytes(random.between(0, 2000), random);
    std::vector<std::byte> memory(payload.size());
    RunSink sink(all(memory));
    for (const auto& [at, size] : test::fragments(payload.size(), 300, random)) {
      sink.place(at, {const_cast<std::byte*>(payload.data()) + at, size});
    }
    ASSERT_EQ(memory, payload);
  }
}

TEST(RunSink, ignores_what_lies_beyond_its_end) {
  std::vector<std::byte> memory(10), payload(100, std::byte{1});
  RunSink sink({memory.data(), 8});
  sink.place(8, all(payload));
  sink.place(UINT64_MAX, all(payload));
  EXPECT_EQ(memory, std::vector<std::byte>(10));
  sink.place(5, all(payload));
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{1}), 3);
  EXPECT_EQ(memory[8], std::byte{0});
}

TEST(RunSink, is_in_place_within_its_bounds) {
  std::vector<std::byte> memory(10);
  RunSink sink(all(memory));
  const auto found = [&sink](std::uint64_t offset, std::uint64_t size) {
    Segment run;
    return sink.runs(offset, size, &run, 1) == 1 ? run : Segment{};
  };
  EXPECT_EQ(found(0, 10).begin(), memory.data());
  EXPECT_EQ(found(3, 7).begin(), memory.data() + 3);
  EXPECT_EQ(found(3, 7).size, 7u);
  EXPECT_EQ(found(3, 8).size, 0u);
  EXPECT_EQ(found(11, 0).size, 0u);
  EXPECT_EQ(found(1, UINT64_MAX).size, 0u);
}

}  // namespace
}  // namespace mad
