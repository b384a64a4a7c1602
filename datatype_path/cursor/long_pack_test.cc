// Stretches so long that they are packed past the caches.
#include <cstring>

#include "datatype_path/cursor/cursor.h"
#include "gtest/gtest.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

// In fragments it is not written so.
TEST(LongPack, is_like_its_fragments) {
  constexpr std::int64_t kRows = 300'000, kRow = 120, kStride = 180;
  const auto program =
      BlockProgram::compile(
          *TypeDesc::vector(kRows, kRow, kStride, TypeDesc::bytes(1).value()).value())
          .value();
  const Bytes memory = pattern(kRows * kStride, 3);
  const auto cursor = [&] { return Cursor(*program, const_cast<std::byte*>(memory.data()), 1); };
  constexpr std::size_t kBytes = kRows * kRow, kStart = 5, kFragment = 50'001;
  Bytes whole(kBytes), fragments(kBytes), rest(kBytes);
  EXPECT_EQ(cursor().pack(whole.data(), kBytes + 7), kBytes);
  Cursor in_order = cursor();
  for (std::size_t at = 0; at < kBytes;) at += in_order.pack(fragments.data() + at, kFragment);
  EXPECT_EQ(whole, fragments);
  Cursor from_within = cursor();
  from_within.seek(kStart);
  EXPECT_EQ(from_within.pack(rest.data(), kBytes - 2 * kStart), kBytes - 2 * kStart);
  EXPECT_EQ(from_within.position(), kBytes - kStart);
  EXPECT_EQ(std::memcmp(rest.data(), fragments.data() + kStart, kBytes - 2 * kStart), 0);
  EXPECT_EQ(rest[kBytes - 2 * kStart], std::byte{0});
}

}  // namespace
}  // namespace mad
