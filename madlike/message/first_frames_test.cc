// The queue of first frames: order, copies.
#include "madlike/message/first_frames.h"

#include <gtest/gtest.h>

#include <string>

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

}  // namespace
}  // namespace mad
