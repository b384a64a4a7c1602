#include "datatype_path/transfer/packed_transfer.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/support/packet_stream.h"
#include "tests/support/random_type.h"
#include "tests/support/sample.h"

namespace mad {
namespace {

using test::Arena;
using test::PacketStream;
using test::RandomTypeOptions;
using test::RandomTypes;
using test::Sample;

TEST(PackedSource, packets_concatenate_to_the_packed_stream) {
  RandomTypes random(test::seed_from_environment(31));
  for (int n = 0; n < 1000 && !HasFailure(); ++n) {
    Sample s(random);
    PackedSource source(*s.program, s.memory.base(), s.count,
                        static_cast<std::uint64_t>(random.between(1, 3000)));
    // What is sent was taken when the source was made.
    std::fill(s.memory.bytes().begin(), s.memory.bytes().end(), std::byte{0xee});
    PacketStream stream(test::random_limits(random), s.packed.size());
    stream.drain(source, s.packed.size(), random);
    ASSERT_EQ(stream.bytes(), s.packed) << s.text();
  }
}

TEST(PackedSink, touches_memory_only_when_finished) {
  RandomTypes random(test::seed_from_environment(32));
  RandomTypeOptions options;
  options.overlaps = false;
  for (int n = 0; n < 1000; ++n) {
    Sample s(random, options);
    const auto bytes = static_cast<std::size_t>(random.between(0, s.packed.size()));
    std::vector<std::byte> payload(s.packed.begin(),
                                   s.packed.begin() + static_cast<std::ptrdiff_t>(bytes));
    Arena untouched(s.map, std::byte{0xee}), expected = untouched, memory = untouched;
    test::unpack(s.map, payload, expected);
    PackedSink sink(s.program, memory.base(), s.count, bytes);
    for (const auto& [at, size] : test::fragments(bytes, 300, random)) {
      if (random.between(0, 1) == 0) {
        sink.place(at, {payload.data() + at, size});
      } else {
        Segment window;
        ASSERT_EQ(sink.runs(at, size, &window, 1), 1u);  // as a peer would write it
        ASSERT_EQ(window.size, size);
        std::copy_n(payload.data() + at, size, window.begin());
      }
    }
    ASSERT_EQ(memory.bytes(), untouched.bytes());
    sink.finish(bytes);
    ASSERT_EQ(memory.bytes(), expected.bytes()) << s.text();
  }
}

TEST(PackedSink, unpacks_no_more_than_arrived) {
  const auto program =
      BlockProgram::compile(*TypeDesc::vector(4, 1, 8, TypeDesc::bytes(4).value()).value()).value();
  std::vector<std::byte> memory(28), payload(6, std::byte{1});
  PackedSink sink(program, memory.data(), 1, 16);
  sink.place(0, {payload.data(), 6});
  Segment none;
  EXPECT_EQ(sink.runs(10, 7, &none, 1), 0u);
  sink.finish(6);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_EQ(memory[i], std::byte{i < 4 || (i >= 8 && i < 10)}) << i;
  }
}

}  // namespace
}  // namespace mad
