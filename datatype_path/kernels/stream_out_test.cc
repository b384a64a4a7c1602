#include "datatype_path/kernels/stream_out.h"

#include <gtest/gtest.h>

#include "tests/support/bytes.h"

namespace mad {
namespace {

TEST(StreamOut, WritesAllBytesAndNoOther) {
  constexpr std::size_t kRoom = 400, kGuard = 64;
  const Bytes from = pattern(kRoom, 1);
  const Bytes before = pattern(kRoom + 2 * kGuard, 2);
  for (std::size_t start = 0; start < 33; ++start) {
    for (const std::size_t bytes :
         {0u, 1u, 15u, 16u, 17u, 63u, 64u, 65u, 80u, 127u, 128u, 200u, 333u}) {
      Bytes to = before, expected = before;
      for (std::size_t i = 0; i < bytes; ++i) expected[kGuard + start + i] = from[3 + i];
      stream_out(to.data() + kGuard + start, from.data() + 3, bytes);
      stream_out_done();
      EXPECT_EQ(to, expected) << bytes << " bytes at " << start;
    }
  }
}

}  // namespace
}  // namespace mad
