#include "madlike/base/status.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(Status, SuccessAndBackPressureAreNotErrors) {
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status(StatusCode::kAgain).error());
  EXPECT_FALSE(Status(StatusCode::kInProgress).error());
  EXPECT_TRUE(Status(StatusCode::kPeerFailed).error());
}

TEST(Status, MessageFallsBackToTheCodesName) {
  EXPECT_EQ(Status(StatusCode::kTruncated).message(), "truncated");
  EXPECT_EQ(Status(StatusCode::kTruncated, "8 bytes for 4").message(), "8 bytes for 4");
}

TEST(Result, HoldsValueOrError) {
  Result<int> good = 7;
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(*good, 7);
  Result<int> bad = Status(StatusCode::kNotFound, "no seven");
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.status().message(), "no seven");
}

}  // namespace
}  // namespace mad
