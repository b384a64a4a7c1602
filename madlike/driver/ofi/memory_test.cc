#include "madlike/driver/ofi/memory.h"

#include <errno.h>

#include <cstdlib>
#include <limits>

#include "gtest/gtest.h"
#include "madlike/driver/ofi/ofi.h"

namespace {

std::size_t memory_there_is = std::numeric_limits<std::size_t>::max();

}  // namespace

// In place of the C library's.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  void* memory = nullptr;
  errno = size > memory_there_is ? ENOMEM : posix_memalign(&memory, alignment, size);
  return memory;
}

namespace mad {
namespace {

TEST(ReceivePool, WithoutMemoryForBuffersThereIsNoEngine) {
  OfiOptions options;
  options.interface = "lo";
  memory_there_is = options.receive_buffers * options.max_packet_bytes - 1;
  const auto none = open_ofi(options);
  memory_there_is = std::numeric_limits<std::size_t>::max();
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.status().code(), StatusCode::kNoMemory);
  EXPECT_TRUE(open_ofi(options).ok());
}

}  // namespace
}  // namespace mad
