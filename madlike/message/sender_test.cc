// What leaves at once, what waits its turn, and when memory is the caller's again.
#include <gtest/gtest.h>

#include "madlike/message/pair.h"

namespace mad {
namespace {

TEST(Sender, HeadsAreLongerWhereTheyAreReceivedInPlace) {
  LinkCaps link;
  EXPECT_EQ(default_eager_limit(link), 64u * 1024);
  link.piece_bytes = 16 * 1024;
  EXPECT_EQ(default_eager_limit(link), 256u * 1024);
}

TEST(Sender, ASmallMessageIsOnePacketAndDoneAtOnce) {
  Pair p;
  const std::uint64_t before = p.a.messenger->counters().drivers[0].packets_sent;
  Sent& sent = p.a.send(p.to_b, 1, pattern(8), "header");
  EXPECT_TRUE(sent.status.ok());
  EXPECT_EQ(p.a.messenger->counters().drivers[0].packets_sent, before + 1);
  EXPECT_TRUE(p.a.messenger->idle());
  EXPECT_EQ(p.a.messenger->counters().staged_bytes, 8u);
  settle(p.a, p.b);
  EXPECT_EQ(p.b.messenger->counters().unexpected_bytes, 0u);
  p.expect_all_whole();
}

TEST(Sender, ACopiedMessageThatTheDriverPushesBackIsDoneOnceItLeaves) {
  LoopbackOptions options;
  options.queue_depth = 1;
  Pair p(options);
  ASSERT_TRUE(p.a.send_header(p.to_b, 1, "fills the queue").ok());
  Sent& sent = p.a.send(p.to_b, 1, pattern(8));
  EXPECT_TRUE(sent.status.in_progress());
  EXPECT_FALSE(p.a.messenger->idle());
  (void)p.a.messenger->progress();
  EXPECT_EQ(sent.done, 0) << "who is told so may not come back for long";
  settle(p.a, p.b);
  EXPECT_EQ(sent.done, 1);
  ASSERT_EQ(p.b.arrived.size(), 2u);
  EXPECT_TRUE(p.b.arrived[1].sink->bytes == pattern(8));
}

TEST(Sender, AnEmptyMessageIsPushedBackLikeAnyOther) {
  LoopbackOptions options;
  options.queue_depth = 1;
  Pair p(options);
  ASSERT_TRUE(p.a.send_header(p.to_b, 1, "fills the queue").ok());
  Sent& sent = p.a.send(p.to_b, 1, {});
  EXPECT_TRUE(sent.status.in_progress()) << "or its sender could start any number of them";
  (void)p.a.messenger->progress();
  EXPECT_EQ(sent.done, 0);
  settle(p.a, p.b);
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(p.b.arrived.size(), 2u);
}

TEST(Sender, AnEmptyMessageOfAFirstContactIsDoneOnceItLeaves) {
  const auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Sent& sent = a.send(a.to(b), 1, {});
  (void)a.messenger->progress();
  EXPECT_TRUE(sent.status.in_progress());
  EXPECT_EQ(sent.done, 0) << "b has not looked";
  settle(a, b);
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(b.arrived.size(), 1u);
}

TEST(Sender, MemoryInTheDriversHandsIsNotReturned) {
  Pair p;
  p.a.reference_from = 1;
  Sent& sent = p.a.send(p.to_b, 1, pattern(5000));
  EXPECT_TRUE(sent.status.in_progress());
  EXPECT_EQ(sent.done, 0);
  (void)p.a.messenger->progress();
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(p.a.messenger->counters().referenced_bytes, 5000u);
  EXPECT_EQ(p.a.messenger->counters().staged_bytes, 0u);
}

TEST(Sender, ALaterMessageDoesNotWaitForALongOne) {
  LoopbackOptions options;
  options.remote_write = false;
  Pair p(options);
  Sent& longer = p.a.send(p.to_b, 1, pattern(30000000));
  Sent& shorter = p.a.send(p.to_b, 1, pattern(300000));
  ASSERT_TRUE(settle(p.a, p.b, [&] { return shorter.done == 1; }));
  EXPECT_EQ(longer.done, 0);
  settle(p.a, p.b);
  p.expect_all_whole();
}

// Each of the nine has accepted a long message and looks no more; there are four packets.
TEST(Sender, PeersThatTakeNothingStopNobodyElse) {
  LoopbackOptions options;
  options.queue_depth = 3;
  MessengerConfig config;
  config.staging_bytes = 4 * config.packet_bytes;
  const auto network = std::make_shared<LoopbackNetwork>(options);
  Side a(network, config), healthy(network);
  std::deque<Side> slow;
  for (int i = 0; i < 9; ++i) {
    Side& peer = slow.emplace_back(network);
    peer.one_run = false;
    a.send(a.to(peer), 1, pattern(3000000, i));
    ASSERT_TRUE(settle(a, peer, [&] { return !peer.arrived.empty(); }));
  }
  for (int i = 0; i < 100; ++i) (void)a.messenger->progress();
  a.send(a.to(healthy), 1, pattern(8));
  a.send(a.to(healthy), 1, pattern(3000000));
  EXPECT_TRUE(settle(a, healthy,
                     [&] { return healthy.arrived.size() == 2 && healthy.arrived[1].done == 1; }));
  for (Side& peer : slow) {
    EXPECT_TRUE(settle(a, peer, [&] { return peer.arrived[0].done == 1; }));
  }
}

TEST(Sender, NothingIsLostWhileThePeerDoesNotLook) {
  LoopbackOptions options;
  options.queue_depth = 3;
  MessengerConfig config;
  config.staging_bytes = 4 * config.packet_bytes;
  Pair p(options, config);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_TRUE(p.a.send_header(p.to_b, 1, std::to_string(i)).ok());
    if (i % 100 == 0) p.a.send(p.to_b, 2, pattern(50000, i), std::to_string(i));
    (void)p.a.messenger->progress();
  }
  EXPECT_LE(p.b.driver->buffers(), 4u);
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 2020u);
  int next = 0, payloads = 0;
  for (const Arrived& arrived : p.b.arrived) {
    if (arrived.handler == 1) {
      EXPECT_EQ(arrived.header, std::to_string(next++));
    } else {
      EXPECT_EQ(arrived.header, std::to_string(next - 1));
      EXPECT_TRUE(arrived.sink->bytes == p.a.sent[payloads++].bytes);
    }
  }
  EXPECT_EQ(payloads, 20);
  EXPECT_TRUE(p.a.all_sent());
}

// A fabric that lets small packets leave together.
LoopbackOptions corking() {
  LoopbackOptions options;
  options.cork_bytes = 4096;
  return options;
}

std::uint64_t packets(const Side& side) {
  return side.messenger->counters().drivers[0].packets_sent;
}

TEST(Sender, CollectsSmallMessagesBehindTheFirstEight) {
  Pair p(corking());
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(p.a.send(p.to_b, 1, pattern(100, i)).status.ok());
  for (unsigned i = 8; i < 13; ++i) {
    EXPECT_TRUE(p.a.send(p.to_b, 1, pattern(100, i)).status.in_progress());
  }
  EXPECT_EQ(packets(p.a), before + 8);
  (void)p.a.messenger->progress();
  EXPECT_EQ(packets(p.a), before + 13);
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, CollectsThoseThatMayWaitBehindTheFirst) {
  Pair p(corking());
  p.a.may_wait = true;
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(p.a.send(p.to_b, 1, pattern(100, i)).status.ok(), i == 0) << i;
  }
  EXPECT_EQ(packets(p.a), before + 1);
  (void)p.a.messenger->progress();
  EXPECT_EQ(packets(p.a), before + 5);
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, CollectsEmptyMessagesToo) {
  Pair p(corking());
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 13; ++i) {
    EXPECT_EQ(p.a.send(p.to_b, 1, {}).status.ok(), i < 8) << i;
  }
  EXPECT_EQ(packets(p.a), before + 8);
  settle(p.a, p.b);
  EXPECT_EQ(p.b.arrived.size(), 13u);
}

TEST(Sender, DoesNotCollectAcrossTurns) {
  Pair p(corking());
  for (unsigned i = 0; i < 40; ++i) {
    EXPECT_TRUE(p.a.send(p.to_b, 1, pattern(100, i)).status.ok());
    if (i % 8 == 7) (void)p.a.messenger->progress();
  }
}

TEST(Sender, SixteenCollectedMessagesLeaveWithoutATurn) {
  Pair p(corking());
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 23; ++i) (void)p.a.send(p.to_b, 1, pattern(100, i));
  EXPECT_EQ(packets(p.a), before + 8);
  (void)p.a.send(p.to_b, 1, pattern(100, 23));
  EXPECT_EQ(packets(p.a), before + 24);
  EXPECT_FALSE(p.a.all_sent()) << "on_sent() is called in progress() only";
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, WhatIsNotCollectedTakesTheCollectedAlong) {
  Pair p(corking());
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 10; ++i) (void)p.a.send(p.to_b, 1, pattern(100, i));
  EXPECT_EQ(packets(p.a), before + 8);
  (void)p.a.send(p.to_b, 1, pattern(20000));
  EXPECT_EQ(packets(p.a), before + 11);
  (void)p.a.send(p.to_b, 1, pattern(100, 12));
  EXPECT_EQ(packets(p.a), before + 11);
  ASSERT_TRUE(p.a.send_header(p.to_b, 2, "complete at once").ok());
  EXPECT_EQ(packets(p.a), before + 13);
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 13u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_TRUE(p.b.arrived[i].sink->bytes == p.a.sent[i].bytes) << i;
  }
  EXPECT_EQ(p.b.arrived[12].header, "complete at once");
}

TEST(Sender, CollectsWhatTheFabricLetsLeaveTogether) {
  for (const std::size_t more : {0, 1}) {
    Pair p(corking());
    const std::uint64_t before = packets(p.a);
    for (unsigned i = 0; i < 12; ++i) (void)p.a.send(p.to_b, 1, pattern(4096 - 40 + more, i));
    EXPECT_EQ(packets(p.a), before + (more == 0 ? 8 : 12));
    settle(p.a, p.b);
    p.expect_all_whole();
  }
}

// Only their headers leave before their receiver has given back what it granted.
TEST(Sender, CollectsLongMessagesForWhichThereIsNoCredit) {
  MessengerConfig config;
  config.peer_credit = 8 * 20000;
  Pair p(corking(), config);
  const std::uint64_t before = packets(p.a);
  for (unsigned i = 0; i < 20; ++i) (void)p.a.send(p.to_b, 1, pattern(20000, i));
  EXPECT_EQ(packets(p.a), before + 16) << "eight with their payload, eight without";
  (void)p.a.messenger->progress();
  EXPECT_EQ(packets(p.a), before + 20);
  settle(p.a, p.b);
  p.expect_all_whole();
}

// Answers to what arrives in one turn, but the first: they leave together at its end.
TEST(Sender, ClearancesOfOneTurnButTheFirstWaitForItsEnd) {
  MessengerConfig config;
  config.eager_limit = 0;
  Pair p({}, config);
  std::vector<std::uint64_t> sent;
  p.b.on_arrival = [&](Arrived& arrived) {
    p.b.accept(arrived);
    sent.push_back(packets(p.b));
  };
  const std::uint64_t before = packets(p.b);
  for (unsigned i = 0; i < 4; ++i) (void)p.a.send(p.to_b, 1, pattern(20000, i));
  (void)p.b.messenger->progress();
  EXPECT_EQ(sent, std::vector<std::uint64_t>(4, before + 1));
  EXPECT_EQ(packets(p.b), before + 4);
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, AnswersOfOneTurnButTheFirstWaitForItsEnd) {
  Pair p(corking());
  const std::uint64_t before = packets(p.b);
  std::vector<std::uint64_t> sent;
  p.b.on_arrival = [&](Arrived& arrived) {
    p.b.accept(arrived);
    EXPECT_TRUE(p.b.send_header(p.to_a, 2, "an answer").ok());
    sent.push_back(packets(p.b) - before);
  };
  for (unsigned i = 0; i < 5; ++i) (void)p.a.send(p.to_b, 1, pattern(100, i));
  (void)p.b.messenger->progress();
  EXPECT_EQ(sent, std::vector<std::uint64_t>(5, 1));
  EXPECT_EQ(packets(p.b), before + 5);
  ASSERT_TRUE(p.b.send_header(p.to_a, 2, "after the turn").ok());
  EXPECT_EQ(packets(p.b), before + 6);
  settle(p.a, p.b);
  EXPECT_EQ(p.a.arrived.size(), 6u);
}

// Some callbacks come after the last sending of a turn.
TEST(Sender, HeadersOfAnyCallbackHaveLeftAtTheEndOfTheTurn) {
  Pair p(corking());
  std::uint64_t before = 0;
  p.a.on_left = [&](Sent&) {
    before = packets(p.a);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(p.a.send_header(p.to_b, 2, "one more").ok());
  };
  for (unsigned i = 0; i < 9; ++i) (void)p.a.send(p.to_b, 1, pattern(100, i));
  for (int turn = 0; turn < 10 && before == 0; ++turn) (void)p.a.messenger->progress();
  ASSERT_GT(before, 0u);
  EXPECT_EQ(packets(p.a), before + 3);
  settle(p.a, p.b);
  EXPECT_EQ(p.b.arrived.size(), 12u);
}

TEST(Sender, ClearancesOfOneTurnWaitForItsEndThoughOthersLeave) {
  MessengerConfig config;
  config.eager_limit = 0;
  Pair p({}, config);
  const std::uint64_t before = packets(p.b);
  std::vector<std::uint64_t> sent;
  p.b.on_arrival = [&](Arrived& arrived) {
    p.b.accept(arrived);
    p.b.send(p.to_a, 1, pattern(8));
    sent.push_back(packets(p.b) - before);
  };
  for (unsigned i = 0; i < 4; ++i) (void)p.a.send(p.to_b, 1, pattern(20000, i));
  (void)p.b.messenger->progress();
  EXPECT_EQ(sent, (std::vector<std::uint64_t>{2, 3, 4, 5}));
  EXPECT_EQ(packets(p.b), before + 8);
  settle(p.a, p.b);
  EXPECT_TRUE(p.a.all_sent() && p.b.all_sent());
}

// Who accepts what came before may not come back for long.
TEST(Sender, ClearancesOutsideATurnLeaveAtOnce) {
  MessengerConfig config;
  config.eager_limit = 0;
  Pair p({}, config);
  p.b.on_arrival = [](Arrived&) {};
  for (unsigned i = 0; i < 4; ++i) (void)p.a.send(p.to_b, 1, pattern(20000, i));
  (void)p.b.messenger->progress();
  const std::uint64_t before = packets(p.b);
  for (Arrived& arrived : p.b.arrived) p.b.accept(arrived);
  EXPECT_EQ(packets(p.b), before + 4);
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, CollectsNothingWhereThatIsOfNoUse) {
  Pair p;
  for (unsigned i = 0; i < 40; ++i) {
    EXPECT_TRUE(p.a.send(p.to_b, 1, pattern(100, i)).status.ok());
  }
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST(Sender, AMessageCanBeUsedAgainOnceItLeft) {
  Pair p;
  p.a.on_left = [&](Sent& sent) {
    if (sent.done >= 3) return;
    sent.reader = BytesSource(sent.bytes, 1, 1 << 20);
    ASSERT_TRUE(p.a.messenger->send(p.to_b, 1, {}, sent).in_progress());
  };
  p.a.reference_from = 1;
  p.a.send(p.to_b, 1, pattern(200000));
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 3u);
  for (const Arrived& arrived : p.b.arrived) {
    EXPECT_TRUE(arrived.sink->bytes == p.a.sent[0].bytes);
  }
  EXPECT_EQ(p.a.sent[0].done, 3);
}

}  // namespace
}  // namespace mad
