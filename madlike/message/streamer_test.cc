// How the rest of a long payload travels: written in place, or in packets of a chosen size.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "madlike/message/pair.h"

namespace mad {
namespace {

TEST(Streamer, LargePayloadIsWrittenWhereMemoryIsOneRun) {
  const std::size_t size = 3000000;
  for (bool one_run : {true, false}) {
    Pair p;
    p.b.one_run = one_run;
    p.a.send(p.to_b, 1, pattern(size));
    settle(p.a, p.b);
    p.expect_all_whole();
    const MessageCounters& counters = p.a.messenger->counters();
    EXPECT_EQ(counters.written_bytes > size / 2, one_run);
    EXPECT_EQ(p.b.arrived[0].sink->places == 1, one_run);  // the head
    EXPECT_EQ(counters.referenced_bytes + counters.staged_bytes, size);
  }
}

TEST(Streamer, SmallRestsAreNotWorthAWindow) {
  MessengerConfig config;
  config.eager_limit = 1000;
  config.write_threshold = 5000;
  for (std::size_t rest : {4999u, 5000u}) {
    Pair p({}, config);
    p.a.send(p.to_b, 1, pattern(1000 + rest));
    settle(p.a, p.b);
    p.expect_all_whole();
    EXPECT_EQ(p.a.messenger->counters().written_bytes, rest == 5000 ? 5000u : 0u);
  }
}

TEST(Streamer, PacketsAreFlushedWhereTheMessageSays) {
  LoopbackOptions options;
  options.remote_write = false;
  MessengerConfig config;
  config.eager_limit = 0;
  for (std::uint64_t flush : {0u, 1000u, 10000u}) {
    Pair p(options, config);
    p.a.flush_bytes = flush;
    const std::uint64_t before = p.a.messenger->counters().drivers[0].packets_sent;
    p.a.send(p.to_b, 1, pattern(100000));
    settle(p.a, p.b);
    p.expect_all_whole();
    const std::uint64_t packets = p.a.messenger->counters().drivers[0].packets_sent - before - 1;
    EXPECT_EQ(packets, flush == 0 ? 2u : 100000 / flush);
  }
}

// One write at a time: the second message takes the packet of the first one a turn later.
TEST(Streamer, TheWordThatAllIsPlacedFollowsTheLastWriteAtOnce) {
  MessengerConfig config;
  config.eager_limit = 0;
  config.staging_bytes = config.packet_bytes;
  Pair p({}, config);
  p.a.send(p.to_b, 1, pattern(100000));
  p.a.send(p.to_b, 1, pattern(100000));
  (void)p.b.messenger->progress();
  (void)p.a.messenger->progress();
  (void)p.b.messenger->progress();
  ASSERT_EQ(p.b.arrived.size(), 2u);
  EXPECT_EQ(p.b.arrived[0].done, 1);
  EXPECT_EQ(p.b.arrived[1].done, 0);
  settle(p.a, p.b);
  p.expect_all_whole();
}

// Whatever is sent after it waits for what of it is with the fabric already.
TEST(Streamer, ALongMessageHasAFewMegabytesOnTheirWay) {
  constexpr std::uint64_t kMost = 4 << 20;
  Pair p;
  p.a.reference_from = 1;
  p.a.fill_step = 1 << 30;
  p.a.send(p.to_b, 1, pattern(40 << 20));
  std::uint64_t written = 0;
  ASSERT_TRUE(settle(p.a, p.b, [&] {
    const std::uint64_t now = p.a.messenger->counters().written_bytes;
    EXPECT_LE(now - written, kMost);
    written = now;
    return p.a.all_sent() && !p.b.arrived.empty() && p.b.arrived[0].done == 1;
  }));
  EXPECT_GT(written, std::uint64_t{39} << 20);
  EXPECT_TRUE(p.b.arrived[0].sink->bytes == p.a.sent[0].bytes);
}

/// Prefers writes of long runs.
class CopyingDriver final : public LoopbackDriver {
 public:
  CopyingDriver(std::shared_ptr<LoopbackNetwork> network, std::uint64_t least_run)
      : LoopbackDriver(std::move(network)), link_(LoopbackDriver::link(0)) {
    link_.write_runs_from = least_run;
  }
  const LinkCaps& link(ConnectionId) const override { return link_; }

 private:
  LinkCaps link_;
};

TEST(Streamer, WindowsInLentMemoryAreUsedWhereWritesArePreferred) {
  constexpr std::size_t kBytes = 100000;
  struct Case {
    std::uint64_t least_run, run_bytes;
    bool preferred;
  };
  const Case cases[] = {{0, 1, true},  // always
                        {UINT64_MAX, kBytes, false},
                        {5000, 5000, true},
                        {5000, 4999, false}};  // the receiver opened a window all the same
  for (const auto& [least_run, run_bytes, preferred] : cases) {
    LoopbackOptions options;
    options.lent_bytes = 300;
    MessengerConfig config;
    config.eager_limit = 3000;
    config.peer_credit = 12000;
    const auto network = std::make_shared<LoopbackNetwork>(options);
    const auto side = [&] {
      std::vector<std::unique_ptr<Driver>> drivers;
      drivers.push_back(std::make_unique<CopyingDriver>(network, least_run));
      return std::make_unique<Side>(std::move(drivers), config);
    };
    const auto a = side(), b = side();
    a->run_bytes = run_bytes;
    a->send(a->to(*b), 1, pattern(kBytes));
    settle(*a, *b);
    ASSERT_EQ(b->arrived.size(), 1u);
    EXPECT_TRUE(b->arrived[0].sink->bytes == a->sent[0].bytes);
    EXPECT_EQ(a->messenger->counters().written_bytes > 0, preferred) << least_run << run_bytes;
  }
}

// Its receiver would wait for ever; whatever it is told instead of payload breaks the protocol.
TEST(Streamer, ASourceThatHasTooLittleEndsItsPeer) {
  constexpr std::size_t kHead = 3000;
  MessengerConfig config;
  config.eager_limit = kHead;
  struct Case {
    bool remote_write;
    std::size_t lent_bytes, has;
  };
  const Case cases[] = {{false, 0, kHead}, {false, 0, kHead + 500}, {true, 0, kHead + 500},
                        {false, 300, 100}, {false, 300, kHead},     {false, 300, kHead + 500}};
  for (const auto& [remote_write, lent_bytes, has] : cases) {
    SCOPED_TRACE(testing::Message() << remote_write << ' ' << lent_bytes << ' ' << has);
    LoopbackOptions options;
    options.remote_write = remote_write;
    options.lent_bytes = lent_bytes;
    Pair p(options, config);
    p.a.sent.emplace_back(pattern(has), 1, 1 << 20);
    Sent& sent = p.a.sent.back();
    sent.payload_bytes = 30 * kHead;
    sent.status = p.a.messenger->send(p.to_b, 1, {}, sent);
    settle(p.a, p.b);
    ASSERT_EQ(p.a.gone.size(), 1u);
    EXPECT_EQ(p.a.gone[0].second.code(), StatusCode::kInternal);
    EXPECT_EQ(sent.done, 1);
    EXPECT_TRUE(sent.status.error());
    EXPECT_TRUE(p.a.messenger->idle());
    ASSERT_EQ(p.b.gone.size(), 1u);
    EXPECT_EQ(p.b.gone[0].second.code(), StatusCode::kPeerFailed);
  }
}

}  // namespace
}  // namespace mad
