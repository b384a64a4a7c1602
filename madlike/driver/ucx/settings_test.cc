#include "madlike/driver/ucx/settings.h"

#include <stdlib.h>

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace mad {
namespace {

/// The value that we set; empty: none.
std::string value(const std::vector<UcxSetting>& settings, const std::string& name) {
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const UcxSetting& each) { return each.name == name; });
  return found == settings.end() ? "" : found->value;
}

std::string receives(const char* variable) {
  setenv(variable, "100", 1);
  const auto settings = interface_settings(UcxTransport::kRc, "rc_verbs", 0);
  unsetenv(variable);
  return value(settings, "IB_RX_QUEUE_LEN");
}

TEST(UcxSettings, OfDevicesTheUsersGoFirst) {
  const std::string ours = std::to_string(RdmaBuffers::kReceives);
  EXPECT_EQ(receives("UCX_SOMETHING_RX_QUEUE_LEN"), ours);
  for (const char* variable :
       {"UCX_IB_RX_QUEUE_LEN", "UCX_RC_RX_QUEUE_LEN", "UCX_RC_VERBS_RX_QUEUE_LEN",
        "MAD_UCX_IB_RX_QUEUE_LEN", "MAD_UCX_RC_VERBS_RX_QUEUE_LEN"}) {
    EXPECT_EQ(receives(variable), "") << variable;
  }
}

TEST(UcxSettings, RegisteringIsDirectUnlessTheUserSaysOtherwise) {
  EXPECT_EQ(value(rdma_domain_settings(3), "REG_METHODS"), "direct");
  EXPECT_EQ(value(rdma_domain_settings(3), "GID_INDEX"), "3");
  EXPECT_EQ(value(rdma_domain_settings(-1), "GID_INDEX"), "");
  setenv("UCX_IB_REG_METHODS", "odp", 1);
  setenv("UCX_IB_GID_INDEX", "5", 1);
  const auto settings = rdma_domain_settings(3);
  unsetenv("UCX_IB_REG_METHODS");
  unsetenv("UCX_IB_GID_INDEX");
  EXPECT_EQ(value(settings, "REG_METHODS"), "");
  EXPECT_EQ(value(settings, "GID_INDEX"), "");
  EXPECT_EQ(value(settings, "ASYNC_EVENTS"), "n");
}

}  // namespace
}  // namespace mad
