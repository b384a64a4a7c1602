#include "madlike/base/say.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(Say, IsOneLineOnStandardError) {
  testing::internal::CaptureStderr();
  say("tcp", "no file is left");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tcp: no file is left\n");
}

}  // namespace
}  // namespace mad
