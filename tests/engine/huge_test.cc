// One message of more than 2 GiB, and more than 4 GiB: no length is an int.
//
// The sender repeats one block (a vector of stride 0), so that only the receiver needs the memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

constexpr std::uint64_t kBlock = (1 << 20) + 13;  // no divisor of any packet

std::uint64_t available_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string word; info >> word;) {
    std::uint64_t kib = 0;
    if (word == "MemAvailable:" && info >> kib) return kib * 1024;
  }
  return 0;
}

/// Receives `blocks_sent` blocks in `parts` runs with gaps between them.
void exchange(const char* fabric, std::uint64_t blocks_sent, std::uint64_t parts, mad_path path) {
  const std::uint64_t bytes = blocks_sent * kBlock;
  const std::uint64_t run = bytes / parts, stride = run + 4096;
  const std::uint64_t memory_bytes = parts * stride;
  if (available_bytes() < memory_bytes + (std::uint64_t{2} << 30)) {
    GTEST_SKIP() << "needs " << (memory_bytes >> 20) << " MiB and 2 GiB to spare, there are "
                 << (available_bytes() >> 20) << " MiB";
  }
  ASSERT_EQ(bytes % parts, 0u);
  const std::unique_ptr<unsigned char, decltype(&std::free)> memory(
      static_cast<unsigned char*>(std::calloc(memory_bytes, 1)), &std::free);
  ASSERT_NE(memory, nullptr);
  const auto block = pattern(kBlock, 1);
  const TypeHandle repeated = blocks(blocks_sent, kBlock, 0);
  const TypeHandle gapped = blocks(parts, run, static_cast<std::int64_t>(stride));
  Node a(fabric), b(fabric);
  Operation sent, received;
  b.on_arrival = [&](const Arrival& arrival) {
    EXPECT_EQ(arrival.payload_bytes, bytes);
    b.receive(arrival.incoming, memory.get(), 1, gapped.get(), path, &received);
  };
  a.send(a.peer(b), "x", block.data(), 1, repeated.get(), path, &sent);
  ASSERT_TRUE(progress_until(
      {&a, &b}, [&] { return sent.done && received.done; }, std::chrono::seconds(120)));
  EXPECT_EQ(received.status, MAD_SUCCESS);
  EXPECT_EQ(received.bytes, bytes);
  std::uint64_t place = 0;  // in the packed stream
  for (std::uint64_t part = 0; part < parts; ++part) {
    for (std::uint64_t at = 0; at < run;) {
      const std::uint64_t in_block = place % kBlock;
      const std::uint64_t piece = std::min(kBlock - in_block, run - at);
      ASSERT_EQ(std::memcmp(memory.get() + part * stride + at, block.data() + in_block, piece), 0)
          << "at packed byte " << place;
      at += piece;
      place += piece;
    }
    ASSERT_EQ(memory.get()[part * stride + run], 0) << "the gap was written";
  }
  close_together({&a, &b});
}

TEST(Huge, OverTwoGibibytesOnTcp) { exchange("tcp", 2100, 3, MAD_PATH_AUTO); }

TEST(Huge, OverFourGibibytesOnLoopback) { exchange("loopback", 4200, 4, MAD_PATH_PIPELINE); }

}  // namespace
}  // namespace mad::test
