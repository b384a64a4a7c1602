// What a driver says of a packet's length comes from the peer on some fabrics: the first piece,
// what follows it, and what is said to follow have to agree.
#include <gtest/gtest.h>

#include "madlike/message/announcing_driver.h"
#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

class Announced : public ::testing::Test {
 protected:
  Announced()
      : network_(std::make_shared<LoopbackNetwork>()),
        victim_(one_driver(network_), small_credit()),
        raw_(network_, victim_) {
    raw_.hello();
  }
  static std::vector<std::unique_ptr<Driver>> one_driver(
      const std::shared_ptr<LoopbackNetwork>& network) {
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::make_unique<AnnouncingDriver>(network));
    return drivers;
  }
  AnnouncingDriver& driver() { return *static_cast<AnnouncingDriver*>(victim_.driver); }

  /// A frame that says that it has `body_bytes`, and the first of them.
  static Bytes begin(Frame frame, std::uint32_t body_bytes, const Bytes& here) {
    Bytes packet = RawPeer::bytes_of(frame, here);
    frame.body_bytes = body_bytes;
    encode_frame(frame, packet.data());
    return packet;
  }
  void announce(const Bytes& piece, std::size_t rest) {
    driver().announce(0, piece, rest);
    raw_.look();
  }
  /// The first piece of a message whose payload is its head, of which `here` bytes come with it.
  void begin_message(std::size_t head, std::size_t here) {
    announce(begin(frame_of(FrameKind::kMessage, 0, head), static_cast<std::uint32_t>(head),
                   first_of(head, here)),
             head - here);
    expect_alive();
  }
  static Bytes first_of(std::size_t bytes, std::size_t first) {
    Bytes all = pattern(bytes);
    all.resize(first);
    return all;
  }
  void expect_violation() {
    ASSERT_EQ(victim_.gone.size(), 1u);
    EXPECT_EQ(victim_.gone[0].second.code(), StatusCode::kProtocol);
    EXPECT_TRUE(driver().all_released());
  }
  void expect_alive() {
    EXPECT_TRUE(victim_.gone.empty()) << victim_.gone[0].second.message();
    EXPECT_TRUE(driver().all_released());
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side victim_;
  RawPeer raw_;
};

TEST_F(Announced, AsItIsAPacketInPiecesIsReceived) {
  for (const bool wanted : {true, false}) {
    victim_.arrived.clear();
    victim_.on_arrival = [&](Arrived& arrived) {
      if (wanted) victim_.accept(arrived);
    };
    begin_message(100, 30);
    Bytes rest = pattern(100);
    rest.erase(rest.begin(), rest.begin() + 30);
    announce({rest.begin(), rest.begin() + 20}, 50);
    announce({rest.begin() + 20, rest.end()}, 0);
    if (!wanted) victim_.accept(victim_.arrived[0]);
    EXPECT_EQ(victim_.arrived[0].done, 1);
    EXPECT_TRUE(victim_.arrived[0].sink->bytes == pattern(100));
    expect_alive();
  }
}

// Bytes and rest together are 16, if they are added in 64 bits.
TEST_F(Announced, ARestThatWrapsAround) {
  victim_.on_arrival = [](Arrived&) {};
  announce(begin(frame_of(FrameKind::kMessage, 0, 16), 16, pattern(4000)),
           std::size_t{0} - 4000 + 16);
  expect_violation();
  EXPECT_TRUE(victim_.arrived.empty());
}

TEST_F(Announced, ARestBeyondTheFrame) {
  for (const std::size_t wrong : {std::size_t{59}, std::size_t{61}, (std::size_t{1} << 32) + 60}) {
    SCOPED_TRACE(wrong);
    Side victim(one_driver(network_), small_credit());
    RawPeer raw(network_, victim);
    raw.hello();
    static_cast<AnnouncingDriver*>(victim.driver)
        ->announce(0, begin(frame_of(FrameKind::kMessage, 0, 100), 100, pattern(40)), wrong);
    raw.look();
    ASSERT_EQ(victim.gone.size(), 1u);
    EXPECT_EQ(victim.gone[0].second.code(), StatusCode::kProtocol);
  }
}

struct Wrong {
  const char* what;
  std::size_t bytes, rest;  // of a second piece, where 70 bytes are missing
};

class AnnouncedPiece : public Announced, public ::testing::WithParamInterface<Wrong> {};

TEST_P(AnnouncedPiece, OfAMessageThatNobodyWaitsFor) {
  victim_.on_arrival = [](Arrived&) {};
  begin_message(100, 30);
  announce(pattern(GetParam().bytes), GetParam().rest);
  expect_violation();
}

TEST_P(AnnouncedPiece, OfAMessageThatIsReceived) {
  begin_message(100, 30);
  announce(pattern(GetParam().bytes), GetParam().rest);
  expect_violation();
  EXPECT_FALSE(victim_.arrived[0].sink->overrun);
  EXPECT_EQ(victim_.arrived[0].done, 1);
  EXPECT_EQ(victim_.arrived[0].status.code(), StatusCode::kProtocol);
}

TEST_P(AnnouncedPiece, OfADataFrame) {
  raw_.post(frame_of(FrameKind::kMessage, 8, 100));
  const std::uint32_t id = raw_.heard_last(FrameKind::kClear).reply_id;
  announce(begin(frame_of(FrameKind::kData, id, 100), 100, first_of(100, 30)), 70);
  expect_alive();
  announce(pattern(GetParam().bytes), GetParam().rest);
  expect_violation();
  EXPECT_FALSE(victim_.arrived[0].sink->overrun);
}

INSTANTIATE_TEST_SUITE_P(Pieces, AnnouncedPiece,
                         ::testing::Values(Wrong{"Longer", 71, 0}, Wrong{"Shorter", 69, 0},
                                           Wrong{"Nothing", 0, 70}, Wrong{"RestTooLong", 30, 41},
                                           Wrong{"RestTooShort", 30, 39},
                                           Wrong{"RestThatWraps", 500, std::size_t{0} - 430}),
                         [](const auto& info) { return info.param.what; });

// Fixed lengths are here as a whole; only payload may follow.
TEST_F(Announced, AWindowThatFollows) {
  Endpoint& to = *victim_.messenger->connect({{0, raw_.address()}}).value();
  victim_.send(to, 1, pattern(20000));
  raw_.look();
  Frame clear = frame_of(FrameKind::kClear, raw_.heard_last(FrameKind::kMessage).id, 20000);
  clear.offset = 10000;
  clear.reply_id = 3;
  clear.window = true;
  announce(begin(clear, kWindowBytes, pattern(8)), kWindowBytes - 8);
  expect_violation();
}

TEST_F(Announced, AHeaderThatFollows) {
  Frame frame = frame_of(FrameKind::kMessage);
  frame.header_bytes = 100;
  announce(begin(frame, 104, pattern(50)), 54);
  expect_violation();
  EXPECT_TRUE(victim_.arrived.empty());
}

}  // namespace
}  // namespace mad
