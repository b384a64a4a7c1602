// What the receiver does to a peer whose greeting, order, credit or very bytes are wrong.
#include "madlike/message/receiver.h"

#include <new>
#include <random>

#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

TEST_F(Hostile, ARawPeerThatBehavesIsServed) {
  raw_.hello();
  const std::uint32_t id = victim_sends(20000);
  EXPECT_EQ(raw_.heard[0].kind, FrameKind::kHello);
  EXPECT_EQ(raw_.heard[0].length, 5000u);
  Frame clear = frame_of(FrameKind::kClear, id, 20000);
  clear.offset = 10000;  // its credit was the head
  clear.reply_id = 3;
  clear.credit = 10000;
  raw_.post(clear);
  EXPECT_EQ(raw_.heard_last(FrameKind::kData).id, 3u);
  EXPECT_EQ(raw_.heard_last(FrameKind::kData).length, 10000u);
  EXPECT_TRUE(victim_.all_sent());

  const std::uint32_t ours = victim_accepts(8, 100);
  raw_.post(frame_of(FrameKind::kData, ours, 100), pattern(100));
  ASSERT_EQ(victim_.arrived.size(), 1u);
  EXPECT_EQ(victim_.arrived[0].done, 1);
  expect_alive();
  raw_.post(frame_of(FrameKind::kGoodbye));
  expect_end(StatusCode::kClosed);
}

TEST_F(Hostile, AnotherVersion) {
  Bytes hello = RawPeer::bytes_of(RawPeer::hello_frame(0), {});
  hello[1] = std::byte{1};
  raw_.post(hello);
  expect_end(StatusCode::kVersion);
}

TEST_F(Hostile, FramesBeforeHello) {
  raw_.post(frame_of(FrameKind::kMessage));
  expect_end(StatusCode::kProtocol);
  EXPECT_TRUE(victim_.arrived.empty());
}

TEST_F(Hostile, TwoHellos) {
  raw_.hello();
  expect_alive();
  raw_.hello();
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, HelloWithABody) {
  raw_.post(RawPeer::hello_frame(0), pattern(8));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, FramesAfterGoodbye) {
  raw_.hello();
  raw_.post(frame_of(FrameKind::kGoodbye));
  raw_.post(frame_of(FrameKind::kMessage));
  expect_end(StatusCode::kClosed);
  EXPECT_TRUE(victim_.arrived.empty());
}

TEST_F(Hostile, HeadsBeyondTheCredit) {
  victim_.on_arrival = [](Arrived&) {};
  raw_.hello();
  for (int i = 0; i < 5; ++i) raw_.post(frame_of(FrameKind::kMessage, 0, 1000), pattern(1000));
  expect_alive();
  raw_.post(frame_of(FrameKind::kMessage, 9, 1000), pattern(1));
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(victim_.arrived.size(), 5u);
  EXPECT_EQ(victim_.messenger->counters().unexpected_bytes, 5000u);
  victim_.on_arrival = nullptr;
  for (Arrived& arrived : victim_.arrived) {
    victim_.accept(arrived);
    EXPECT_EQ(arrived.done, 1);
  }
}

TEST_F(Hostile, CreditThatWasNeverTaken) {
  raw_.hello(1000);
  Frame credit = frame_of(FrameKind::kCredit);
  credit.credit = 1;
  raw_.post(credit);
  expect_end(StatusCode::kProtocol);
}

// Its end is the one that a violation of ours has; what came with it may be received all the same.
TEST_F(Hostile, WhoBreaksTheUsersProtocolIsRejected) {
  victim_.on_arrival = [&](Arrived& arrived) {
    victim_.messenger->reject(*arrived.from, {StatusCode::kProtocol, "it sent nonsense"});
    if (arrived.message != nullptr) victim_.accept(arrived);
  };
  raw_.hello();
  raw_.post(frame_of(FrameKind::kMessage, 0, 100), pattern(100));
  victim_.on_arrival = nullptr;
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(victim_.gone[0].second.message(), "it sent nonsense");
  ASSERT_EQ(victim_.arrived.size(), 1u);
  EXPECT_TRUE(victim_.arrived[0].sink->bytes == pattern(100));
}

class Throws : public Hostile {
 protected:
  Throws() {
    raw_.hello();
    expect_alive();
  }
  ~Throws() override { victim_.on_arrival = nullptr; }
  static Frame with_head(std::uint32_t id) { return frame_of(FrameKind::kMessage, id, 1000); }
};

// What it said before is still received; of the one that nobody heard of nothing is told.
TEST_F(Throws, WithoutMemoryToHearOfAMessageItsPeerEnds) {
  victim_.on_arrival = [](Arrived&) {};
  raw_.post(with_head(0), pattern(1000));
  victim_.on_arrival = [](Arrived&) { throw std::bad_alloc(); };
  raw_.post(with_head(9), pattern(500));
  expect_end(StatusCode::kNoMemory);
  victim_.on_arrival = nullptr;
  ASSERT_EQ(victim_.arrived.size(), 2u);
  EXPECT_EQ(victim_.arrived[1].done, 0);
  victim_.accept(victim_.arrived[0]);
  EXPECT_TRUE(victim_.arrived[0].sink->bytes == pattern(1000));
}

TEST_F(Throws, WithoutMemoryToHearOfAHeaderItsPeerEnds) {
  victim_.on_arrival = [](Arrived&) { throw std::bad_alloc(); };
  raw_.post(frame_of(FrameKind::kMessage));
  expect_end(StatusCode::kNoMemory);
}

// Who receives it may find out afterwards that there is no memory for more.
TEST_F(Throws, AMessageThatWasAcceptedBeforeFails) {
  victim_.on_arrival = [&](Arrived& arrived) {
    victim_.accept(arrived);
    throw std::bad_alloc();
  };
  raw_.post(with_head(9), pattern(500));
  expect_end(StatusCode::kNoMemory);
  ASSERT_EQ(victim_.arrived.size(), 1u);
  EXPECT_EQ(victim_.arrived[0].done, 1);
  EXPECT_EQ(victim_.arrived[0].status.code(), StatusCode::kNoMemory);
}

TEST_F(Throws, AMessageThatNothingWasDoneWithIsForgottenWithItsPeer) {
  victim_.on_arrival = [](Arrived&) { throw 1; };
  EXPECT_THROW(raw_.post(with_head(9), pattern(500)), int);
  raw_.post(frame_of(FrameKind::kGoodbye));
  expect_end(StatusCode::kClosed);
}

TEST_F(Hostile, RandomBytes) {
  const unsigned seed = 20261121;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 300; ++i) {
    RawPeer raw(network_, victim_);
    if (i % 4 != 0) raw.hello();
    for (int k = 0; k < 10; ++k) {
      Bytes packet(random() % 200);
      for (std::byte& b : packet) b = static_cast<std::byte>(random());
      if (packet.size() >= kFrameBytes && i % 2 != 0) {
        // Well formed on the outside.
        packet[0] = std::byte{0xAD};
        packet[1] = std::byte{1};
        packet[2] = static_cast<std::byte>(random() % 9);
        packet[3] = packet[5] = std::byte{0};
        if (random() % 2) {
          for (int z : {8, 9, 10, 11, 13, 14, 15, 16, 17, 18, 19}) packet[z] = std::byte{0};
          for (int z = 24; z < 40; ++z) packet[z] &= std::byte{0};
        }
        const auto body = static_cast<std::uint32_t>(packet.size() - kFrameBytes);
        for (int z = 0; z < 4; ++z) packet[20 + z] = static_cast<std::byte>(body >> 8 * z);
      }
      raw.post(packet);
    }
  }
  victim_.gone.clear();
}

}  // namespace
}  // namespace mad
