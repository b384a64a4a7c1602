#include "madlike/driver/connections/completions.h"

#include <array>
#include <cstdint>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Kind = Completion::Kind;

TEST(CompletionQueue, HandsOutWhatWasPushedInOrder) {
  CompletionQueue queue;
  EXPECT_TRUE(queue.empty());
  std::array<Completion, 4> out;
  EXPECT_EQ(queue.take(out.data(), out.size()), 0u);

  int mine = 0;
  queue.push(Kind::kWritten, 7, &mine, Status(StatusCode::kPeerFailed, "it died"));
  Completion received;
  received.kind = Kind::kReceived;
  received.rest = 5;
  queue.push(received);
  EXPECT_FALSE(queue.empty());

  ASSERT_EQ(queue.take(out.data(), out.size()), 2u);
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(out[0].kind, Kind::kWritten);
  EXPECT_EQ(out[0].connection, 7u);
  EXPECT_EQ(out[0].context, &mine);
  EXPECT_EQ(out[0].bytes.size, 0u);
  EXPECT_EQ(out[0].status.message(), "it died");
  EXPECT_EQ(out[1].kind, Kind::kReceived);
  EXPECT_EQ(out[1].rest, 5u);
}

TEST(CompletionQueue, ACallerThatNeverTakesAllGetsThemInOrder) {
  CompletionQueue queue;
  ConnectionId pushed = 0, taken = 0;
  std::array<Completion, 3> out;
  queue.push(Kind::kConnected, pushed++, nullptr, {});
  for (int round = 0; round < 10000; ++round) {
    const std::size_t some = 1 + static_cast<std::size_t>(round) % out.size();
    for (std::size_t i = 0; i < some; ++i) queue.push(Kind::kConnected, pushed++, nullptr, {});
    ASSERT_EQ(queue.take(out.data(), some), some);
    for (std::size_t i = 0; i < some; ++i) ASSERT_EQ(out[i].connection, taken++);
    ASSERT_FALSE(queue.empty()) << "one is always left";
  }
  EXPECT_EQ(queue.take(out.data(), out.size()), 1u);
  EXPECT_EQ(out[0].connection, pushed - 1);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace mad
