// Credit: what a peer may leave in our memory is bounded, and comes back.
#include <gtest/gtest.h>

#include <array>

#include "madlike/message/scripted_driver.h"
#include "madlike/message/sender.h"
#include "madlike/message/side.h"

namespace mad {
namespace {

struct Pair {
  explicit Pair(const MessengerConfig& config, const LoopbackOptions& options = {})
      : network(std::make_shared<LoopbackNetwork>(options)),
        a(network, config),
        b(network, config),
        to_b(a.to(b)) {
    EXPECT_TRUE(a.messenger->touch(to_b).ok());
    settle(a, b);
  }
  std::uint64_t unexpected() const { return b.messenger->counters().unexpected_bytes; }
  std::uint64_t packets() const { return a.messenger->counters().drivers[0].packets_sent; }
  std::shared_ptr<LoopbackNetwork> network;
  Side a, b;
  Endpoint& to_b;
};

MessengerConfig with_credit(std::size_t credit) {
  MessengerConfig config;
  config.peer_credit = credit;
  return config;
}

TEST(Credit, BoundsWhatNobodyWaitsFor) {
  Pair p(with_credit(32 * 1024));
  p.b.on_arrival = [](Arrived&) {};
  for (int i = 0; i < 200; ++i) p.a.send(p.to_b, 1, pattern(3000, i), std::to_string(i));
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 200u);  // headers are not held back
  EXPECT_EQ(p.unexpected(), 32u * 1024);
  for (Arrived& arrived : p.b.arrived) p.b.accept(arrived);
  settle(p.a, p.b);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(p.b.arrived[i].done, 1);
    EXPECT_TRUE(p.b.arrived[i].sink->bytes == p.a.sent[i].bytes);
  }
  EXPECT_TRUE(p.a.all_sent());
}

TEST(Credit, ComesBackWhenMessagesAreTakenOrDropped) {
  Pair p(with_credit(32 * 1024));
  p.b.on_arrival = [](Arrived&) {};
  for (int round = 1; round <= 5; ++round) {
    for (int i = 0; i < 20; ++i) p.a.send(p.to_b, 1, pattern(3000, i));
    settle(p.a, p.b);
    EXPECT_EQ(p.unexpected(), round * 32u * 1024);
    for (Arrived& arrived : p.b.arrived) {
      if (arrived.message == nullptr) continue;
      if (round % 2 == 0) {
        p.b.accept(arrived);
      } else {
        p.b.discard(arrived);
      }
    }
    settle(p.a, p.b);
  }
  EXPECT_TRUE(p.a.all_sent());
  EXPECT_TRUE(p.a.messenger->idle() && p.b.messenger->idle());
}

TEST(Credit, AOneWayStreamOfSmallMessagesIsOnePacketEach) {
  Pair p(with_credit(32 * 1024));
  const std::uint64_t before = p.packets();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(p.a.send(p.to_b, 1, pattern(1000, i)).status.error());
    (void)p.b.messenger->progress();
    (void)p.a.messenger->progress();
  }
  EXPECT_EQ(p.packets() - before, 1000u);
  EXPECT_LE(p.b.messenger->counters().drivers[0].packets_sent, 1000u / 8 + 2);
  EXPECT_EQ(p.unexpected(), 0u);
}

// Each message is worth a CREDIT frame, and each answer takes it along.
TEST(Credit, WhoAnswersNeedsNoFrameForIt) {
  Pair p(with_credit(32 * 1024));
  Endpoint& to_a = p.b.to(p.a);
  const std::uint64_t before = p.packets() + p.b.messenger->counters().drivers[0].packets_sent;
  for (int i = 0; i < 20; ++i) {
    p.a.send(p.to_b, 1, pattern(20000, i));
    ASSERT_TRUE(settle(p.a, p.b, [&] { return p.b.arrived.size() == i + 1u; }));
    p.b.send(to_a, 1, pattern(20000, i));
    ASSERT_TRUE(settle(p.a, p.b, [&] { return p.a.arrived.size() == i + 1u; }));
  }
  EXPECT_EQ(p.packets() + p.b.messenger->counters().drivers[0].packets_sent - before, 40u);
}

// The answer may never come: the credit does.
TEST(Credit, IsNotHeldForLongByWhoStopsAnswering) {
  Pair p(with_credit(32 * 1024));
  p.a.send(p.to_b, 1, pattern(20000));
  ASSERT_TRUE(settle(p.a, p.b, [&] { return p.b.arrived.size() == 1u; }));
  const std::uint64_t answers = p.b.messenger->counters().drivers[0].packets_sent;
  settle(p.a, p.b);
  EXPECT_EQ(p.b.messenger->counters().drivers[0].packets_sent - answers, 1u);
  const std::uint64_t before = p.packets();
  p.a.send(p.to_b, 1, pattern(20000, 1));
  settle(p.a, p.b);
  EXPECT_EQ(p.packets() - before, 1u);  // two, with the 12,000 bytes that were left
}

TEST(Credit, LeavesInPiecesThatAFrameCanCarry) {
  Credit credit;
  credit.charge((std::uint64_t{1} << 24) + 5);
  credit.release((std::uint64_t{1} << 24) + 5);
  EXPECT_EQ(credit.returnable(), 0xFFFFFFu);
  credit.returned(0xFFFFFFu);
  EXPECT_EQ(credit.to_return(), 6u);
  EXPECT_EQ(credit.charged(), 6u);
  EXPECT_EQ(credit.returnable(), 6u);
}

TEST(Credit, IsRegainedUpToWhatWasSpent) {
  Credit credit;
  EXPECT_FALSE(credit.may_regain(1));
  credit.grant(100);
  credit.spend(30);
  EXPECT_EQ(credit.available(), 70u);
  EXPECT_TRUE(credit.may_regain(30));
  EXPECT_FALSE(credit.may_regain(31));
  credit.regain(30);
  EXPECT_EQ(credit.available(), 100u);
  EXPECT_TRUE(credit.may_regain(0));
}

TEST(Credit, TurnsAreTakenWhereThePeerAnswers) {
  Credit credit;
  credit.peer_spoke();
  EXPECT_TRUE(credit.takes_turns());
  credit.peer_spoke();
  EXPECT_FALSE(credit.takes_turns()) << "twice in a row";
  credit.we_spoke();
  credit.peer_spoke();
  EXPECT_TRUE(credit.takes_turns());
}

struct NoEvents final : MessageEvents {
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}
};

// A sender that has more to do soon keeps its process from sleeping, which may be what the peer
// waits for.
TEST(Credit, NobodyIsKeptAwakeWhileTheMessageComes) {
  NoEvents events;
  Core core(with_credit(32 * 1024), events);
  Sender sender(core);
  const auto network = std::make_shared<LoopbackNetwork>();
  LoopbackDriver driver(network), theirs(network);
  Endpoint to({{0, theirs.address()}}, &driver);
  const auto connection = driver.connect(theirs.address().data(), theirs.address().size());
  to.state = greeted(*connection);
  std::array<Completion, 4> news;
  (void)theirs.poll(news.data(), news.size());  // takes the connection
  to.credit.charge(20000);
  to.credit.release(20000);
  to.credit.peer_spoke();
  to.begun.left = 5;
  for (int turn = 0; turn < 100; ++turn) {
    EXPECT_FALSE(sender.pump(to));
    EXPECT_TRUE(sender.has_work(to));
  }
  EXPECT_EQ(to.credit.to_return(), 20000u);
  to.begun.left = 0;
  int turns = 0;
  while (sender.pump(to)) {
    ASSERT_LT(++turns, 100);
    EXPECT_EQ(to.credit.to_return(), 20000u);
  }
  EXPECT_GT(turns, 0);
  EXPECT_EQ(to.credit.to_return(), 0u);
  EXPECT_EQ(core.counters.drivers[0].packets_sent, 1u);
}

TEST(Credit, WithoutCreditOnlyHeadersTravel) {
  Pair p(with_credit(0));
  p.b.on_arrival = [](Arrived&) {};
  for (std::size_t size : {1u, 1000u, 100000u}) p.a.send(p.to_b, 1, pattern(size, size), "h");
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 3u);
  EXPECT_EQ(p.unexpected(), 0u);
  EXPECT_EQ(p.a.messenger->counters().staged_bytes, 0u);
  for (Arrived& arrived : p.b.arrived) p.b.accept(arrived);
  settle(p.a, p.b);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(p.b.arrived[i].sink->bytes == p.a.sent[i].bytes);
  EXPECT_TRUE(p.a.all_sent());
}

TEST(Credit, IsEachReceiversOwn) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network, with_credit(1 << 20)), b(network, with_credit(2000)),
      c(network, with_credit(7000));
  for (Side* side : {&b, &c}) {
    side->on_arrival = [](Arrived&) {};
    ASSERT_TRUE(a.messenger->touch(a.to(*side)).ok());
    settle(a, *side);
    for (int i = 0; i < 20; ++i) a.send(a.to(*side), 1, pattern(1000));
    settle(a, *side);
  }
  EXPECT_EQ(b.messenger->counters().unexpected_bytes, 2000u);
  EXPECT_EQ(c.messenger->counters().unexpected_bytes, 7000u);
}

// Two sides that know nothing of each other, both sending before either receives.
TEST(Credit, FirstMessagesLeaveBeforeAnybodyTakesThem) {
  const auto network = std::make_shared<LoopbackNetwork>(LoopbackOptions{});
  Side a(network), b(network);
  a.on_arrival = b.on_arrival = [](Arrived&) {};
  for (int i = 0; i < 3; ++i) {
    a.send(a.to(b), 1, pattern(50, i));
    b.send(b.to(a), 1, pattern(50, i));
  }
  settle(a, b);
  EXPECT_TRUE(a.all_sent());
  EXPECT_TRUE(b.all_sent());
  for (Side* side : {&a, &b}) {
    ASSERT_EQ(side->arrived.size(), 3u);
    for (Arrived& arrived : side->arrived) side->accept(arrived);
  }
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(a.arrived[i].sink->bytes == pattern(50, i));
}

TEST(Credit, AnEagerLimitOfZeroKeepsHeadsAtHome) {
  MessengerConfig config;
  config.eager_limit = 0;
  Pair p(config);
  p.a.send(p.to_b, 1, pattern(10));
  settle(p.a, p.b);
  EXPECT_TRUE(p.b.arrived[0].sink->bytes == pattern(10));
  EXPECT_EQ(p.b.arrived[0].sink->places, 1);
  EXPECT_GE(p.b.messenger->counters().drivers[0].packets_sent, 2u);  // HELLO and CLEAR
}

// One packet, however the payload gets into it: a few bytes left over would cost a round trip.
TEST(Credit, AMessageOfTheEagerLimitIsOnePacket) {
  LoopbackOptions options;
  options.max_packet_bytes = 65 * 1024;
  for (const std::size_t reference_from : {std::size_t{1}, ~std::size_t{0}}) {
    Pair p(MessengerConfig{}, options);
    p.a.reference_from = reference_from;
    const std::uint64_t before = p.packets();
    const std::uint64_t answers = p.b.messenger->counters().drivers[0].packets_sent;
    p.a.send(p.to_b, 1, pattern(64 * 1024), std::string(48, 'h'));
    ASSERT_TRUE(settle(p.a, p.b, [&] { return p.b.arrived.size() == 1; }));
    ASSERT_EQ(p.b.arrived[0].done, 1);
    EXPECT_TRUE(p.b.arrived[0].sink->bytes == p.a.sent[0].bytes);
    EXPECT_EQ(p.packets() - before, 1u);
    // Nothing but, at most, the credit that came back.
    EXPECT_LE(p.b.messenger->counters().drivers[0].packets_sent - answers, 1u);
  }
}

}  // namespace
}  // namespace mad
