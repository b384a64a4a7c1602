// Messages whose packets arrive in pieces: whoever waits gets the rest in place, whoever comes
// later finds all of it, and nothing is lost when somebody wants less.
#include <gtest/gtest.h>

#include "madlike/message/pair.h"
#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

constexpr std::size_t kPiece = 1000;
constexpr std::size_t kHead = 10000;

LoopbackOptions in_pieces() {
  LoopbackOptions options;
  options.piece_bytes = kPiece;
  return options;
}

MessengerConfig short_heads() {
  MessengerConfig config;
  config.eager_limit = config.peer_credit = kHead;
  return config;
}

class Pieces : public ::testing::Test {
 protected:
  Pieces() : p_(in_pieces(), short_heads()) {}

  // The receiver takes one piece at a time.
  void begin(std::size_t bytes) {
    p_.a.send(p_.to_b, 1, pattern(bytes), "header");
    for (int i = 0; i < 10 && p_.b.arrived.empty(); ++i) (void)p_.b.messenger->progress();
    ASSERT_EQ(p_.b.arrived.size(), 1u);
    EXPECT_EQ(arrived().header, "header");
  }
  Arrived& arrived() { return p_.b.arrived[0]; }
  void keep_arrivals() {
    p_.b.on_arrival = [](Arrived&) {};
  }
  // Everything is as before: also the credit.
  void expect_served() {
    settle(p_.a, p_.b);
    p_.b.on_arrival = nullptr;
    p_.b.arrived.clear();
    p_.a.sent.clear();
    const std::uint64_t before = p_.a.messenger->counters().drivers[0].packets_sent;
    p_.a.send(p_.to_b, 1, pattern(kHead));
    settle(p_.a, p_.b);
    p_.expect_all_whole();
    // All of it in its head; at most the credit goes back to b.
    EXPECT_LE(p_.a.messenger->counters().drivers[0].packets_sent - before, 2u);
    EXPECT_EQ(p_.b.arrived[0].sink->places == 1, p_.b.one_run);
  }

  Pair p_;
};

TEST_F(Pieces, WhoWaitsGetsTheRestInPlace) {
  p_.a.send(p_.to_b, 1, pattern(kHead));
  settle(p_.a, p_.b);
  p_.expect_all_whole();
  EXPECT_EQ(arrived().sink->places, 1);
  EXPECT_EQ(p_.b.messenger->counters().drivers[0].packets_received, 2u);  // HELLO and this one
  EXPECT_EQ(p_.b.messenger->counters().unexpected_bytes, 0u);
  expect_served();
}

TEST_F(Pieces, MemoryOfManyRunsGetsPieceByPiece) {
  p_.b.one_run = false;
  p_.a.send(p_.to_b, 1, pattern(3 * kHead));
  settle(p_.a, p_.b);
  p_.expect_all_whole();
  EXPECT_GT(arrived().sink->places, 9);
  expect_served();
}

TEST_F(Pieces, MoreOfThePayloadIsHereWithEach) {
  p_.b.on_arrival = [](Arrived& a) { EXPECT_LT(payload_here(*a.message).size, kPiece); };
  begin(kHead);
  std::size_t last = 0;
  for (int i = 0; i < 100 && last < kHead; ++i) {
    const Segment here = payload_here(*arrived().message);
    EXPECT_GE(here.size, last);
    const Bytes expected = pattern(kHead);
    EXPECT_TRUE(std::equal(here.begin(), here.end(), expected.begin()));
    last = here.size;
    (void)p_.b.messenger->progress();
  }
  EXPECT_EQ(last, kHead);
  p_.b.discard(arrived());
  expect_served();
}

TEST_F(Pieces, TheAnswerLeavesBeforeTheHeadIsHere) {
  begin(3 * kHead);
  EXPECT_EQ(arrived().done, 0);
  const std::uint64_t sent = p_.b.messenger->counters().drivers[0].packets_sent;
  EXPECT_EQ(sent, 2u);  // HELLO and CLEAR
  settle(p_.a, p_.b);
  p_.expect_all_whole();
  EXPECT_EQ(arrived().sink->places, 1);  // the rest of the head in place, what follows written
  expect_served();
}

TEST_F(Pieces, NobodyWaits) {
  keep_arrivals();
  p_.a.send(p_.to_b, 1, pattern(kHead));
  settle(p_.a, p_.b);
  EXPECT_EQ(p_.b.messenger->counters().unexpected_bytes, kHead);
  p_.b.accept(arrived());
  EXPECT_EQ(arrived().done, 1);
  p_.expect_all_whole();
  expect_served();
}

TEST_F(Pieces, AcceptedInTheMiddle) {
  for (const std::size_t bytes : {kHead, 3 * kHead}) {
    for (const bool one_run : {true, false}) {
      Pair p(in_pieces(), short_heads());
      p.b.one_run = one_run;
      p.b.on_arrival = [](Arrived&) {};
      p.a.send(p.to_b, 1, pattern(bytes));
      for (int i = 0; i < 5; ++i) (void)p.b.messenger->progress();
      ASSERT_EQ(p.b.arrived.size(), 1u);
      p.b.accept(p.b.arrived[0]);
      EXPECT_EQ(p.b.arrived[0].done, 0);
      settle(p.a, p.b);
      p.expect_all_whole();
    }
  }
}

TEST_F(Pieces, LessIsWantedThanTheHead) {
  for (const std::size_t bytes : {kHead, 3 * kHead}) {
    for (const std::size_t wanted : {kPiece / 2, 3 * kPiece + 7, kHead - 1, kHead}) {
      for (const int late : {0, 3}) {
        SCOPED_TRACE(testing::Message() << wanted << " of " << bytes << ", late " << late);
        Pair p(in_pieces(), short_heads());
        p.b.on_arrival = [&](Arrived& a) {
          if (late == 0) p.b.accept(a, wanted);
        };
        p.a.send(p.to_b, 1, pattern(bytes));
        for (int i = 0; i < late; ++i) (void)p.b.messenger->progress();
        if (late > 0) p.b.accept(p.b.arrived[0], wanted);
        settle(p.a, p.b);
        const Arrived& arrived = p.b.arrived[0];
        EXPECT_EQ(arrived.done, 1);
        EXPECT_EQ(arrived.received, wanted);
        EXPECT_FALSE(arrived.sink->overrun);
        Bytes expected = pattern(bytes);
        expected.resize(wanted);
        EXPECT_TRUE(arrived.sink->bytes == expected);
        EXPECT_TRUE(p.a.all_sent());
        EXPECT_TRUE(p.a.messenger->idle());
        EXPECT_TRUE(p.b.messenger->idle());
        p.b.on_arrival = nullptr;
        const std::uint64_t before = p.a.messenger->counters().drivers[0].packets_sent;
        p.a.send(p.to_b, 1, pattern(kHead));
        settle(p.a, p.b);
        EXPECT_TRUE(p.a.all_sent());
        EXPECT_LE(p.a.messenger->counters().drivers[0].packets_sent - before, 2u)
            << "its credit came back";
      }
    }
  }
}

TEST_F(Pieces, DiscardedInTheMiddle) {
  keep_arrivals();
  begin(3 * kHead);
  p_.b.discard(arrived());
  settle(p_.a, p_.b);
  EXPECT_TRUE(p_.a.all_sent());
  expect_served();
}

TEST_F(Hostile, AHeaderLongerThanTheFirstPiece) {
  const auto network = std::make_shared<LoopbackNetwork>(in_pieces());
  Side victim(network, small_credit());
  RawPeer raw(network, victim);
  raw.hello();
  Frame frame = frame_of(FrameKind::kMessage);
  frame.header_bytes = 3 * kPiece;
  raw.post(frame, pattern(3 * kPiece));
  raw.look();
  ASSERT_EQ(victim.gone.size(), 1u);
  EXPECT_EQ(victim.gone[0].second.code(), StatusCode::kProtocol);
  EXPECT_TRUE(victim.arrived.empty());
}

}  // namespace
}  // namespace mad
