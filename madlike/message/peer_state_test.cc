// What may be done at each stage of a peer's life.
#include "madlike/message/peer_state.h"

#include <gtest/gtest.h>

#include "madlike/message/scripted_driver.h"

namespace mad {
namespace {

const Status kDied{StatusCode::kPeerFailed, "it died"};

TEST(PeerState, MessagesAreSentBetweenBothHellosAndTheGoodbye) {
  PeerState state;
  EXPECT_FALSE(state.may_post());
  state.set_connection(3);
  EXPECT_EQ(state.connection(), 3u);
  EXPECT_TRUE(state.may_post()) << "a HELLO may leave";
  EXPECT_FALSE(state.may_send());
  PeerState one_sided = state;
  one_sided.set_heard_hello();
  EXPECT_FALSE(one_sided.may_send());
  state.set_said_hello();
  EXPECT_FALSE(state.may_send());
  state.set_heard_hello();
  EXPECT_TRUE(state.may_send());
  state.set_said_goodbye();
  EXPECT_FALSE(state.may_send());
  EXPECT_FALSE(state.may_post());
}

TEST(PeerState, NothingLeavesAfterARefusal) {
  PeerState state = greeted();
  EXPECT_TRUE(state.refuse(kDied));
  EXPECT_FALSE(state.may_send());
  EXPECT_FALSE(state.may_post());
  EXPECT_TRUE(state.live()) << "what arrived before is still taken";
  EXPECT_FALSE(state.refuse({StatusCode::kClosed, "again"}));
  EXPECT_EQ(state.why().code(), StatusCode::kPeerFailed);
  EXPECT_EQ(state.count_refused_turn(), 1u);
  EXPECT_EQ(state.count_refused_turn(), 2u);
}

TEST(PeerState, TheFirstReasonOfAnEndStands) {
  PeerState state = greeted();
  EXPECT_TRUE(state.end(kDied));
  EXPECT_FALSE(state.end({StatusCode::kClosed, "too late"}));
  EXPECT_EQ(state.why().code(), StatusCode::kPeerFailed);
  EXPECT_FALSE(state.live());
  EXPECT_FALSE(state.may_send());
  EXPECT_FALSE(state.may_post());
  EXPECT_FALSE(state.refuse(kDied));
  EXPECT_FALSE(state.gone());
  state.set_gone();
  EXPECT_TRUE(state.gone());
  EXPECT_FALSE(state.told_gone());
  state.set_told_gone();
  EXPECT_TRUE(state.told_gone());
}

TEST(PeerState, AConnectionThatOnlyOurHelloLeftByIsReplaced) {
  PeerState state;
  state.set_connection(1);
  state.set_said_hello();
  ASSERT_TRUE(state.refuse(kDied));
  (void)state.count_refused_turn();
  EXPECT_TRUE(state.may_reconnect());
  state.leave_connection();
  EXPECT_EQ(state.connections_left(), 1u);
  EXPECT_FALSE(state.has_connection());
  EXPECT_FALSE(state.may_post());
  state.set_connection(2);
  EXPECT_TRUE(state.may_post());
  EXPECT_FALSE(state.said_hello()) << "not by this one";
  EXPECT_EQ(state.count_refused_turn(), 1u);
}

TEST(PeerState, NoOtherConnectionIsMadeAfterTheirHelloOrOurLeave) {
  PeerState heard;
  heard.set_heard_hello();
  EXPECT_FALSE(heard.may_reconnect());
  PeerState leaving;
  leaving.set_leaving();
  EXPECT_FALSE(leaving.may_reconnect());
  PeerState ended;
  (void)ended.end(kDied);
  EXPECT_FALSE(ended.may_reconnect());
}

}  // namespace
}  // namespace mad
