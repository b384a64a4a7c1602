// When something may be built for an endpoint.
#include "madlike/message/endpoint.h"

#include <gtest/gtest.h>

#include "madlike/message/scripted_driver.h"

namespace mad {
namespace {

class EndpointTest : public ::testing::Test {
 protected:
  EndpointTest() { endpoint_.state = greeted(); }
  Endpoint endpoint_{{{0, {}}}, nullptr};
};

TEST_F(EndpointTest, NoFramesAreBuiltBehindOneThatHasNotLeft) {
  OutgoingPacket packet(nullptr, {});
  endpoint_.queue.unposted = &packet;
  EXPECT_FALSE(endpoint_.can_post()) << "pushed back";
  endpoint_.queue.unposted = nullptr;
  EXPECT_TRUE(endpoint_.can_post());
  endpoint_.queue.unfinished.left = 1;
  EXPECT_FALSE(endpoint_.can_post()) << "some pieces of it have not left";
}

TEST_F(EndpointTest, NoFramesAreBuiltForWhoMayNotBeSentTo) {
  EXPECT_TRUE(endpoint_.can_post());
  endpoint_.state.set_said_goodbye();
  EXPECT_FALSE(endpoint_.can_post());
}

TEST_F(EndpointTest, AMessageStartsBehindThoseThatWait) {
  EXPECT_TRUE(endpoint_.can_start());
  ASSERT_TRUE(endpoint_.queue.first_frames.push(1, {}, nullptr));
  EXPECT_FALSE(endpoint_.can_start());
  EXPECT_TRUE(endpoint_.can_post()) << "the one that waits may leave";
}

}  // namespace
}  // namespace mad
