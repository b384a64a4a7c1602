#include "madlike/driver/memory/pull_queue.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(PullQueueTest, FirstComeFirstServedForEver) {
  PullQueue<3> pulls;
  int contexts[100];
  int popped = 0;
  for (int pushed = 0; pushed < 100; ++pushed) {
    if (pulls.size() == pulls.kMost) {
      EXPECT_EQ(pulls.pop(), &contexts[popped++]);
    }
    pulls.push(&contexts[pushed]);
  }
  while (pulls.size() > 0) EXPECT_EQ(pulls.pop(), &contexts[popped++]);
  EXPECT_EQ(popped, 100);
}

}  // namespace
}  // namespace mad
