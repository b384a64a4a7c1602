#include "madlike/driver/ucx/status.h"

#include "gtest/gtest.h"

namespace mad {
namespace {

TEST(UcxStatus, SaysWhatFailedAndWhatUcxCallsIt) {
  const Status status = ucx_status(StatusCode::kNoMemory, "opening it", UCS_ERR_NO_MEMORY);
  EXPECT_EQ(status.code(), StatusCode::kNoMemory);
  EXPECT_EQ(status.message(), std::string("opening it: ") + ucs_status_string(UCS_ERR_NO_MEMORY));
}

}  // namespace
}  // namespace mad
