#include "madlike/driver/ofi/staged_write.h"

#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(StagedWrite, CopiesItsSegmentsByTurns) {
  std::vector<std::byte> bytes(100), out(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const Segment segments[] = {{bytes.data(), 40}, {nullptr, 0}, {bytes.data() + 40, 60}};
  int context = 0;
  for (const std::size_t room : {1u, 7u, 39u, 40u, 41u, 99u, 100u, 1000u}) {
    std::fill(out.begin(), out.end(), std::byte{0});
    std::vector<std::byte> buffer(room);
    StagedWrite write({segments, 3}, {1000, 5}, 24, &context);
    EXPECT_EQ(write.context(), &context);
    while (write.left() > 0) {
      const std::size_t before = write.left();
      const ExposureToken at = write.target();
      EXPECT_EQ(at.address, 1024 + bytes.size() - before);
      EXPECT_EQ(at.key, 5u);
      write.copy({buffer.data(), room});
      std::copy_n(buffer.begin(), before - write.left(),
                  out.begin() + static_cast<std::ptrdiff_t>(at.address - 1024));
    }
    EXPECT_EQ(out, bytes) << room;
  }
  EXPECT_EQ(StagedWrite().left(), 0u);
}

}  // namespace
}  // namespace mad
