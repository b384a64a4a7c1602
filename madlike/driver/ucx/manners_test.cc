#include "madlike/driver/ucx/manners.h"

#include <signal.h>
#include <stdlib.h>
#include <ucs/debug/log_def.h>

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

void own_handler(int) {}

void complain(const char* text) {
  ucs_log_component_config_t component{UCS_LOG_LEVEL_WARN, "TEST", nullptr};
  ucs_log_dispatch(__FILE__, __LINE__, __func__, UCS_LOG_LEVEL_ERROR, &component, "%s", text);
}

// The libraries were loaded with this program, and have put their handlers in.
TEST(UcxManners, SignalsAreTheProgramsAgain) {
  struct sigaction own {};
  own.sa_handler = own_handler;
  ASSERT_EQ(sigaction(SIGFPE, &own, nullptr), 0);
  setenv("UCX_HANDLE_ERRORS", "bt", 1);
  struct sigaction before {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &before), 0);
  restore_signal_handlers();
  struct sigaction kept {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &kept), 0);
  EXPECT_EQ(kept.sa_handler, before.sa_handler) << "the user wants them";
  unsetenv("UCX_HANDLE_ERRORS");
  EXPECT_NE(before.sa_handler, SIG_DFL) << "else this test tests nothing";
  restore_signal_handlers();
  struct sigaction now {};
  ASSERT_EQ(sigaction(SIGHUP, nullptr, &now), 0);
  EXPECT_TRUE(now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) << "nohup ignores it";
  ASSERT_EQ(sigaction(SIGFPE, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, own_handler) << "what the program put in stays";
}

TEST(UcxManners, ComplaintsAreKeptOrGoToStandardError) {
  const unsigned handlers = ucs_log_num_handlers();
  {
    const UcxLog log;
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    {
      const UcxComplaints complaints;
      EXPECT_EQ(complaints.first(), "");
      complain("first");
      complain("second");
      EXPECT_EQ(complaints.first(), " (first)");
      {
        const UcxComplaints inner;
        complain("inner");
        EXPECT_EQ(inner.first(), " (inner)");
      }
      complain("outer");
      EXPECT_EQ(complaints.first(), " (first)");
    }
    complain("third");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "ucx: third\n");
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  }
  EXPECT_EQ(ucs_log_num_handlers(), handlers) << "another user of UCX gets its messages again";
}

// UCX has room for 32 handlers and aborts beyond.
TEST(UcxManners, ManyEnginesShareOneHandler) {
  const unsigned handlers = ucs_log_num_handlers();
  {
    const std::vector<UcxLog> logs(100);
    EXPECT_EQ(ucs_log_num_handlers(), handlers + 1);
  }
  const auto open_and_close = [] {
    for (int round = 0; round < 1000; ++round) const UcxLog log;
  };
  std::thread others[] = {std::thread(open_and_close), std::thread(open_and_close)};
  for (std::thread& other : others) other.join();
  EXPECT_EQ(ucs_log_num_handlers(), handlers);
}

}  // namespace
}  // namespace mad
