#include "netmod/abi/errors.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>

namespace mad {
namespace {

TEST(Errors, EveryStatusCodeHasItsCValue) {
  EXPECT_EQ(to_mad_status(StatusCode::kOk), MAD_SUCCESS);
  EXPECT_EQ(to_mad_status(StatusCode::kInProgress), MAD_IN_PROGRESS);
  EXPECT_EQ(to_mad_status(StatusCode::kInvalidArgument), MAD_ERR_ARGUMENT);
  EXPECT_EQ(to_mad_status(StatusCode::kNotFound), MAD_ERR_NOT_FOUND);
  EXPECT_EQ(to_mad_status(StatusCode::kUnreachable), MAD_ERR_UNREACHABLE);
  EXPECT_EQ(to_mad_status(StatusCode::kPeerFailed), MAD_ERR_PEER_FAILED);
  EXPECT_EQ(to_mad_status(StatusCode::kTruncated), MAD_ERR_TRUNCATED);
  EXPECT_EQ(to_mad_status(StatusCode::kNoMemory), MAD_ERR_MEMORY);
  EXPECT_EQ(to_mad_status(StatusCode::kProtocol), MAD_ERR_PROTOCOL);
  EXPECT_EQ(to_mad_status(StatusCode::kVersion), MAD_ERR_VERSION);
  EXPECT_EQ(to_mad_status(StatusCode::kClosed), MAD_ERR_CLOSED);
  EXPECT_EQ(to_mad_status(StatusCode::kInternal), MAD_ERR_INTERNAL);
  EXPECT_EQ(to_mad_status(StatusCode::kCorrupt), MAD_ERR_CORRUPT);
  EXPECT_EQ(to_mad_status(StatusCode::kUnrepresentable), MAD_ERR_CONVERSION);
  EXPECT_EQ(to_mad_status(StatusCode::kAgain), MAD_ERR_INTERNAL);
}

TEST(Errors, SentenceIsKeptAndSuccessLeavesIt) {
  EXPECT_EQ(to_abi(Status(StatusCode::kNotFound, "no such interface 'eth9'")), MAD_ERR_NOT_FOUND);
  EXPECT_STREQ(mad_last_error(), "no such interface 'eth9'");
  EXPECT_EQ(to_abi(Status()), MAD_SUCCESS);
  EXPECT_STREQ(mad_last_error(), "no such interface 'eth9'");
}

TEST(Errors, SentenceBelongsToItsThread) {
  fail(MAD_ERR_ARGUMENT, "mine");
  std::string other = "unset";
  std::thread([&] { other = mad_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_STREQ(mad_last_error(), "mine");
}

TEST(Errors, NoExceptionLeaves) {
  EXPECT_EQ(guarded([]() -> int { throw std::bad_alloc(); }), MAD_ERR_MEMORY);
  EXPECT_EQ(guarded([]() -> int { throw std::runtime_error("broken"); }), MAD_ERR_INTERNAL);
  EXPECT_STREQ(mad_last_error(), "broken");
}

}  // namespace
}  // namespace mad
