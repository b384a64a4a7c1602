// The shared receive buffers.
#include <deque>
#include <map>
#include <utility>

#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

std::size_t long_packet(const Engine& engine) {
  return std::min<std::size_t>(engine.driver->caps().nearest().max_packet_bytes, 61 * 1024);
}

TEST_P(IpDriverTest, ReceiveBuffersSurviveDyingPeers) {
  EngineOptions few = options();
  few.few_buffers = true;
  Engine a(few);
  Bytes bytes(long_packet(a), std::byte{1});
  for (int round = 0; round < 20; ++round) {
    a.station.received.clear();
    Engine b(options());
    const ConnectionId to_a = b.connect(a);
    ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.connected.count(to_a) == 1; }));
    // b dies with packets half sent.
    const Segment segment{bytes.data(), bytes.size()};
    for (int i = 0; i < 40 && !b.driver->post_send(to_a, {&segment, 1}, &bytes).again(); ++i) {
    }
    a.station.poll();
    b.driver.reset();
    const std::size_t before = a.station.disconnected.size();
    pump(
        {&a}, [&] { return a.station.disconnected.size() > before; }, milliseconds(3000));
  }
  Engine c(options());
  const ConnectionId to_a = c.connect(a);
  a.station.received.clear();
  for (std::size_t packet = 1; packet <= 50; ++packet) {
    ASSERT_FALSE(send(c, to_a, bytes, {&a, &c}).error());
    ASSERT_TRUE(pump({&a, &c}, [&] { return a.station.received.size() == packet; }))
        << "no receive buffer is left";
  }
}

// A packet whose head has come occupies a receive buffer until the rest comes.
TEST_P(IpDriverTest, PeersThatStopInAPacketKeepNobodyElseOut) {
  constexpr std::size_t kStopped = 20;
  Bytes bytes;  // outlives the engines, which still have it to send
  Engine a(options());
  bytes.assign(long_packet(a), std::byte{1});
  std::vector<std::unique_ptr<Engine>> stopped;
  for (std::size_t i = 0; i < kStopped; ++i) {
    stopped.push_back(std::make_unique<Engine>(options()));
    Engine& b = *stopped.back();
    const ConnectionId to_a = b.connect(a);
    ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.connected.count(to_a) == 1; }));
    const std::size_t pending = fill(b, to_a, bytes).pending;
    if (sends_halves()) {
      EXPECT_GT(pending, b.station.finished_count) << "nothing is half sent";
    }
  }
  // Nobody moves them any more; a takes what there is.
  auto last = Clock::now();
  pump({&a}, [&] {
    if (!a.station.received.empty()) last = Clock::now();
    a.station.received.clear();
    return Clock::now() - last > milliseconds(100);
  });
  Engine c(options());
  const ConnectionId c_to_a = c.connect(a);
  Bytes word = number_of(4711);
  ASSERT_FALSE(send(c, c_to_a, word, {&a, &c}).error());
  EXPECT_TRUE(pump({&a, &c}, [&] { return !a.station.received.empty(); }));
}

// Long and short ones, while receive buffers come back late and all at once.
TEST_P(IpDriverTest, PacketsOfManyPeersKeepTheirOrder) {
  constexpr std::size_t kPeers = 10, kPackets = 60, kLate = 20;
  struct Peer {
    std::deque<Bytes> packets;  // outlive the engine
    std::unique_ptr<Engine> engine;
    ConnectionId to_a = 0;
  };
  std::vector<Peer> peers(kPeers);
  Engine a(options());
  a.station.keep = true;
  std::vector<Engine*> all{&a};
  for (Peer& peer : peers) {
    peer.engine = std::make_unique<Engine>(options());
    peer.to_a = peer.engine->connect(a);
    all.push_back(peer.engine.get());
  }
  const auto post_some = [](Peer& peer) {
    while (peer.packets.size() < kPackets) {
      const std::size_t size = peer.packets.size() % 4 == 3 ? 64 : long_packet(*peer.engine);
      Bytes bytes = number_of(peer.packets.size(), size);
      const Segment segment{bytes.data(), bytes.size()};
      const Status status = peer.engine->driver->post_send(peer.to_a, {&segment, 1}, nullptr);
      ASSERT_FALSE(status.error()) << status.message();
      if (status.again()) return;
      peer.packets.push_back(std::move(bytes));
    }
  };
  std::size_t polls = 0;
  ASSERT_TRUE(pump(all, [&] {
    for (Peer& peer : peers) post_some(peer);
    if (++polls % kLate == 0) {
      for (void* buffer : std::exchange(a.station.kept, {})) a.driver->release(buffer);
    }
    return a.station.received.size() == kPeers * kPackets;
  })) << a.station.received.size();
  for (void* buffer : a.station.kept) a.driver->release(buffer);
  std::map<ConnectionId, std::size_t> next;
  for (const Station::Received& packet : a.station.received) {
    const std::size_t number = next[packet.connection]++;
    EXPECT_EQ(Bytes(packet.bytes.begin(), packet.bytes.begin() + sizeof(number)), number_of(number))
        << "packet " << number << " of " << packet.connection;
  }
}

MAD_FOR_ALL_FABRICS_OVER_IP(IpDriverTest);

}  // namespace
}  // namespace mad
