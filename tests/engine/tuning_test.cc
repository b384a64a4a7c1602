// Every setting has the effect it names, as the counters show it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "madlike/message/messenger.h"
#include "tests/engine/node.h"

namespace mad::test {
namespace {

using Tune = std::function<void(mad_config&)>;

/// The counters of both engines after one message between them.
struct Counted {
  mad_counters sender;
  mad_counters receiver;
};

class Tuning : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::uint64_t kBytes = 819200;

  /// Sends kBytes in blocks of `block` bytes by `path`, on both sides, between engines with `tune`.
  static Counted message(mad_path path, const Tune& tune = {}, std::uint64_t block = 8192) {
    Node a(GetParam(), tune), b(GetParam(), tune);
    const std::uint64_t stride = block + 8, count = kBytes / block;
    const TypeHandle gapped = blocks(count, block, static_cast<std::int64_t>(stride));
    const auto data = pattern(count * stride, 1);
    Bytes got(data.size());
    Operation sent, received;
    b.on_arrival = [&](const Arrival& arrival) {
      b.receive(arrival.incoming, got.data(), 1, gapped.get(), path, &received);
    };
    a.send(a.peer(b), "x", data.data(), 1, gapped.get(), path, &sent);
    EXPECT_TRUE(progress_until({&a, &b}, [&] { return sent.done && received.done; }));
    for (std::uint64_t i = 0; i < count; ++i) {
      EXPECT_EQ(std::memcmp(&got[i * stride], &data[i * stride], block), 0) << i;
    }
    const Counted counted{a.counters(), b.counters()};
    close_together({&a, &b});
    return counted;
  }

  /// What travels with the header in memory that the fabric lends.
  static std::uint64_t lent_head() {
    const std::string fabric = GetParam();
    return fabric == "ucx:posix,cma" || fabric == "shm" ? 256 * 1024 : 0;
  }

  static std::uint64_t total(const std::uint64_t (&values)[MAD_PATH_COUNT]) {
    std::uint64_t sum = 0;
    for (const std::uint64_t value : values) sum += value;
    return sum;
  }
};

TEST_P(Tuning, MessagesAreCountedByThePathTaken) {
  for (const mad_path path : {MAD_PATH_GATHER, MAD_PATH_HYBRID, MAD_PATH_PIPELINE, MAD_PATH_PACK}) {
    const Counted counted = message(path);
    SCOPED_TRACE(mad_path_name(path));
    EXPECT_EQ(counted.sender.sends[path], 1u);
    EXPECT_EQ(counted.sender.send_bytes[path], kBytes);
    EXPECT_EQ(total(counted.sender.sends), 1u);
    EXPECT_EQ(total(counted.sender.recvs), 0u);
    // A receiver takes long runs in place, unpacks as it arrives, or collects first.
    const bool asked = path == MAD_PATH_PACK || path == MAD_PATH_PIPELINE;
    const mad_path received = asked ? path : MAD_PATH_GATHER;
    EXPECT_EQ(counted.receiver.recvs[received], 1u);
    EXPECT_EQ(counted.receiver.recv_bytes[received], kBytes);
    EXPECT_EQ(total(counted.receiver.recvs), 1u);
    EXPECT_GT(counted.sender.packets_sent, 0u);
    EXPECT_GT(counted.receiver.packets_received, 0u);
  }
}

TEST_P(Tuning, BytesAreCountedByTheWayTheyLeft) {
  const bool on_shm = GetParam() == std::string("shm");  // long runs are read, where that works
  const mad_counters gather = message(MAD_PATH_GATHER).sender;
  const bool copied = lent_head() > 0 && !(on_shm && gather.referenced_bytes > 0);
  EXPECT_EQ(gather.referenced_bytes, copied ? 0 : kBytes);
  EXPECT_EQ(gather.staged_bytes, copied ? kBytes : 0) << "to the fabric's own memory";
  const mad_counters pipeline = message(MAD_PATH_PIPELINE).sender;
  EXPECT_EQ(pipeline.staged_bytes, kBytes);
  EXPECT_EQ(pipeline.referenced_bytes, 0u);
  const mad_counters hybrid = message(MAD_PATH_HYBRID, {}, 64).sender;  // short runs only
  EXPECT_EQ(hybrid.staged_bytes, kBytes);
  const mad_counters hybrid_long = message(MAD_PATH_HYBRID, {}, 32768).sender;
  EXPECT_EQ(hybrid_long.staged_bytes + hybrid_long.referenced_bytes, kBytes);
  if (!on_shm) {
    EXPECT_GE(hybrid_long.referenced_bytes, kBytes / 2);
  }
}

TEST_P(Tuning, ContiguousDataIsCountedAsAutoAndOffAsOff) {
  Node a(GetParam()), b(GetParam());
  const auto data = pattern(100000, 1);
  Bytes got(100000);
  Operation received[3], sent[3];
  int next = 0;
  const mad_path paths[] = {MAD_PATH_AUTO, MAD_PATH_GATHER, MAD_PATH_OFF};
  b.on_arrival = [&](const Arrival& arrival) {
    b.receive(arrival.incoming, got.data(), got.size(), nullptr, paths[next], &received[next]);
  };
  for (; next < 3; ++next) {
    a.send(a.peer(b), "x", data.data(), data.size(), nullptr, paths[next], &sent[next]);
    ASSERT_TRUE(progress_until({&a, &b}, [&] { return sent[next].done && received[next].done; }));
  }
  EXPECT_EQ(a.counters().sends[MAD_PATH_AUTO], 2u);
  EXPECT_EQ(a.counters().sends[MAD_PATH_OFF], 1u);
  EXPECT_EQ(b.counters().recvs[MAD_PATH_AUTO], 2u);
  EXPECT_EQ(b.counters().recvs[MAD_PATH_OFF], 1u);
  close_together({&a, &b});
}

TEST_P(Tuning, AutoTakesThePathTheShapeAsksFor) {
  EXPECT_EQ(message(MAD_PATH_AUTO, {}, 32768).sender.sends[MAD_PATH_GATHER], 1u);
  EXPECT_EQ(message(MAD_PATH_AUTO, {}, 64).sender.sends[MAD_PATH_PIPELINE], 1u);
}

TEST_P(Tuning, FlushThresholdMakesMorePackets) {
  const std::uint64_t few = message(MAD_PATH_PIPELINE).sender.packets_sent;
  const std::uint64_t many = message(MAD_PATH_PIPELINE, [](mad_config& c) {
                               c.flush_threshold = 4096;
                             }).sender.packets_sent;
  EXPECT_LT(few, 100u);
  // All that does not travel with the header, in its packet, goes in packets of 4096 bytes.
  const std::uint64_t head = std::max<std::uint64_t>(MessengerConfig().packet_bytes, lent_head());
  EXPECT_GE(many, (kBytes - head) / 4096);
  EXPECT_LE(many, kBytes / 4096 + 10);
}

TEST_P(Tuning, MaxBlocksKeepsAutoFromReferencing) {
  const auto with = [](std::uint64_t limit) {
    return message(
               MAD_PATH_AUTO, [=](mad_config& c) { c.max_blocks = limit; }, 32768)
        .sender;
  };
  EXPECT_EQ(with(25).sends[MAD_PATH_GATHER], 1u);  // 25 blocks
  const mad_counters beyond = with(24);
  EXPECT_EQ(beyond.sends[MAD_PATH_PIPELINE], 1u);
  EXPECT_EQ(beyond.referenced_bytes, 0u);
}

TEST_P(Tuning, EagerLimitDecidesWhetherTheReceiverIsAsked) {
  const auto done_without_receiver = [](std::uint64_t limit) {
    Node a(GetParam(), [=](mad_config&c) { c.eager_limit = limit; }), b(GetParam());
    mad_peer* const to_b = a.peer(b);
    EXPECT_EQ(mad_send_header(a.engine(), to_b, 1, "hello", 5), MAD_SUCCESS);
    EXPECT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
    for (int i = 0; i < 100; ++i) a.progress(), b.progress();  // the credit arrives
    b.arrivals.clear();
    const auto data = pattern(10000, 1);
    Operation sent, received;
    a.send(to_b, "x", data.data(), data.size(), nullptr, MAD_PATH_AUTO, &sent);
    EXPECT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
    for (int i = 0; i < 1000; ++i) a.progress(), b.progress();
    const bool done = sent.done;
    Bytes got(10000);
    b.receive(b.take().incoming, got.data(), got.size(), nullptr, MAD_PATH_AUTO, &received);
    EXPECT_TRUE(progress_until({&a, &b}, [&] { return sent.done && received.done; }));
    EXPECT_EQ(got, data);
    close_together({&a, &b});
    return done;
  };
  EXPECT_TRUE(done_without_receiver(10000));
  EXPECT_FALSE(done_without_receiver(9999));
}

TEST_P(Tuning, SmallestStagingBudgetStillMovesEverything) {
  const Tune tight = [](mad_config& c) { c.staging_bytes = 1; };
  EXPECT_EQ(message(MAD_PATH_PIPELINE, tight).sender.staged_bytes, kBytes);
  EXPECT_EQ(message(MAD_PATH_GATHER, tight).sender.sends[MAD_PATH_GATHER], 1u);
}

INSTANTIATE_TEST_SUITE_P(Engine, Tuning, ::testing::ValuesIn(kFabrics), fabric_test_name);

}  // namespace
}  // namespace mad::test
