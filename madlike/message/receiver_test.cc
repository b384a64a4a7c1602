// What the receiver does to a peer that does not keep to docs/wire_protocol.md: that connection
// ends, nothing else is touched.
#include "madlike/message/receiver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "madlike/message/side.h"
#include "madlike/message/wire.h"

namespace mad {
namespace {

/// A peer that says what the test wants, byte by byte.
class RawPeer {
 public:
  RawPeer(std::shared_ptr<LoopbackNetwork> network, Side& victim)
      : driver_(std::move(network)), victim_(victim) {
    const std::vector<std::byte>& address = victim.driver->address();
    connection_ = driver_.connect(address.data(), address.size()).value();
    (void)victim_.messenger->progress();
    look();
  }

  void post(const Bytes& packet) {
    Bytes copy = packet;
    const Segment segment{copy.data(), copy.size()};
    (void)driver_.post_send(connection_, {&segment, 1}, nullptr);
    look();
  }
  void post(Frame frame, const Bytes& body = {}) { post(bytes_of(frame, body)); }

  static Bytes bytes_of(Frame frame, const Bytes& body) {
    frame.body_bytes = static_cast<std::uint32_t>(body.size());
    Bytes packet(kFrameBytes);
    encode_frame(frame, packet.data());
    packet.insert(packet.end(), body.begin(), body.end());
    return packet;
  }
  Bytes hello_body() const {
    Bytes address = driver_.address();
    Bytes body(kHelloFixedBytes + address.size());
    encode_hello({4711, {address.data(), address.size()}}, body.data());
    return body;
  }
  static Frame hello_frame(std::uint64_t credit) {
    Frame frame;
    frame.kind = FrameKind::kHello;
    frame.length = credit;
    return frame;
  }
  void hello(std::uint64_t credit = 10000) { post(hello_frame(credit), hello_body()); }

  /// Lets both sides work, and keeps what the victim said.
  void look() {
    for (int i = 0; i < 5; ++i) {
      (void)victim_.messenger->progress();
      Completion completions[8];
      const std::size_t count = driver_.poll(completions, 8);
      for (std::size_t k = 0; k < count; ++k) {
        const Completion& c = completions[k];
        if (c.kind != Completion::Kind::kReceived) continue;
        Frame frame;
        EXPECT_TRUE(decode_frame(c.bytes, &frame).ok());
        heard.push_back(frame);
        driver_.release(c.buffer);
      }
    }
  }
  const Frame& heard_last(FrameKind kind) const {
    static const Frame nothing;
    const auto found =
        std::find_if(heard.rbegin(), heard.rend(), [&](const Frame& f) { return f.kind == kind; });
    EXPECT_NE(found, heard.rend());
    return found == heard.rend() ? nothing : *found;
  }
  const std::vector<std::byte>& address() const { return driver_.address(); }

  std::vector<Frame> heard;

 private:
  LoopbackDriver driver_;
  Side& victim_;
  ConnectionId connection_ = 0;
};

Frame frame_of(FrameKind kind, std::uint32_t id = 0, std::uint64_t length = 0) {
  Frame frame;
  frame.kind = kind;
  frame.id = id;
  frame.length = length;
  return frame;
}

MessengerConfig config() {
  MessengerConfig out;
  out.peer_credit = 5000;
  return out;
}

class Hostile : public ::testing::Test {
 protected:
  Hostile()
      : network_(std::make_shared<LoopbackNetwork>()),
        victim_(network_, config()),
        friend_(network_, config()),
        raw_(network_, victim_) {
    EXPECT_TRUE(friend_.messenger->touch(friend_.to(victim_)).ok());
    settle(victim_, friend_);
  }
  ~Hostile() override {
    // Whatever happened, others are served.
    friend_.send(friend_.to(victim_), 77, pattern(100000), "friend");
    settle(victim_, friend_);
    const auto found = std::find_if(victim_.arrived.begin(), victim_.arrived.end(),
                                    [](const Arrived& a) { return a.handler == 77; });
    EXPECT_TRUE(found != victim_.arrived.end() && found->sink->bytes == pattern(100000));
  }
  void expect_end(StatusCode code) {
    raw_.look();
    ASSERT_EQ(victim_.gone.size(), 1u);
    EXPECT_EQ(victim_.gone[0].second.code(), code) << victim_.gone[0].second.message();
    EXPECT_EQ(peer_address(*victim_.gone[0].first), raw_.address());
    raw_.look();
    EXPECT_EQ(victim_.gone.size(), 1u);
  }
  void expect_alive() {
    raw_.look();
    EXPECT_TRUE(victim_.gone.empty()) << victim_.gone[0].second.message();
  }
  /// The victim sends `bytes` to the raw peer; the id under which it waits.
  std::uint32_t victim_sends(std::size_t bytes) {
    Endpoint& to =
        *victim_.messenger->connect(0, raw_.address().data(), raw_.address().size()).value();
    victim_.send(to, 1, pattern(bytes));
    raw_.look();
    return raw_.heard_last(FrameKind::kMessage).id;
  }
  /// The raw peer sends a message without head; the victim's id of it.
  std::uint32_t victim_accepts(std::uint32_t id, std::size_t bytes) {
    raw_.post(frame_of(FrameKind::kMessage, id, bytes));
    return raw_.heard_last(FrameKind::kClear).reply_id;
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side victim_, friend_;
  RawPeer raw_;
};

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
  Bytes hello = RawPeer::bytes_of(RawPeer::hello_frame(0), raw_.hello_body());
  hello[1] = std::byte{2};
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

TEST_F(Hostile, HelloUnderAFalseName) {
  Bytes body = raw_.hello_body();
  body.back() ^= std::byte{1};
  raw_.post(RawPeer::hello_frame(0), body);
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

TEST_F(Hostile, ClearsThatDoNotFit) {
  const std::vector<std::function<void(Frame&)>> changes = {
      [](Frame& f) { f.id += 1; },        [](Frame& f) { f.id = 0xffffffff; },
      [](Frame& f) { f.offset += 1; },    [](Frame& f) { f.offset -= 1; },
      [](Frame& f) { f.length = 20001; }, [](Frame& f) { f.length = f.offset; },
      [](Frame& f) { f.credit = 10001; }, [](Frame& f) { f.reply_id = 0; },
  };
  for (const auto& change : changes) {
    Side victim(network_, config());
    RawPeer raw(network_, victim);
    raw.hello();
    Endpoint& to =
        *victim.messenger->connect(0, raw.address().data(), raw.address().size()).value();
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
    Side victim(network_, config());
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

TEST_F(Hostile, PlacedOfAWrongLengthOrAfterData) {
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

TEST_F(Hostile, PlacedTooEarly) {
  raw_.hello();
  const std::uint32_t id = victim_accepts(5, 100000);
  raw_.post(frame_of(FrameKind::kPlaced, id, 99999));
  expect_end(StatusCode::kProtocol);
}

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
