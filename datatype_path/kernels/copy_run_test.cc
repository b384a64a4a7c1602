#include "datatype_path/kernels/copy_run.h"

#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(CopyRun, of_every_length) {
  constexpr std::byte kGuard{0xee};
  for (std::size_t length = 0; length <= 300; ++length) {
    std::vector<std::byte> from(length), to(length + 2, kGuard);
    for (std::size_t i = 0; i < length; ++i) from[i] = static_cast<std::byte>((i * 7 + 1) % 238);
    copy_run(to.data() + 1, from.data(), length);
    ASSERT_EQ(std::vector<std::byte>(to.begin() + 1, to.end() - 1), from);
    ASSERT_EQ(to.front(), kGuard);
    ASSERT_EQ(to.back(), kGuard);
  }
}

}  // namespace
}  // namespace mad
