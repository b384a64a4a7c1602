// What the engine may allocate: nothing per message once its pools are warm, and never by the size
// or the number of blocks of a message.
//
// Every allocation of the test's program is counted, the fabric library's too.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "tests/engine/node.h"

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const bool plain = alignment <= alignof(std::max_align_t);
  void* const memory =
      plain ? std::malloc(size > 0 ? size : 1) : std::aligned_alloc(alignment, size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace mad::test {
namespace {

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

struct Expected {
  void* to;
  std::uint64_t count;
  const mad_type* type;
  mad_path path;
  Operation* operation;
};

class Memory : public ::testing::TestWithParam<const char*> {
 protected:
  Memory() : a(GetParam()), b(GetParam()), to_b(a.peer(b)) {}

  // One message that is received when it arrives; `watch` is called after every step.
  template <typename Watch>
  void exchange(const void* from, void* to, std::uint64_t count, const mad_type* type,
                mad_path path, Watch&& watch) {
    Operation sent, received;
    Expected expected{to, count, type, path, &received};
    b.on_arrival = [this, &expected](const Arrival& arrival) {
      b.receive(arrival.incoming, expected.to, expected.count, expected.type, expected.path,
                expected.operation);
    };
    a.send(to_b, "x", from, count, type, path, &sent);
    for (std::uint64_t steps = 0; steps < 100000000 && !(sent.done && received.done); ++steps) {
      a.progress();
      b.progress();
      watch();
    }
    ASSERT_TRUE(sent.done && received.done);
    ASSERT_EQ(sent.status, MAD_SUCCESS);
    ASSERT_EQ(received.status, MAD_SUCCESS);
  }

  void TearDown() override { close_together({&a, &b}); }

  Node a, b;
  mad_peer* to_b;
};

TEST_P(Memory, WarmEngineAllocatesNothingForAMessage) {
  const TypeHandle gapped = blocks(300, 64, 128);
  std::vector<unsigned char> from(300 * 128 * 10, 1), to(from.size());
  for (const std::uint64_t count : {std::uint64_t{1}, std::uint64_t{10}}) {
    for (const mad_path path :
         {MAD_PATH_AUTO, MAD_PATH_GATHER, MAD_PATH_HYBRID, MAD_PATH_PIPELINE}) {
      const auto once = [&] { exchange(from.data(), to.data(), count, gapped.get(), path, [] {}); };
      for (int i = 0; i < 20; ++i) once();
      const std::uint64_t before = allocations.load();
      for (int i = 0; i < 100; ++i) once();
      EXPECT_EQ(allocations.load() - before, 0u)
          << count << " elements by path " << mad_path_name(path);
    }
  }
}

TEST_P(Memory, HugeStridedMessageIsStreamed) {
  // 64 MiB in a million blocks of 64 bytes.
  constexpr std::uint64_t kBlocks = 1 << 20;
  constexpr std::size_t kAllowed = 12 << 20;  // the staging budgets of two engines at most grow to
  const TypeHandle gapped = blocks(kBlocks, 64, 128);
  std::vector<unsigned char> from(kBlocks * 128), to(kBlocks * 128, 0);
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<unsigned char>(i * 7 + i / 251);
  for (const mad_path path : {MAD_PATH_AUTO, MAD_PATH_HYBRID, MAD_PATH_PIPELINE}) {
    std::fill(to.begin(), to.end(), 0);
    const std::size_t before = heap_bytes();
    std::size_t peak = before;
    int step = 0;
    exchange(from.data(), to.data(), 1, gapped.get(), path, [&] {
      if (++step % 16 == 0) peak = std::max(peak, heap_bytes());
    });
    EXPECT_LT(peak - before, kAllowed) << mad_path_name(path);
    for (std::uint64_t i = 0; i < kBlocks; ++i) {
      ASSERT_EQ(std::memcmp(&to[i * 128], &from[i * 128], 64), 0) << i;
    }
    EXPECT_EQ(to[64], 0);
  }
}

TEST_P(Memory, PathPackIsWhatTakesTheWholeBuffer) {
  constexpr std::uint64_t kBlocks = 1 << 18;
  const TypeHandle gapped = blocks(kBlocks, 64, 128);
  std::vector<unsigned char> from(kBlocks * 128, 3), to(kBlocks * 128);
  const std::size_t before = heap_bytes();
  std::size_t peak = before;
  exchange(from.data(), to.data(), 1, gapped.get(), MAD_PATH_PACK,
           [&] { peak = std::max(peak, heap_bytes()); });
  EXPECT_GE(peak - before, 2 * kBlocks * 64);
}

INSTANTIATE_TEST_SUITE_P(Engine, Memory, ::testing::ValuesIn(kFabrics), fabric_test_name);

}  // namespace
}  // namespace mad::test
