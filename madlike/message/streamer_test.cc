// How the rest of a long payload travels: written in place, or in packets of a chosen size.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace mad
