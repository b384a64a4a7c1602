// The queue of first frames: order, copies.
#include "madlike/message/first_frames.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/allocations.h"

namespace mad {
namespace {

TEST(FirstFrames, KeepOrderAndCopies) {
  FirstFrames frames;
  OutgoingMessage message;
  for (int i = 0; i < 50; ++i) {
    std::string header(i, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(frames.push(static_cast<std::uint8_t>(i), {header.data(), header.size()},
                            i % 2 ? &message : nullptr));
  }
  for (int i = 0; i < 40; ++i) {
    FirstFrames::Waiting& w = frames.front();
    EXPECT_EQ(w.handler, i);
    EXPECT_EQ(w.message, i % 2 ? &message : nullptr);
    EXPECT_EQ(std::string(static_cast<char*>(w.header().data), w.header().size),
              std::string(i, static_cast<char>('a' + i % 26)));
    frames.pop();
  }
  EXPECT_FALSE(frames.empty());  // ten are left to the destructor
}

// Some find memory of others that left, some do not.
TEST(FirstFrames, KeepHeadersOfEveryLengthApart) {
  FirstFrames frames;
  const auto text = [](std::size_t size) {
    return std::string(size, static_cast<char>('a' + size % 26));
  };
  std::size_t front = 0;
  for (std::size_t size = 0; size < 400; ++size) {
    std::string header = text(size);
    ASSERT_TRUE(frames.push(1, {header.data(), header.size()}, nullptr));
    if (size % 3 == 0) continue;
    const Segment kept = frames.front().header();
    EXPECT_EQ(std::string(static_cast<char*>(kept.data), kept.size), text(front++));
    frames.pop();
  }
}

TEST(FirstFrames, WithoutMemoryOneIsNotTaken) {
  FirstFrames frames;
  std::string header(1000, 'h');
  test::fail_allocations_from(500);
  const bool taken = frames.push(1, {header.data(), header.size()}, nullptr);
  test::fail_allocations_from(0);
  EXPECT_FALSE(taken);
  EXPECT_TRUE(frames.empty());
  EXPECT_TRUE(frames.push(1, {header.data(), header.size()}, nullptr));
}

TEST(FirstFrames, OfShortHeadersUseMemoryAgain) {
  FirstFrames frames;
  std::string header = "short";
  const auto push = [&] { ASSERT_TRUE(frames.push(1, {header.data(), header.size()}, nullptr)); };
  for (int i = 0; i < 20; ++i) push();
  while (!frames.empty()) frames.pop();
  const std::size_t before = test::allocations().count;
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) push();
    while (!frames.empty()) frames.pop();
  }
  EXPECT_EQ(test::allocations().count, before);
  header.assign(1000, 'l');
  push();
  header = "short again";
  push();
  EXPECT_EQ(frames.front().header().size, 1000u);
  frames.pop();
  EXPECT_EQ(frames.front().header().size, header.size());
}

}  // namespace
}  // namespace mad
