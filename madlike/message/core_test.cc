// What ends and what waits, before progress() works through it.
#include "madlike/message/core.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

struct NoEvents final : MessageEvents {
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}
};

MessengerConfig config_of(std::size_t staging_bytes, std::size_t peer_credit) {
  MessengerConfig config;
  config.packet_bytes = 1024;
  config.staging_bytes = staging_bytes;
  config.peer_credit = peer_credit;
  return config;
}

class CoreTest : public ::testing::Test {
 protected:
  NoEvents events_;
  Core core_{config_of(64 * 1024, 1000), events_};
  Endpoint endpoint_{{{0, {}}}, nullptr};
  const Status failed_{StatusCode::kPeerFailed, "it died"};
};

TEST_F(CoreTest, TheSmallestBudgetStillMovesEverything) {
  EXPECT_EQ(core_.packets.capacity(), 64u);
  const Core poor(config_of(1, 0), events_);
  EXPECT_EQ(poor.packets.capacity(), 4u);
  EXPECT_EQ(poor.credit_threshold, 1u);
}

TEST_F(CoreTest, WhatArrivesIsCountedOverAllDrivers) {
  const OfferTimes::Clock::time_point before = OfferTimes::Clock::now();
  core_.counters.drivers[0].bytes_received = 5;
  core_.counters.drivers[1].bytes_received = 7;
  core_.counters.drivers[1].bytes_sent = 100;
  core_.reading = std::chrono::milliseconds(3);
  const ArrivalMark mark = core_.arrival_mark();
  EXPECT_EQ(mark.bytes, 12u);
  EXPECT_EQ(mark.reading, std::chrono::milliseconds(3));
  EXPECT_GE(mark.at, before);
  EXPECT_LE(mark.at, OfferTimes::Clock::now());
}

TEST_F(CoreTest, AnEndpointIsActiveOnce) {
  core_.activate(endpoint_);
  core_.activate(endpoint_);
  EXPECT_EQ(core_.active, std::vector<Endpoint*>{&endpoint_});
  Endpoint dead({{0, {}}}, nullptr);
  core_.end(dead, failed_);
  core_.activate(dead);
  EXPECT_EQ(core_.active.size(), 1u);
}

TEST_F(CoreTest, TheFirstReasonOfAnEndStands) {
  core_.end(endpoint_, failed_);
  core_.end(endpoint_, {StatusCode::kClosed, "too late"});
  EXPECT_EQ(core_.ending, std::vector<Endpoint*>{&endpoint_});
  EXPECT_FALSE(endpoint_.state.live());
  EXPECT_FALSE(endpoint_.state.gone());
  EXPECT_EQ(endpoint_.state.why().code(), StatusCode::kPeerFailed);
  core_.fail_posts(endpoint_, {StatusCode::kClosed, "too late"});
  EXPECT_TRUE(core_.refused.empty());
  EXPECT_EQ(endpoint_.state.why().code(), StatusCode::kPeerFailed);
}

TEST_F(CoreTest, ARefusedPostLeavesTheEndpointAliveToReceive) {
  core_.fail_posts(endpoint_, failed_);
  core_.fail_posts(endpoint_, {StatusCode::kClosed, "again"});
  EXPECT_EQ(core_.refused, std::vector<Endpoint*>{&endpoint_});
  EXPECT_TRUE(endpoint_.state.live());
  EXPECT_TRUE(endpoint_.state.refused());
  EXPECT_FALSE(endpoint_.can_post());
  EXPECT_EQ(endpoint_.state.why().code(), StatusCode::kPeerFailed);
  core_.end(endpoint_, {StatusCode::kClosed, "its goodbye was on the way"});
  EXPECT_EQ(endpoint_.state.why().code(), StatusCode::kClosed);
}

TEST_F(CoreTest, AMessageIsFinishedWhenItsLastPacketIsBack) {
  OutgoingMessage message;
  auto& state = state_of(message);
  for (const OutgoingPhase phase :
       {OutgoingPhase::kQueued, OutgoingPhase::kWaiting, OutgoingPhase::kStreaming}) {
    state.phase = phase;
    core_.finish_if_done(message);
    EXPECT_TRUE(core_.finished.empty());
  }
  for (const OutgoingPhase phase : {OutgoingPhase::kFinished, OutgoingPhase::kFailed}) {
    state.phase = phase;
    state.posts = 1;
    core_.finish_if_done(message);
    EXPECT_TRUE(core_.finished.empty());
    state.posts = 0;
    core_.finish_if_done(message);
    ASSERT_FALSE(core_.finished.empty());
    EXPECT_EQ(core_.finished.pop(), &message);
  }
}

TEST_F(CoreTest, CreditIsReturnedByItselfFromAQuarterOn) {
  core_.return_credit(endpoint_, 0);
  core_.return_credit(endpoint_, 249);
  EXPECT_TRUE(core_.active.empty());
  EXPECT_EQ(endpoint_.credit.to_return(), 249u);
  core_.return_credit(endpoint_, 1);
  EXPECT_EQ(core_.active.size(), 1u);
  EXPECT_EQ(endpoint_.credit.to_return(), 250u);
}

}  // namespace
}  // namespace mad
