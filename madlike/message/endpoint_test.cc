// When something may be built for an endpoint.
#include "madlike/message/endpoint.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() {
    endpoint_.has_connection = endpoint_.hello_sent = endpoint_.hello_received = true;
  }
  Endpoint endpoint_{{{0, {}}}, nullptr};
};

TEST_F(EndpointTest, FramesAreBuiltBetweenBothHellosAndTheGoodbye) {
  EXPECT_FALSE(Endpoint({{0, {}}}, nullptr).can_post());
  EXPECT_TRUE(endpoint_.can_post());
  endpoint_.hello_sent = false;
  EXPECT_FALSE(endpoint_.can_post());
  endpoint_.hello_sent = true;
  endpoint_.hello_received = false;
  EXPECT_FALSE(endpoint_.can_post());
  endpoint_.hello_received = true;
  endpoint_.goodbye_sent = true;
  EXPECT_FALSE(endpoint_.can_post());
}

TEST_F(EndpointTest, NoFramesAreBuiltBehindOneThatHasNotLeft) {
  OutgoingPacket packet(nullptr, {});
  endpoint_.unposted = &packet;
  EXPECT_FALSE(endpoint_.can_post()) << "pushed back";
  endpoint_.unposted = nullptr;
  EXPECT_TRUE(endpoint_.can_post());
  endpoint_.unfinished.left = 1;
  EXPECT_FALSE(endpoint_.can_post()) << "some pieces of it have not left";
}

TEST_F(EndpointTest, NoFramesAreBuiltAfterARefusalOrTheEnd) {
  endpoint_.post_failed = true;
  EXPECT_FALSE(endpoint_.can_post());
  endpoint_.post_failed = false;
  EXPECT_TRUE(endpoint_.can_post());
  endpoint_.life = Endpoint::Life::kEnding;
  EXPECT_FALSE(endpoint_.can_post());
}

}  // namespace
}  // namespace mad
