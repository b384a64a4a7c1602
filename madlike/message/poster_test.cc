// Where a packet is after each thing a driver can say, and who may take how many.
#include "madlike/message/poster.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <vector>

#include "madlike/message/scripted_driver.h"

namespace mad {
namespace {

using Use = OutgoingPacket::Use;

class PosterTest : public ::testing::Test {
 protected:
  PosterTest() { to_.link = driver_.link(0); }
  static MessengerConfig config() {
    MessengerConfig out;
    out.packet_bytes = 1024;
    out.staging_bytes = 32 * 1024;  // 32 packets
    return out;
  }
  /// A packet of `bytes` staged bytes and, with a message, as many of the message's memory.
  OutgoingPacket& taken(std::size_t bytes, OutgoingMessage* message = nullptr,
                        Use use = Use::kFirst) {
    OutgoingPacket* const packet = poster_.take(to_, use);
    EXPECT_NE(packet, nullptr);
    std::memset(packet->packet.staging_room().data, 0x11, bytes);
    packet->packet.stage(bytes);
    packet->message = message;
    if (message != nullptr) packet->packet.reference({users_, bytes});
    return *packet;
  }
  std::size_t in_use() const { return core_.packets.in_use() + core_.controls.in_use(); }
  void expect_nothing_held() const {
    EXPECT_EQ(in_use(), 0u);
    EXPECT_EQ(core_.posts, 0u);
    EXPECT_EQ(to_.posts, 0u);
    EXPECT_EQ(to_.message_posts, 0u);
    EXPECT_EQ(to_.control_packets, 0u);
    EXPECT_EQ(to_.first_packets, 0u);
    EXPECT_EQ(to_.streaming_packets, 0u);
    EXPECT_EQ(to_.streaming_bytes, 0u);
    EXPECT_EQ(to_.unposted, nullptr);
  }

  NoEvents events_;
  ScriptedDriver driver_;
  Core core_{config(), events_};
  Poster poster_{core_};
  Endpoint to_{{{0, {}}}, &driver_};
  std::byte users_[256] = {};
};

TEST_F(PosterTest, AnEndpointTakesItsShareAndLessForStreamedPayload) {
  std::vector<OutgoingPacket*> streamed, first;
  while (OutgoingPacket* const packet = poster_.take(to_, Use::kData)) streamed.push_back(packet);
  EXPECT_EQ(streamed.size(), 4u);
  EXPECT_EQ(poster_.take(to_, Use::kWrite), nullptr);
  while (OutgoingPacket* const packet = poster_.take(to_, Use::kFirst)) first.push_back(packet);
  EXPECT_EQ(first.size(), 14u);
  Endpoint other({{0, {}}}, &driver_);
  OutgoingPacket* const others = poster_.take(other, Use::kData);
  ASSERT_NE(others, nullptr) << "somebody else has a share too";
  EXPECT_EQ(others->endpoint, &other);
  poster_.give_back(*others);
  for (OutgoingPacket* packet : streamed) poster_.give_back(*packet);
  EXPECT_NE(poster_.take(to_, Use::kWrite), nullptr);
  EXPECT_EQ(to_.streaming_packets, 1u);
}

// More of them than there are packets.
TEST_F(PosterTest, EndpointsThatTakeNothingLeavePacketsToAllOthers) {
  std::deque<Endpoint> slow;
  Frame frame;
  for (int i = 0; i < 200; ++i) {
    Endpoint& to = slow.emplace_back(std::vector<Route>{{0, {}}}, &driver_);
    while (poster_.take(to, Use::kFirst) != nullptr) continue;
    while (poster_.take(to, Use::kWrite) != nullptr) continue;
    driver_.script.assign(core_.controls.capacity(), StatusCode::kInProgress);
    while (poster_.post_control(to, frame)) continue;
  }
  driver_.script.clear();
  EXPECT_NE(poster_.take(to_, Use::kFirst), nullptr);
  EXPECT_NE(poster_.take(to_, Use::kWrite), nullptr);
  EXPECT_TRUE(poster_.post_control(to_, frame));
}

TEST_F(PosterTest, PacketsHaveTheLimitsOfTheirUse) {
  const OutgoingPacket& packet = *poster_.take(to_, Use::kFirst);
  EXPECT_EQ(packet.packet.bytes_room(), 512u);
  const OutgoingPacket& write = *poster_.take(to_, Use::kWrite);
  EXPECT_EQ(write.packet.bytes_room(), 4096u);
}

TEST_F(PosterTest, ManyStreamedBytesStopTheStreamNotFirstFrames) {
  to_.streaming_bytes = 4 * 1024 * 1024;
  EXPECT_EQ(poster_.take(to_, Use::kData), nullptr);
  EXPECT_NE(poster_.take(to_, Use::kFirst), nullptr);
}

TEST_F(PosterTest, WhatTheDriverCopiedIsFreeAtOnce) {
  poster_.post(taken(100));
  ASSERT_EQ(driver_.accepted.size(), 1u);
  EXPECT_EQ(driver_.accepted[0].size(), 100u);
  EXPECT_EQ(core_.counters.drivers[0].packets_sent, 1u);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatTheDriverKeepsIsFreeWhenItIsPosted) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  OutgoingPacket& packet = taken(100, &message, Use::kData);
  poster_.post(packet);
  EXPECT_EQ(driver_.context, &packet);
  EXPECT_EQ(to_.posts, 1u);
  EXPECT_EQ(to_.message_posts, 1u);
  EXPECT_EQ(to_.streaming_bytes, 200u);
  EXPECT_EQ(state_of(message).posts, 1u);
  EXPECT_TRUE(core_.finished.empty());
  poster_.posted(packet, {});
  ASSERT_FALSE(core_.finished.empty());
  EXPECT_EQ(core_.finished.pop(), &message);
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFinished);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatDidNotLeaveFailsItsMessage) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  OutgoingPacket& packet = taken(100, &message);
  poster_.post(packet);
  poster_.posted(packet, {StatusCode::kPeerFailed, "it died"});
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFailed);
  EXPECT_EQ(core_.finished.pop(), &message);
  EXPECT_TRUE(to_.post_failed);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatDidNotLeaveByARouteThatWasGivenUpIsNoMatter) {
  driver_.script = {StatusCode::kInProgress};
  OutgoingPacket& packet = taken(100);
  poster_.post(packet);
  ++to_.connections_left;
  poster_.posted(packet, {StatusCode::kUnreachable, "nobody is there"});
  EXPECT_FALSE(to_.post_failed);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatIsPushedBackStaysAndIsTriedAgain) {
  driver_.script = {StatusCode::kAgain, StatusCode::kAgain};
  OutgoingPacket& packet = taken(100);
  poster_.post(packet);
  EXPECT_EQ(to_.unposted, &packet);
  EXPECT_TRUE(to_.active);
  EXPECT_EQ(core_.posts, 1u);
  EXPECT_FALSE(poster_.retry(to_));
  EXPECT_EQ(core_.counters.drivers[0].packets_sent, 0u);
  EXPECT_TRUE(poster_.retry(to_));
  EXPECT_TRUE(poster_.retry(to_)) << "nothing waits any more";
  EXPECT_EQ(driver_.accepted.size(), 1u);
  expect_nothing_held();
}

// Its memory is the user's already, but its sender may not come back for long.
TEST_F(PosterTest, AMessageWaitsForItsCopiedPayloadToLeave) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kAgain, StatusCode::kInProgress};
  OutgoingPacket& packet = taken(100);
  packet.message = &message;
  poster_.post(packet);
  EXPECT_EQ(state_of(message).posts, 1u) << "pushed back";
  EXPECT_TRUE(poster_.retry(to_));
  EXPECT_EQ(state_of(message).posts, 1u) << "the driver has it, and nobody else";
  EXPECT_TRUE(core_.finished.empty());
  poster_.posted(packet, {});
  EXPECT_EQ(state_of(message).posts, 0u);
  EXPECT_EQ(core_.finished.pop(), &message);
  OutgoingPacket& next = taken(100);
  next.message = &message;
  poster_.post(next);
  EXPECT_EQ(state_of(message).posts, 0u) << "that left at once";
  expect_nothing_held();
}

TEST_F(PosterTest, AMessageWaitsForTheFrameThatSaysThatItIsPlaced) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  ASSERT_TRUE(poster_.post_control(to_, Frame(), {}, &message));
  EXPECT_EQ(state_of(message).posts, 1u);
  poster_.posted(*static_cast<OutgoingPacket*>(driver_.context), {});
  EXPECT_EQ(core_.finished.pop(), &message);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatIsRefusedStaysUntilTheEndpointEnds) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {{StatusCode::kPeerFailed, "it died"}};
  poster_.post(taken(100, &message));
  EXPECT_TRUE(to_.post_failed);
  EXPECT_NE(to_.unposted, nullptr);
  EXPECT_TRUE(core_.finished.empty());
  poster_.drop_unposted(to_);
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFailed);
  EXPECT_EQ(core_.finished.pop(), &message);
  expect_nothing_held();
  poster_.drop_unposted(to_);  // nothing is left
}

TEST_F(PosterTest, WritesGoWhereTheirWindowIs) {
  OutgoingPacket& packet = *poster_.take(to_, Use::kWrite);
  packet.window = {1000, 7};
  packet.window_offset = 24;
  packet.packet.reference({users_, 100});
  poster_.post(packet);
  EXPECT_EQ(driver_.written_to, 1024u);
  expect_nothing_held();
}

TEST_F(PosterTest, ControlFramesCarryCreditOnce) {
  to_.to_return = 700;
  to_.charged = 1000;
  Frame frame;
  frame.kind = FrameKind::kRefuse;
  frame.id = 9;
  ASSERT_TRUE(poster_.post_control(to_, frame));
  ASSERT_TRUE(poster_.post_control(to_, frame));
  ASSERT_EQ(driver_.accepted.size(), 2u);
  for (std::uint32_t credit : {700u, 0u}) {
    std::vector<std::byte>& bytes = driver_.accepted[credit == 0 ? 1 : 0];
    Frame read;
    ASSERT_TRUE(decode_frame({bytes.data(), bytes.size()}, &read).ok());
    EXPECT_EQ(read.kind, FrameKind::kRefuse);
    EXPECT_EQ(read.id, 9u);
    EXPECT_EQ(read.credit, credit);
  }
  EXPECT_EQ(to_.to_return, 0u);
  EXPECT_EQ(to_.charged, 300u);
  expect_nothing_held();
}

TEST_F(PosterTest, AControlFrameThatCannotLeaveChangesNothing) {
  to_.to_return = to_.charged = 700;
  Frame frame;
  driver_.script = {StatusCode::kAgain};
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_EQ(to_.to_return, 700u);
  EXPECT_TRUE(to_.active);
  EXPECT_FALSE(to_.post_failed);
  expect_nothing_held();

  driver_.script = {StatusCode::kAgain};
  OutgoingPacket& packet = taken(10);
  poster_.post(packet);
  EXPECT_FALSE(poster_.post_control(to_, frame)) << "an earlier packet has to leave first";
  ASSERT_TRUE(poster_.retry(to_));

  driver_.script = {{StatusCode::kPeerFailed, "it died"}};
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_TRUE(to_.post_failed);
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_EQ(to_.to_return, 700u);
  expect_nothing_held();
}

TEST_F(PosterTest, ControlFramesWaitWhenTheirShareIsWithTheDriver) {
  Frame frame;
  const std::size_t share = core_.controls.capacity() / 2;
  driver_.script.assign(share, StatusCode::kInProgress);
  while (poster_.post_control(to_, frame)) {
    ASSERT_LE(to_.posts, share);
  }
  EXPECT_EQ(to_.posts, share);
  EXPECT_TRUE(to_.active);
  poster_.posted(*static_cast<OutgoingPacket*>(driver_.context), {});
  EXPECT_TRUE(poster_.post_control(to_, frame));
}

struct HalfAndHalf final : PayloadSource {
  void fill(Packet& packet, std::uint64_t limit) override {
    packet.stage(static_cast<std::size_t>(limit / 2));
    packet.reference({memory, static_cast<std::size_t>(limit - limit / 2)});
  }
  std::byte memory[256] = {};
};

TEST_F(PosterTest, FillingCountsWhatIsCopiedAndGathered) {
  HalfAndHalf source;
  OutgoingPacket& packet = *poster_.take(to_, Use::kData);
  EXPECT_EQ(fill_packet(core_, packet.packet, source, 101), 101u);
  EXPECT_EQ(core_.counters.staged_bytes, 50u);
  EXPECT_EQ(core_.counters.referenced_bytes, 51u);
}

TEST(Poster, CreditLeavesInPiecesThatAFrameCanCarry) {
  Endpoint endpoint({{0, {}}}, nullptr);
  endpoint.to_return = endpoint.charged = (std::uint64_t{1} << 32) + 5;
  EXPECT_EQ(returnable_credit(endpoint), 0xFFFFFFFFu);
  credit_returned(endpoint, 0xFFFFFFFFu);
  EXPECT_EQ(endpoint.to_return, 6u);
  EXPECT_EQ(endpoint.charged, 6u);
  EXPECT_EQ(returnable_credit(endpoint), 6u);
}

}  // namespace
}  // namespace mad
