#include "perf/micro/transpose_loops.h"

#include <gtest/gtest.h>

#include <vector>

namespace micro {
namespace {

TEST(TransposeLoops, leave_no_element_out_whatever_the_block) {
  constexpr std::int64_t kRows = 5, kColumns = 7, kToPitch = 9;
  for (const std::int64_t words : {1, 2, 4, 8}) {  // of 4 bytes
    for (const std::int64_t block : {1, 3, 4, 64}) {
      for (const bool reads_rows : {false, true}) {
        std::vector<std::int32_t> from(kRows * kColumns * words), to(kColumns * kToPitch * words);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = 1 + static_cast<std::int32_t>(i);
        transpose_loop(4 * words)({from.data(), kColumns, to.data(), kToPitch, kRows, kColumns},
                                  block, reads_rows);
        for (std::int64_t c = 0; c < kColumns; ++c) {
          for (std::int64_t r = 0; r < kToPitch; ++r) {
            for (std::int64_t w = 0; w < words; ++w) {
              const std::int32_t expected = r < kRows ? from[(r * kColumns + c) * words + w] : 0;
              ASSERT_EQ(to[(c * kToPitch + r) * words + w], expected);
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace micro
