// Payloads in random layouts, through packets of all sizes, against the literal type map.
#include "datatype_path/transfer/layout_transfer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "gtest/gtest.h"
#include "tests/support/packet_stream.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"
#include "tests/support/type_map.h"

namespace mad {
namespace {

using test::Arena;
using test::PacketLimits;
using test::PacketStream;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::Sample;

constexpr int kTypes = 1500;

std::uint64_t random_threshold(RandomTypes& random) {
  switch (random.between(0, 3)) {
    case 0:
      return LayoutSource::kNeverReference;
    case 1:
      return 1;
    default:
      return static_cast<std::uint64_t>(random.between(2, 100));
  }
}

TEST(LayoutSource, packets_concatenate_to_the_packed_stream) {
  RandomTypes random(test::seed_from_environment(11));
  for (int n = 0; n < kTypes && !HasFailure(); ++n) {
    Sample s(random);
    const PacketLimits limits = test::random_limits(random);
    const std::uint64_t threshold = random_threshold(random);
    LayoutSource source(s.program, s.memory.base(), s.count, threshold);
    PacketStream stream(limits, s.packed.size());
    stream.drain(source, s.packed.size(), random);
    ASSERT_EQ(stream.bytes(), s.packed) << s.text();
    ASSERT_EQ(stream.staged() + stream.referenced(), s.packed.size());
    if (threshold == LayoutSource::kNeverReference) {
      ASSERT_EQ(stream.referenced(), 0u) << s.text();
    }
    // Where a segment is left beside the header, asking for everything by reference gets it.
    if (threshold == 1 && limits.max_segments > 1) {
      ASSERT_EQ(stream.staged(), 0u) << s.text();
    }
  }
}

TEST(LayoutPayload, is_packed_at_once) {
  RandomTypes random(test::seed_from_environment(15));
  for (int n = 0; n < kTypes && !HasFailure(); ++n) {
    Sample s(random);
    const LayoutPayload payload(*s.program, s.memory.base(), s.count);
    ASSERT_EQ(payload.bytes(), s.packed.size()) << s.text();
    std::vector<std::byte> out(s.packed.size() + 1, std::byte{7});
    payload.write(out.data());
    ASSERT_EQ(out.back(), std::byte{7}) << s.text();
    out.pop_back();
    ASSERT_EQ(out, s.packed) << s.text();
    const Shape& shape = s.program->shape();
    ASSERT_EQ(payload.run_bytes(), shape.contiguous ? s.packed.size() : shape.mean_run());
  }
}

TEST(LayoutSource, fills_lent_memory_whatever_it_may_reference) {
  RandomTypes random(test::seed_from_environment(13));
  for (int n = 0; n < kTypes && !HasFailure(); ++n) {
    Sample s(random);
    const std::uint64_t threshold = random_threshold(random);
    LayoutSource keeping(s.program, s.memory.base(), s.count, threshold);
    LayoutSource borrowing(*s.program, s.memory.base(), s.count, threshold);
    LayoutSource& source = random.between(0, 1) == 0 ? keeping : borrowing;
    std::vector<std::byte> lent(s.packed.size());
    Packet packet({}, 4, 0);
    for (std::size_t done = 0; done < lent.size(); done += packet.bytes()) {
      const std::size_t room = static_cast<std::size_t>(random.between(1, 3000));
      packet.lend({lent.data() + done, std::min(room, lent.size() - done)});
      source.fill(packet, packet.bytes_room());
      ASSERT_EQ(packet.bytes_room(), 0u) << s.text();
      ASSERT_EQ(packet.staged_bytes(), packet.bytes());
    }
    ASSERT_EQ(lent, s.packed) << s.text();
  }
}

TEST(LayoutSource, splits_by_length_where_nothing_is_short) {
  RandomTypes random(test::seed_from_environment(12));
  for (int n = 0; n < kTypes && !HasFailure(); ++n) {
    Sample s(random);
    const std::uint64_t threshold = static_cast<std::uint64_t>(random.between(2, 100));
    std::uint64_t long_bytes = 0;
    Cursor runs(*s.program, s.memory.base(), s.count);
    while (runs.position() < runs.total()) {
      const Segment run = runs.next_run(SIZE_MAX);
      if (run.size >= threshold) long_bytes += run.size;
      runs.advance(run.size);
    }
    PacketLimits limits;
    limits.memory_bytes = 1 << 20;
    limits.max_segments = static_cast<std::size_t>(random.between(3, 64));
    LayoutSource source(s.program, s.memory.base(), s.count, threshold);
    PacketStream stream(limits, s.packed.size());
    stream.drain(source, s.packed.size(), random);
    ASSERT_EQ(stream.bytes(), s.packed) << s.text();
    ASSERT_EQ(stream.referenced(), long_bytes) << threshold << " " << s.text();
  }
}

TEST(LayoutSource, sends_the_first_part_only_when_no_more_is_wanted) {
  RandomTypes random(test::seed_from_environment(13));
  for (int n = 0; n < 500 && !HasFailure(); ++n) {
    Sample s(random);
    const auto wanted = static_cast<std::size_t>(random.between(0, s.packed.size()));
    LayoutSource source(s.program, s.memory.base(), s.count, random_threshold(random));
    PacketStream stream(test::random_limits(random), wanted);
    stream.drain(source, wanted, random);
    ASSERT_TRUE(std::equal(stream.bytes().begin(), stream.bytes().end(), s.packed.begin(),
                           s.packed.begin() + static_cast<std::ptrdiff_t>(wanted)));
  }
}

TEST(LayoutSource, fills_packets_with_runs_of_both_kinds) {
  // 8 bytes, a gap, 64 bytes, a gap: with 4 segments a packet holds the header and the first short
  // run, a long run, a short one, a long one; and the next begins with a short one.
  const TypeDescPtr bytes = TypeDesc::bytes(1).value();
  const TypeDescPtr pair = TypeDesc::indexed({8, 64}, {0, 16}, bytes).value();
  const TypeDescPtr type = TypeDesc::vector(6, 1, 96, pair).value();
  const auto program = BlockProgram::compile(*type).value();
  std::vector<std::byte> memory(6 * 96);
  LayoutSource source(program, memory.data(), 1, 32);
  RandomTypes random(1);
  PacketStream stream({}, program->size());
  stream.drain(source, program->size(), random);
  EXPECT_EQ(stream.packets(), 3u);
  EXPECT_EQ(stream.staged(), 6u * 8);
  EXPECT_EQ(stream.referenced(), 6u * 64);
  EXPECT_EQ(stream.referenced_segments(), 6u);
}

TEST(LayoutSource, keeps_its_program_alive) {
  auto program =
      BlockProgram::compile(*TypeDesc::vector(4, 1, 8, TypeDesc::bytes(4).value()).value()).value();
  std::vector<std::byte> memory(32, std::byte{7});
  LayoutSource source(program, memory.data(), 1, LayoutSource::kNeverReference);
  LayoutSink sink(program, memory.data(), 1, false);
  const std::weak_ptr<const BlockProgram> watched = program;
  program.reset();
  EXPECT_FALSE(watched.expired());
  RandomTypes random(1);
  PacketStream stream({}, 16);
  stream.drain(source, 16, random);
  EXPECT_EQ(stream.bytes(), std::vector<std::byte>(16, std::byte{7}));
}

TEST(LayoutSink, takes_fragments_in_any_order) {
  RandomTypes random(test::seed_from_environment(14));
  RandomTypeOptions options;
  options.overlaps = false;
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random, options);
    // Sometimes only the first part is received.
    std::vector<std::byte> payload = s.packed;
    if (random.between(0, 3) == 0) {
      payload.resize(static_cast<std::size_t>(random.between(0, payload.size())));
    }
    Arena expected(s.map, std::byte{0xee}), memory(s.map, std::byte{0xee});
    test::unpack(s.map, payload, expected);
    LayoutSink sink(s.program, memory.base(), s.count, false);
    for (const auto& [at, size] : test::fragments(payload.size(), 300, random)) {
      sink.place(at, {payload.data() + at, size});
    }
    ASSERT_EQ(memory.bytes(), expected.bytes()) << s.text();
  }
}

TEST(LayoutSink, ignores_what_lies_beyond_its_end) {
  const auto program =
      BlockProgram::compile(*TypeDesc::vector(2, 1, 8, TypeDesc::bytes(4).value()).value()).value();
  std::vector<std::byte> memory(12), payload(100, std::byte{9});
  LayoutSink sink(program, memory.data(), 1, false);
  sink.place(8, {payload.data(), payload.size()});
  sink.place(UINT64_MAX, {payload.data(), payload.size()});
  EXPECT_EQ(memory, std::vector<std::byte>(12));
  sink.place(6, {payload.data(), payload.size()});
  EXPECT_EQ(std::count(memory.begin(), memory.end(), std::byte{9}), 2);
  EXPECT_EQ(memory[10], std::byte{9});
  EXPECT_EQ(memory[11], std::byte{9});
}

TEST(LayoutSink, is_in_place_exactly_where_the_bytes_are_one_run) {
  RandomTypes random(test::seed_from_environment(15));
  int in_place = 0, scattered = 0;
  for (int n = 0; n < kTypes; ++n) {
    Sample s(random);
    if (s.packed.empty()) continue;
    const std::vector<std::int64_t> places = test::byte_places(s.map);
    LayoutSink sink(s.program, s.memory.base(), s.count, false);
    LayoutSink scattered_sink(s.program, s.memory.base(), s.count, true);
    for (int i = 0; i < 8; ++i) {
      const auto offset = static_cast<std::size_t>(random.between(0, places.size() - 1));
      const auto left = static_cast<std::int64_t>(places.size() - offset);
      const auto size = static_cast<std::size_t>(
          random.between(1, i < 4 ? std::min<std::int64_t>(left, 40) : left));
      const bool one_run =
          places[offset + size - 1] - places[offset] == static_cast<std::int64_t>(size) - 1 &&
          std::adjacent_find(places.begin() + static_cast<std::ptrdiff_t>(offset),
                             places.begin() + static_cast<std::ptrdiff_t>(offset + size),
                             [](auto a, auto b) { return b != a + 1; }) ==
              places.begin() + static_cast<std::ptrdiff_t>(offset + size);
      Segment found;
      ASSERT_EQ(sink.runs(offset, size, &found, 1), one_run ? 1u : 0u) << s.text();
      if (one_run) {
        ASSERT_EQ(found.size, size) << offset << " " << size << " " << s.text();
        ASSERT_EQ(found.begin(), &s.memory[places[offset]]);
      }
      // Run by run it is in place everywhere.
      std::array<Segment, 5> runs;
      const std::size_t count = scattered_sink.runs(offset, size, runs.data(), runs.size());
      ASSERT_GE(count, 1u);
      std::size_t at = offset;
      for (std::size_t r = 0; r < count; ++r) {
        ASSERT_GT(runs[r].size, 0u);
        for (std::size_t k = 0; k < runs[r].size; ++k) {
          ASSERT_EQ(runs[r].begin() + k, &s.memory[places[at++]]) << s.text();
        }
      }
      ASSERT_LE(at, offset + size);
      ASSERT_TRUE(count == runs.size() || at == offset + size) << s.text();
      ++(one_run ? in_place : scattered);
    }
    Segment none;
    ASSERT_EQ(sink.runs(places.size(), 1, &none, 1), 0u);
    ASSERT_EQ(sink.runs(places.size() + 1, 0, &none, 1), 0u);
    ASSERT_EQ(scattered_sink.runs(1, UINT64_MAX, &none, 1), 0u);
  }
  EXPECT_GT(in_place, 100);
  EXPECT_GT(scattered, 100);
}

TEST(Layout, of_no_bytes_has_no_place) {
  const auto program =
      BlockProgram::compile(*TypeDesc::contiguous(0, TypeDesc::bytes(4).value()).value()).value();
  LayoutSink sink(program, nullptr, 1000, false);
  std::byte some[4] = {};
  sink.place(0, {some, 4});
  Segment run;
  EXPECT_EQ(sink.runs(0, 0, &run, 1), 0u);
  EXPECT_EQ(sink.runs(0, 1, &run, 1), 0u);
}

}  // namespace
}  // namespace mad
