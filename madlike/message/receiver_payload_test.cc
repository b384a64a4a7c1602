// What the receiver does to a peer that names messages, offsets, lengths or windows which are none.
#include <functional>

#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

TEST_F(Hostile, ClearsThatDoNotFit) {
  const std::vector<std::function<void(Frame&)>> changes = {
      [](Frame& f) { f.id += 1; },        [](Frame& f) { f.id = 0xffffffff; },
      [](Frame& f) { f.offset += 1; },    [](Frame& f) { f.offset -= 1; },
      [](Frame& f) { f.length = 20001; }, [](Frame& f) { f.length = f.offset; },
      [](Frame& f) { f.credit = 10001; }, [](Frame& f) { f.reply_id = 0; },
  };
  for (const auto& change : changes) {
    Side victim(network_, small_credit());
    RawPeer raw(network_, victim);
    raw.hello();
    Endpoint& to = *victim.messenger->connect({{0, raw.address()}}).value();
    Sent& sent = victim.send(to, 1, pattern(20000));
    raw.look();
    Frame clear = frame_of(FrameKind::kClear, raw.heard_last(FrameKind::kMessage).id, 20000);
    clear.offset = 10000;
    clear.reply_id = 3;
    change(clear);
    raw.post(clear);
    EXPECT_EQ(victim.gone.size(), 1u);
    EXPECT_EQ(sent.done, 1);
    EXPECT_EQ(sent.status.code(), StatusCode::kProtocol);
    EXPECT_TRUE(std::none_of(raw.heard.begin(), raw.heard.end(),
                             [](const Frame& f) { return f.kind == FrameKind::kData; }));
  }
}

TEST_F(Hostile, ClearsComeOnce) {
  raw_.hello();
  Frame clear = frame_of(FrameKind::kClear, victim_sends(20000), 20000);
  clear.offset = 10000;
  clear.reply_id = 3;
  raw_.post(clear);
  expect_alive();
  raw_.post(clear);
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, RefusalsOfNothing) {
  raw_.hello();
  const std::uint32_t id = victim_sends(20000);
  raw_.post(frame_of(FrameKind::kRefuse, id));
  expect_alive();
  EXPECT_TRUE(victim_.all_sent());
  EXPECT_TRUE(victim_.sent[0].status.ok());
  raw_.post(frame_of(FrameKind::kRefuse, id));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, IdsOfOtherConnections) {
  // The friend's message waits at the victim; the raw peer answers in its place.
  friend_.on_arrival = [](Arrived&) {};
  Endpoint& to_friend = victim_.to(friend_);
  Sent& sent = victim_.send(to_friend, 1, pattern(20000));
  settle(victim_, friend_);
  raw_.hello();
  for (std::uint32_t id = 1; id < 5 && victim_.gone.empty(); ++id) {
    raw_.post(frame_of(FrameKind::kRefuse, id));
  }
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(sent.done, 0);
  friend_.accept(friend_.arrived[0]);
  settle(victim_, friend_);
  EXPECT_TRUE(friend_.arrived[0].sink->bytes == sent.bytes);
}

TEST_F(Hostile, DataThatDoesNotFit) {
  const std::vector<std::function<void(Frame&)>> changes = {
      [](Frame& f) { f.id += 1; },      [](Frame& f) { f.offset = 1; },
      [](Frame& f) { f.offset = 100; }, [](Frame& f) { f.length = 101; },
      [](Frame& f) { f.credit = 1; },
  };
  for (const auto& change : changes) {
    Side victim(network_, small_credit());
    RawPeer raw(network_, victim);
    raw.hello();
    raw.post(frame_of(FrameKind::kMessage, 5, 100));
    Frame data = frame_of(FrameKind::kData, raw.heard_last(FrameKind::kClear).reply_id, 50);
    change(data);
    raw.post(data, pattern(data.length));
    EXPECT_EQ(victim.gone.size(), 1u);
    ASSERT_EQ(victim.arrived.size(), 1u);
    EXPECT_EQ(victim.arrived[0].done, 1);
    EXPECT_EQ(victim.arrived[0].status.code(), StatusCode::kProtocol);
    EXPECT_EQ(victim.arrived[0].received, 0u);
    EXPECT_EQ(victim.arrived[0].sink->places, 0);
  }
}

// What is there already is not written again.
TEST_F(Hostile, DataFromAnEarlierOffset) {
  raw_.hello();
  const std::uint32_t id = victim_accepts(5, 100);
  raw_.post(frame_of(FrameKind::kData, id, 50), pattern(50));
  expect_alive();
  Frame again = frame_of(FrameKind::kData, id, 50);
  again.offset = 49;
  raw_.post(again, pattern(50));
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(victim_.arrived[0].sink->places, 1);
}

TEST_F(Hostile, DataAfterTheEnd) {
  raw_.hello();
  const std::uint32_t id = victim_accepts(5, 100);
  raw_.post(frame_of(FrameKind::kData, id, 100), pattern(100));
  expect_alive();
  EXPECT_EQ(victim_.arrived[0].done, 1);
  Frame more = frame_of(FrameKind::kData, id, 1);
  more.offset = 100;
  raw_.post(more, pattern(1));
  expect_end(StatusCode::kProtocol);
  EXPECT_EQ(victim_.arrived[0].done, 1);
}

TEST_F(Hostile, DataForAMessageThatNobodyAccepted) {
  victim_.on_arrival = [](Arrived&) {};
  raw_.hello();
  raw_.post(frame_of(FrameKind::kMessage, 5, 100));
  raw_.post(frame_of(FrameKind::kData, 1, 100), pattern(100));
  expect_end(StatusCode::kProtocol);
  victim_.discard(victim_.arrived[0]);
  victim_.on_arrival = nullptr;
}

TEST_F(Hostile, PlacedWithoutAWindow) {
  raw_.hello();
  const std::uint32_t id = victim_accepts(5, 100);  // too small for a window
  raw_.post(frame_of(FrameKind::kPlaced, id, 100));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, PlacedOnceOrAfterData) {
  raw_.hello();
  std::uint32_t id = victim_accepts(5, 100000);
  EXPECT_TRUE(raw_.heard_last(FrameKind::kClear).window);
  raw_.post(frame_of(FrameKind::kPlaced, id, 100000));
  expect_alive();
  EXPECT_EQ(victim_.arrived[0].done, 1);
  id = victim_accepts(6, 100000);
  raw_.post(frame_of(FrameKind::kData, id, 10), pattern(10));
  expect_alive();
  raw_.post(frame_of(FrameKind::kPlaced, id, 100000));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, PlacedForAMessageThatNobodyAccepted) {
  raw_.hello();
  raw_.post(frame_of(FrameKind::kPlaced, 1, 100000));
  expect_end(StatusCode::kProtocol);
}

// A peer may guess the numbers of what others send.
TEST_F(Hostile, DataForAnothersMessage) {
  RawPeer other(network_, victim_);
  other.hello();
  other.post(frame_of(FrameKind::kMessage, 5, 100));
  const std::uint32_t id = other.heard_last(FrameKind::kClear).reply_id;
  raw_.hello();
  raw_.post(frame_of(FrameKind::kData, id, 100), pattern(100));
  expect_end(StatusCode::kProtocol);
  ASSERT_EQ(victim_.arrived.size(), 1u);
  EXPECT_EQ(victim_.arrived[0].sink->places, 0);
  other.post(frame_of(FrameKind::kData, id, 100), pattern(100));
  EXPECT_EQ(victim_.arrived[0].done, 1);
}

class PlacedOfAnotherLength : public Hostile,
                              public ::testing::WithParamInterface<std::uint64_t> {};

TEST_P(PlacedOfAnotherLength, EndsTheConnection) {
  raw_.hello();
  const std::uint32_t id = victim_accepts(5, 100000);
  raw_.post(frame_of(FrameKind::kPlaced, id, GetParam()));
  expect_end(StatusCode::kProtocol);
}

INSTANTIATE_TEST_SUITE_P(Hostile, PlacedOfAnotherLength, ::testing::Values(99999, 100001));

TEST_F(Hostile, AWindowThatIsNone) {
  raw_.hello();
  Frame clear = frame_of(FrameKind::kClear, victim_sends(50000), 50000);
  clear.offset = 10000;
  clear.reply_id = 3;
  clear.window = true;
  raw_.post(clear, Bytes(kWindowBytes, std::byte{0x55}));
  for (int i = 0; i < 1000000 && victim_.gone.empty(); ++i) (void)victim_.messenger->progress();
  EXPECT_EQ(victim_.sent[0].done, 1);
  ASSERT_EQ(victim_.gone.size(), 1u);
  EXPECT_TRUE(victim_.gone[0].second.error());
}

}  // namespace
}  // namespace mad
