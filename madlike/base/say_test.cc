#include "madlike/base/say.h"

#include <cstdlib>
#include <utility>

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(Say, IsOneLineOnStandardError) {
  testing::internal::CaptureStderr();
  say("tcp", "no file is left");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "tcp: no file is left\n");
}

TEST(Say, MoreIsWantedWhereTheEnvironmentSaysSo) {
  for (const auto& [value, wanted] : {std::pair("1", true), {"", false}, {"0", false}}) {
    ASSERT_EQ(setenv("MAD_VERBOSE", value, 1), 0);
    EXPECT_EQ(is_verbose(), wanted) << value;
  }
  ASSERT_EQ(unsetenv("MAD_VERBOSE"), 0);
  EXPECT_FALSE(is_verbose());
}

}  // namespace
}  // namespace mad
