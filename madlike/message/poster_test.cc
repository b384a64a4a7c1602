// Where a packet is after each thing a driver can say, and who may take how many.
#include "madlike/message/poster.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <deque>
#include <vector>

#include "madlike/message/scripted_driver.h"

namespace mad {
namespace {

using Use = OutgoingPacket::Use;
constexpr std::uint64_t kRunBytes = 64;

class PosterTest : public ::testing::Test {
 protected:
  PosterTest() { to_.link = driver_.link(0); }
  static MessengerConfig config() {
    MessengerConfig out;
    out.packet_bytes = 1024;
    out.staging_bytes = 32 * 1024;  // 32 packets
    return out;
  }
  /// Posts a packet of `bytes` staged bytes, of the message if there is one.
  bool send(Endpoint& to, std::size_t bytes, OutgoingMessage* message = nullptr,
            Use use = Use::kFirst) {
    return poster_.send(to, use, bytes, kRunBytes, message, [&](Packet& packet) {
      std::memset(packet.staging_room().data, 0x11, bytes);
      packet.stage(bytes);
      return true;
    });
  }
  /// Writes so many bytes of the message's memory.
  bool write(Endpoint& to, std::size_t bytes, OutgoingMessage& message) {
    return poster_.write(to, OutgoingPacket::Use::kWrite, {1000, 7}, 24, bytes, message,
                         [&](Packet& packet) {
                           packet.reference({users_, bytes});
                           return true;
                         });
  }
  /// The packet that the driver was given last.
  OutgoingPacket& given() const { return *static_cast<OutgoingPacket*>(driver_.context); }
  void driver_keeps(std::size_t packets) {
    driver_.script.assign(packets, StatusCode::kInProgress);
  }
  std::size_t in_use() const { return core_.packets.in_use() + core_.controls.in_use(); }
  void expect_nothing_held() const {
    EXPECT_EQ(in_use(), 0u);
    EXPECT_EQ(core_.posts, 0u);
    EXPECT_EQ(to_.packets.posts, 0u);
    EXPECT_EQ(to_.packets.of_messages, 0u);
    EXPECT_EQ(to_.packets.controls, 0u);
    EXPECT_EQ(to_.packets.first, 0u);
    EXPECT_EQ(to_.packets.streaming, 0u);
    EXPECT_EQ(to_.packets.streaming_bytes, 0u);
    EXPECT_EQ(to_.queue.unposted, nullptr);
  }

  NoEvents events_;
  ScriptedDriver driver_;
  Core core_{config(), events_};
  Poster poster_{core_};
  Endpoint to_{{{0, {}}}, &driver_};
  std::byte users_[256] = {};
};

TEST_F(PosterTest, AnEndpointTakesItsShareAndLessForStreamedPayload) {
  OutgoingMessage message;
  driver_keeps(1000);
  std::vector<OutgoingPacket*> streamed;
  while (send(to_, 1, &message, Use::kData)) streamed.push_back(&given());
  EXPECT_EQ(streamed.size(), 4u);
  EXPECT_FALSE(write(to_, 1, message));
  std::size_t first = 0;
  while (send(to_, 1)) ++first;
  EXPECT_EQ(first, 14u);
  Endpoint other({{0, {}}}, &driver_);
  other.link = driver_.link(0);
  ASSERT_TRUE(send(other, 1, &message, Use::kData)) << "somebody else has a share too";
  EXPECT_EQ(given().endpoint, &other);
  poster_.posted(given(), {});
  for (OutgoingPacket* packet : streamed) poster_.posted(*packet, {});
  EXPECT_TRUE(write(to_, 1, message));
  EXPECT_EQ(to_.packets.streaming, 1u);
}

// More of them than there are packets.
TEST_F(PosterTest, EndpointsThatTakeNothingLeavePacketsToAllOthers) {
  OutgoingMessage message;
  std::deque<Endpoint> slow;
  Frame frame;
  for (int i = 0; i < 200; ++i) {
    Endpoint& to = slow.emplace_back(std::vector<Route>{{0, {}}}, &driver_);
    to.link = driver_.link(0);
    driver_keeps(core_.packets.capacity() + core_.controls.capacity());
    while (send(to, 1)) continue;
    while (write(to, 1, message)) continue;
    while (poster_.post_control(to, frame)) continue;
  }
  driver_.script.clear();
  EXPECT_TRUE(send(to_, 1));
  EXPECT_TRUE(write(to_, 1, message));
  EXPECT_TRUE(poster_.post_control(to_, frame));
}

TEST_F(PosterTest, PacketsHaveTheRoomThatIsAskedForWithinTheLimitsOfTheirUse) {
  OutgoingMessage message;
  std::size_t room = 0;
  const auto look = [&](Packet& packet) {
    room = packet.bytes_room();
    return false;
  };
  for (const auto& [asked, sent, written] :
       {std::array{100u, 100u, 100u}, {1000u, 512u, 1000u}, {5000u, 512u, 4096u}}) {
    EXPECT_FALSE(poster_.send(to_, Use::kFirst, asked, kRunBytes, nullptr, look));
    EXPECT_EQ(room, sent);
    EXPECT_FALSE(poster_.write(to_, OutgoingPacket::Use::kWrite, {}, 0, asked, message, look));
    EXPECT_EQ(room, written);
  }
  expect_nothing_held();
}

TEST_F(PosterTest, ManyStreamedBytesStopTheStreamNotFirstFrames) {
  OutgoingMessage message;
  to_.packets.streaming_bytes = 4 * 1024 * 1024;
  EXPECT_FALSE(send(to_, 1, &message, Use::kData));
  EXPECT_TRUE(send(to_, 1));
}

TEST_F(PosterTest, WhatTheDriverCopiedIsFreeAtOnce) {
  EXPECT_TRUE(send(to_, 100));
  ASSERT_EQ(driver_.accepted.size(), 1u);
  EXPECT_EQ(driver_.accepted[0].size(), 100u);
  EXPECT_EQ(core_.counters.drivers[0].packets_sent, 1u);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatTheDriverKeepsIsFreeWhenItIsPosted) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  EXPECT_TRUE(send(to_, 200, &message, Use::kData));
  EXPECT_EQ(to_.packets.posts, 1u);
  EXPECT_EQ(to_.packets.of_messages, 1u);
  EXPECT_EQ(to_.packets.streaming_bytes, 200u);
  EXPECT_EQ(state_of(message).posts, 1u);
  EXPECT_TRUE(core_.finished.empty());
  poster_.posted(given(), {});
  ASSERT_FALSE(core_.finished.empty());
  EXPECT_EQ(core_.finished.pop(), &message);
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFinished);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatDidNotLeaveFailsItsMessage) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  EXPECT_TRUE(send(to_, 100, &message));
  poster_.posted(given(), {StatusCode::kPeerFailed, "it died"});
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFailed);
  EXPECT_EQ(core_.finished.pop(), &message);
  EXPECT_TRUE(to_.state.refused());
  expect_nothing_held();
}

TEST_F(PosterTest, WhatDidNotLeaveByARouteThatWasGivenUpIsNoMatter) {
  driver_.script = {StatusCode::kInProgress};
  EXPECT_TRUE(send(to_, 100));
  to_.state.leave_connection();
  poster_.posted(given(), {StatusCode::kUnreachable, "nobody is there"});
  EXPECT_FALSE(to_.state.refused());
  expect_nothing_held();
}

TEST_F(PosterTest, WhatIsPushedBackStaysAndIsTriedAgain) {
  driver_.script = {StatusCode::kAgain, StatusCode::kAgain};
  EXPECT_TRUE(send(to_, 100));
  EXPECT_EQ(to_.queue.unposted, &given());
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
  EXPECT_TRUE(send(to_, 100, &message));
  EXPECT_EQ(state_of(message).posts, 1u) << "pushed back";
  EXPECT_TRUE(poster_.retry(to_));
  EXPECT_EQ(state_of(message).posts, 1u) << "the driver has it, and nobody else";
  EXPECT_TRUE(core_.finished.empty());
  poster_.posted(given(), {});
  EXPECT_EQ(state_of(message).posts, 0u);
  EXPECT_EQ(core_.finished.pop(), &message);
  EXPECT_TRUE(send(to_, 100, &message));
  EXPECT_EQ(state_of(message).posts, 0u) << "that left at once";
  expect_nothing_held();
}

TEST_F(PosterTest, AMessageWaitsForTheFrameThatSaysThatItIsPlaced) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {StatusCode::kInProgress};
  Frame frame;
  ASSERT_TRUE(poster_.post_control(to_, frame, {}, &message));
  EXPECT_EQ(state_of(message).posts, 1u);
  poster_.posted(given(), {});
  EXPECT_EQ(core_.finished.pop(), &message);
  expect_nothing_held();
}

TEST_F(PosterTest, WhatIsRefusedStaysUntilTheEndpointEnds) {
  OutgoingMessage message;
  state_of(message).phase = OutgoingPhase::kFinished;
  driver_.script = {{StatusCode::kPeerFailed, "it died"}};
  EXPECT_TRUE(send(to_, 100, &message));
  EXPECT_TRUE(to_.state.refused());
  EXPECT_NE(to_.queue.unposted, nullptr);
  EXPECT_TRUE(core_.finished.empty());
  poster_.drop_unposted(to_);
  EXPECT_EQ(state_of(message).phase, OutgoingPhase::kFailed);
  EXPECT_EQ(core_.finished.pop(), &message);
  expect_nothing_held();
  poster_.drop_unposted(to_);  // nothing is left
}

TEST_F(PosterTest, WritesGoWhereTheirWindowIs) {
  OutgoingMessage message;
  EXPECT_TRUE(write(to_, 100, message));
  EXPECT_EQ(driver_.written_to, 1024u);
  EXPECT_EQ(driver_.accepted[0].size(), 100u);
  expect_nothing_held();
}

TEST_F(PosterTest, ControlFramesCarryCreditOnce) {
  to_.credit.charge(1000);
  to_.credit.release(700);
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
  EXPECT_EQ(to_.credit.to_return(), 0u);
  EXPECT_EQ(to_.credit.charged(), 300u);
  expect_nothing_held();
}

TEST_F(PosterTest, AControlFrameThatCannotLeaveChangesNothing) {
  to_.credit.charge(700);
  to_.credit.release(700);
  Frame frame;
  driver_.script = {StatusCode::kAgain};
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_EQ(to_.credit.to_return(), 700u);
  EXPECT_TRUE(to_.active);
  EXPECT_FALSE(to_.state.refused());
  expect_nothing_held();

  driver_.script = {StatusCode::kAgain};
  EXPECT_TRUE(send(to_, 10));
  EXPECT_FALSE(poster_.post_control(to_, frame)) << "an earlier packet has to leave first";
  ASSERT_TRUE(poster_.retry(to_));

  driver_.script = {{StatusCode::kPeerFailed, "it died"}};
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_TRUE(to_.state.refused());
  EXPECT_FALSE(poster_.post_control(to_, frame));
  EXPECT_EQ(to_.credit.to_return(), 700u);
  expect_nothing_held();
}

TEST_F(PosterTest, ControlFramesWaitWhenTheirShareIsWithTheDriver) {
  Frame frame;
  const std::size_t share = core_.controls.capacity() / 2;
  driver_.script.assign(share, StatusCode::kInProgress);
  while (poster_.post_control(to_, frame)) {
    ASSERT_LE(to_.packets.posts, share);
  }
  EXPECT_EQ(to_.packets.posts, share);
  EXPECT_TRUE(to_.active);
  poster_.posted(given(), {});
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
  const auto build = [&](Packet& packet) {
    EXPECT_EQ(fill_packet(core_, packet, to_, source), 101u);
    return true;
  };
  EXPECT_TRUE(poster_.send(to_, Use::kData, 101, kRunBytes, nullptr, build));
  EXPECT_EQ(core_.counters.staged_bytes, 50u);
  EXPECT_EQ(core_.counters.referenced_bytes, 51u);
}

}  // namespace
}  // namespace mad
