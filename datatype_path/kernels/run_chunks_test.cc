// Chunks of runs of all lengths, with every instruction set that this processor has, in both
// directions, against a byte-by-byte copy.
#include "datatype_path/kernels/run_chunks.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "datatype_path/kernels/kernel_tables.h"
#include "gtest/gtest.h"

namespace mad {
namespace {

constexpr std::byte kGuard{0xee};

struct RunList {
  std::vector<std::int32_t> offsets;
  std::vector<std::uint32_t> ends;
  std::size_t span = 0;

  std::uint32_t start(std::size_t run) const { return run == 0 ? 0 : ends[run - 1]; }
};

// Runs of 1 to `longest` bytes, in random order, no byte twice.
RunList random_list(std::size_t runs, std::uint32_t longest, std::mt19937_64& random) {
  RunList list;
  std::vector<std::uint32_t> lengths;
  for (std::size_t i = 0; i < runs; ++i) {
    lengths.push_back(1 + static_cast<std::uint32_t>(random() % longest));
  }
  std::vector<std::size_t> order(runs);
  for (std::size_t i = 0; i < runs; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  list.offsets.resize(runs);
  for (const std::size_t run : order) {
    list.offsets[run] = static_cast<std::int32_t>(list.span);
    list.span += lengths[run] + random() % 5;
  }
  std::uint32_t end = 0;
  for (const std::uint32_t length : lengths) list.ends.push_back(end += length);
  return list;
}

std::uint64_t address(std::vector<std::byte>& memory) {
  return reinterpret_cast<std::uintptr_t>(memory.data());
}

TEST(RunChunks, hold_every_run_but_the_first_once_and_by_length) {
  std::mt19937_64 random(20261122);
  for (const std::size_t runs : {0, 1, 64, 65, 66, 128, 129, 1000}) {
    const RunList list = random_list(runs, 150, random);
    std::vector<RunChunk> chunks;
    append_chunks(list.ends.data(), runs, &chunks);
    ASSERT_EQ(chunks.size(), runs == 0 ? 0 : (runs - 1) / 64);
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      std::vector<bool> seen(RunChunk::kRuns);
      std::size_t at = 0;
      for (std::size_t k = 0; k < RunChunk::kClasses; ++k) {
        for (std::size_t i = 0; i < chunks[c].count[k]; ++i) {
          const std::size_t run = first_of_chunk(c) + chunks[c].order[at];
          const std::uint32_t length = list.ends[run] - list.start(run);
          ASSERT_GE(length, 1u << k);
          const bool is_128 = k == 6 && length == kLongestShortRun;
          ASSERT_TRUE(length < (2u << k) || is_128 || k == 7) << length;
          ASSERT_EQ(length > kLongestShortRun, k == 7);
          seen[chunks[c].order[at++]] = true;
        }
      }
      ASSERT_EQ(std::count(seen.begin(), seen.end(), true), 64);
    }
  }
}

TEST(RunChunks, are_found_from_any_run) {
  for (std::uint64_t run = 0; run < 400; ++run) {
    const std::uint64_t chunk = first_chunk_from(run);
    ASSERT_GE(first_of_chunk(chunk), run);
    if (chunk > 0) {
      ASSERT_LT(first_of_chunk(chunk - 1), run);
    }
  }
}

TEST(ChunkKernels, copy_runs_of_all_lengths) {
  std::mt19937_64 random(306);
  for (const std::uint32_t longest : {1, 3, 8, 64, 127, 128}) {
    const RunList list = random_list(200, longest, random);
    std::vector<RunChunk> chunks;
    append_chunks(list.ends.data(), 200, &chunks);
    const std::size_t first = first_of_chunk(0), last = first_of_chunk(chunks.size());
    std::vector<std::byte> layout(list.span), packed(list.ends.back(), kGuard);
    for (std::byte& byte : layout) byte = static_cast<std::byte>(random() % 0xee);
    std::vector<std::byte> scattered(list.span, kGuard);
    for (std::size_t run = first; run < last; ++run) {
      for (std::uint32_t i = list.start(run); i < list.ends[run]; ++i) {
        const std::size_t place = static_cast<std::size_t>(list.offsets[run]) + i - list.start(run);
        packed[i] = scattered[place] = layout[place];
      }
    }
    for (const KernelTable* table : runnable_kernels()) {
      std::vector<std::byte> stream(packed.size(), kGuard), other(layout.size(), kGuard);
      for (std::size_t c = 0; c < chunks.size(); ++c) {
        const std::int32_t* const offsets = list.offsets.data() + first_of_chunk(c);
        const std::uint32_t* const ends = list.ends.data() + first_of_chunk(c) - 1;
        table->chunk[0](chunks[c], address(stream), address(layout), offsets, ends);
        table->chunk[1](chunks[c], address(packed), address(other), offsets, ends);
      }
      ASSERT_EQ(stream, packed) << table->name << " " << longest;
      ASSERT_EQ(other, scattered) << table->name << " " << longest;
    }
  }
}

}  // namespace
}  // namespace mad
