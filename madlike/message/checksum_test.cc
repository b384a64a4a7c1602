// Payloads with checksums: they arrive by every way that payload takes, either side may have them
// on, and a wrong one fails the receive that its bytes belong to and nothing else.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "madlike/checksum/crc32c.h"
#include "madlike/message/pair.h"
#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

constexpr std::size_t kPiece = 1000;
constexpr std::size_t kHead = 10000;
const std::vector<std::size_t> kSizes = {1, 100, kHead, kHead + 1, 3 * kHead, 200000};

LoopbackOptions pieces_of(std::size_t bytes) {
  LoopbackOptions options;
  options.piece_bytes = bytes;
  return options;
}

MessengerConfig short_heads(bool checksum) {
  MessengerConfig config;
  config.eager_limit = kHead;
  config.checksum = checksum;
  return config;
}

// Two engines with settings of their own; `expect` is what b finds checked of what a sent.
void exchange(bool a_on, bool b_on, std::size_t piece_bytes, bool one_run, bool later) {
  SCOPED_TRACE(testing::Message() << a_on << b_on << " pieces " << piece_bytes << " one run "
                                  << one_run << " later " << later);
  const auto network = std::make_shared<LoopbackNetwork>(pieces_of(piece_bytes));
  Side a(network, short_heads(a_on)), b(network, short_heads(b_on));
  Endpoint& to_b = a.to(b);
  ASSERT_TRUE(a.messenger->touch(to_b).ok());
  settle(a, b);
  b.one_run = one_run;
  if (later) b.on_arrival = [](Arrived&) {};
  std::uint64_t bytes = 0;
  for (const std::size_t size : kSizes) {
    for (const std::size_t reference_from : {std::size_t{1}, std::size_t{1} << 30}) {
      a.reference_from = reference_from;
      a.send(to_b, 1, pattern(size, 3), "header");
      bytes += size;
    }
  }
  settle(a, b);
  for (Arrived& arrived : b.arrived) {
    if (later) b.accept(arrived);
  }
  settle(a, b);
  ASSERT_EQ(b.arrived.size(), a.sent.size());
  for (std::size_t i = 0; i < a.sent.size(); ++i) {
    EXPECT_EQ(b.arrived[i].done, 1);
    EXPECT_TRUE(b.arrived[i].status.ok() || b.arrived[i].status.in_progress())
        << b.arrived[i].status.message();
    EXPECT_EQ(b.arrived[i].received, a.sent[i].bytes.size());
    EXPECT_TRUE(b.arrived[i].sink->bytes == a.sent[i].bytes);
  }
  EXPECT_TRUE(a.all_sent());
  EXPECT_EQ(b.messenger->counters().checked_bytes, a_on ? bytes : 0);
  const bool writes = !a_on && !b_on && one_run;
  EXPECT_EQ(a.messenger->counters().written_bytes > 0, writes);
}

TEST(Checksum, ByEveryWayAndEitherSidesChoice) {
  for (const bool a_on : {false, true}) {
    for (const bool b_on : {false, true}) {
      for (const std::size_t piece_bytes : {std::size_t{0}, kPiece}) {
        for (const bool one_run : {false, true}) {
          exchange(a_on, b_on, piece_bytes, one_run, false);
          exchange(a_on, b_on, piece_bytes, one_run, true);
        }
      }
    }
  }
}

// What a peer sends whose bytes change on their way; whole packets, and packets in pieces.
class WrongSums : public ::testing::TestWithParam<std::size_t> {
 protected:
  WrongSums()
      : network_(std::make_shared<LoopbackNetwork>(pieces_of(GetParam()))),
        victim_(network_, config()),
        raw_(network_, victim_) {
    raw_.hello();
  }
  void TearDown() override {
    // The connection is as good as before, and so is the credit for heads.
    victim_.on_arrival = nullptr;
    const std::size_t before = victim_.arrived.size();
    post_message(0, pattern(kHead), kHead);
    wait();
    EXPECT_TRUE(victim_.gone.empty()) << victim_.gone[0].second.message();
    ASSERT_EQ(victim_.arrived.size(), before + 1);
    EXPECT_EQ(victim_.arrived.back().done, 1);
    EXPECT_TRUE(victim_.arrived.back().sink->bytes == pattern(kHead));
    EXPECT_TRUE(victim_.messenger->idle());
  }

  static MessengerConfig config() {
    MessengerConfig config;
    config.peer_credit = kHead + 1000;  // little of it is not worth a frame of its own
    return config;
  }
  void wait() {
    for (int i = 0; i < 40; ++i) raw_.look();
  }
  // With the sum of `body` less `flipped` bits at its end.
  void post(Frame frame, Bytes body, bool flipped) {
    frame.checked = true;
    frame.sum = crc32c(0, body.data(), body.size());
    if (flipped) body.back() ^= std::byte{0x10};
    raw_.post(frame, body);
  }
  void post_message(std::uint32_t id, const Bytes& head, std::size_t bytes, bool flipped = false) {
    post(frame_of(FrameKind::kMessage, id, bytes), head, flipped);
  }
  void post_data(std::uint64_t offset, const Bytes& bytes, bool flipped = false) {
    Frame frame =
        frame_of(FrameKind::kData, raw_.heard_last(FrameKind::kClear).reply_id, bytes.size());
    frame.offset = offset;
    post(frame, bytes, flipped);
  }
  Arrived& arrived() { return victim_.arrived[0]; }
  void keep_arrivals() {
    victim_.on_arrival = [](Arrived&) {};
  }
  void expect_corrupt(const std::string& bytes) {
    wait();
    ASSERT_EQ(victim_.arrived.size(), 1u);
    EXPECT_EQ(arrived().status.code(), StatusCode::kCorrupt) << arrived().status.message();
    EXPECT_NE(arrived().status.message().find("bytes " + bytes), std::string::npos)
        << arrived().status.message();
    EXPECT_EQ(arrived().received, 0u);
  }
  int refusals() const {
    return static_cast<int>(std::count_if(raw_.heard.begin(), raw_.heard.end(), [](const Frame& f) {
      return f.kind == FrameKind::kRefuse;
    }));
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side victim_;
  RawPeer raw_;
};

TEST_P(WrongSums, OfAMessageThatIsAllHead) {
  post_message(0, pattern(kHead), kHead, true);
  expect_corrupt("0 to 9999 of a payload of 10000");
}

TEST_P(WrongSums, OfAShortMessage) {
  post_message(0, pattern(100), 100, true);
  expect_corrupt("0 to 99 of a payload of 100");
  EXPECT_EQ(arrived().done, 0) << "accept() says it";
}

TEST_P(WrongSums, OfAHeadWhoseRestIsNotWantedThen) {
  post_message(7, pattern(300), 500, true);
  expect_corrupt("0 to 299 of a payload of 500");
  EXPECT_EQ(refusals(), 1);
}

TEST_P(WrongSums, OfALongHeadWhoseRestIsRight) {
  post_message(7, pattern(kHead), kHead + 400, true);
  wait();
  if (refusals() == 0) post_data(kHead, pattern(400));  // it is on its way already
  expect_corrupt("0 to 9999 of a payload of 10400");
}

TEST_P(WrongSums, OfWhatNobodyWaitedFor) {
  keep_arrivals();
  post_message(0, pattern(kHead), kHead, true);
  wait();
  EXPECT_EQ(arrived().done, 0);
  victim_.accept(arrived());
  expect_corrupt("0 to 9999");
}

TEST_P(WrongSums, OfWhatIsAcceptedWhileItArrives) {
  keep_arrivals();
  post_message(0, pattern(kHead), kHead, true);
  ASSERT_EQ(victim_.arrived.size(), 1u);
  victim_.accept(arrived());
  expect_corrupt("0 to 9999");
}

// The bytes wanted may be right; nobody can tell.
TEST_P(WrongSums, OfAMessageThatIsCut) {
  victim_.on_arrival = [&](Arrived& a) { victim_.accept(a, 10); };
  post_message(0, pattern(kHead), kHead, true);
  expect_corrupt("0 to 9999");
}

TEST_P(WrongSums, OfAMessageThatIsCutAndRight) {
  for (const bool later : {false, true}) {
    victim_.on_arrival = [&](Arrived& a) {
      if (!later) victim_.accept(a, 10);
    };
    post_message(9, pattern(kHead), 2 * kHead);
    if (later) victim_.accept(victim_.arrived.back(), 10);
    wait();
    EXPECT_EQ(victim_.arrived.back().done, 1);
    EXPECT_EQ(victim_.arrived.back().received, 10u);
    Bytes expected = pattern(kHead);
    expected.resize(10);
    EXPECT_TRUE(victim_.arrived.back().sink->bytes == expected);
    EXPECT_FALSE(victim_.arrived.back().sink->overrun);
    EXPECT_EQ(refusals(), later ? 2 : 1);
  }
}

TEST_P(WrongSums, OfWhatIsDiscarded) {
  for (const bool later : {false, true}) {
    victim_.on_arrival = [&](Arrived& a) {
      if (!later) victim_.discard(a);
    };
    post_message(9, pattern(kHead), 2 * kHead, true);
    if (later) victim_.discard(victim_.arrived.back());
    wait();
    EXPECT_EQ(victim_.arrived.back().done, 0);
    EXPECT_EQ(refusals(), later ? 2 : 1);
  }
}

TEST_P(WrongSums, AreNoPayloadThatIsHere) {
  for (const bool wrong : {false, true}) {
    std::size_t here = 0;
    victim_.on_arrival = [&](Arrived& a) { here = payload_here(*a.message).size; };
    post_message(0, pattern(kHead), kHead, wrong);
    const bool whole = GetParam() == 0;
    EXPECT_EQ(here, whole && !wrong ? kHead : 0) << "of pieces nobody can tell yet";
    wait();
    EXPECT_EQ(payload_here(*victim_.arrived.back().message).size, wrong ? 0 : kHead);
    victim_.discard(victim_.arrived.back());
    wait();
  }
}

TEST_P(WrongSums, OfStreamedBytes) {
  for (int wrong = 0; wrong < 4; ++wrong) {  // which frames are
    SCOPED_TRACE(wrong);
    victim_.arrived.clear();
    raw_.post(frame_of(FrameKind::kMessage, 7, 2 * kHead));
    post_data(0, pattern(kHead), (wrong & 1) != 0);
    wait();
    EXPECT_EQ(arrived().done, 0) << "its memory is in use until the rest is here";
    post_data(kHead, pattern(kHead), (wrong & 2) != 0);
    wait();
    EXPECT_EQ(arrived().done, 1);
    if (wrong == 0) {
      EXPECT_TRUE(arrived().status.ok());
    } else {
      expect_corrupt((wrong & 1) != 0 ? "0 to 9999 of a payload of 20000" : "10000 to 19999");
    }
  }
}

// The peer ends before the sum is known: then that is what happened.
TEST_P(WrongSums, OfAPeerThatWent) {
  Side other(network_, config());
  {
    RawPeer mortal(network_, other);
    mortal.hello();
    Frame frame = frame_of(FrameKind::kMessage, 3, 2 * kHead);
    frame.checked = true;
    mortal.post(frame, pattern(kHead));
    for (int i = 0; i < 40; ++i) mortal.look();
  }
  for (int i = 0; i < 40; ++i) (void)other.messenger->progress();
  ASSERT_EQ(other.arrived.size(), 1u);
  const bool whole = GetParam() == 0;  // then it was known when it came
  EXPECT_EQ(other.arrived[0].status.code(), whole ? StatusCode::kCorrupt : StatusCode::kPeerFailed);
  EXPECT_EQ(other.gone.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Packets, WrongSums, ::testing::Values(std::size_t{0}, kPiece),
                         [](const auto& info) { return info.param == 0 ? "Whole" : "InPieces"; });

TEST(Checksum, AHeadOfNothingHasNone) {
  MessengerConfig config = short_heads(true);
  config.eager_limit = 0;
  Pair p({}, config);
  for (const std::size_t size : kSizes) p.a.send(p.to_b, 1, pattern(size));
  settle(p.a, p.b);
  p.expect_all_whole();
}

// One engine's messages to itself.
TEST(Checksum, ToOneself) {
  const auto network = std::make_shared<LoopbackNetwork>();
  Side self(network, short_heads(true));
  Endpoint& to_self = self.to(self);
  ASSERT_TRUE(self.messenger->touch(to_self).ok());
  for (int i = 0; i < 10; ++i) (void)self.messenger->progress();
  self.send(to_self, 1, pattern(3 * kHead));
  for (int i = 0; i < 100; ++i) (void)self.messenger->progress();
  ASSERT_EQ(self.arrived.size(), 1u);
  EXPECT_EQ(self.arrived[0].done, 1);
  EXPECT_TRUE(self.arrived[0].sink->bytes == self.sent[0].bytes);
  EXPECT_EQ(self.messenger->counters().checked_bytes, 3 * kHead);
}

}  // namespace
}  // namespace mad
