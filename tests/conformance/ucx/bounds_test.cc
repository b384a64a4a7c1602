// A receiver that keeps every packet: what it holds is bounded, and nothing is lost.
#include <cstring>

#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

class UcxBounds : public ::testing::TestWithParam<bool> {};

TEST_P(UcxBounds, HeldPacketsStopTheSendersAndNothingIsLost) {
  const UcxOptions options = on_lo(GetParam(), !GetParam());
  UcxEngine a(options), b(options), c(options);
  const std::vector<UcxEngine*> all{&a, &b, &c};
  const ConnectionId from_b = b.connect(a), from_c = c.connect(a);
  ASSERT_TRUE(pump(all, [&] { return a.station.connected.size() == 2; }));
  a.station.keep = true;
  const std::size_t kPackets = 400;
  const std::size_t most = a.driver->caps().nearest().max_packet_bytes;
  std::vector<Bytes> packets;
  for (std::size_t i = 0; i < kPackets; ++i) {
    packets.push_back(pattern(i % 2 == 0 ? most : 3000, static_cast<unsigned>(i)));
  }
  std::size_t sent_b = 0, sent_c = 0;
  const auto post = [&](UcxEngine& from, ConnectionId to, std::size_t* sent) {
    if (*sent == kPackets) return;
    const Segment segment{packets[*sent].data(), packets[*sent].size()};
    const Status status = from.driver->post_send(to, {&segment, 1}, &packets[*sent]);
    ASSERT_FALSE(status.error());
    if (!status.again()) ++*sent;
  };
  std::size_t most_kept = 0;
  // Of shared memory UCX's buffers are kept, of each sender.  Of tcp a chunk holds one long packet,
  // and of each sender every other one is short.
  ASSERT_TRUE(GetParam() || most > 32 * 1024);
  const std::size_t allowed = GetParam() ? 2 * UcxLane::kMostKept : 2 * options.receive_chunks + 2;
  // Until the senders are stopped; then one packet is released each time.
  auto last = Clock::now();
  const auto deadline = Clock::now() + milliseconds(60000);
  while (a.station.received.size() < 2 * kPackets && Clock::now() < deadline) {
    const std::size_t before = sent_b + sent_c + a.station.received.size();
    post(b, from_b, &sent_b);
    post(c, from_c, &sent_c);
    for (UcxEngine* each : all) each->station.poll();
    most_kept = std::max(most_kept, a.station.kept.size());
    if (sent_b + sent_c + a.station.received.size() != before) last = Clock::now();
    if (Clock::now() - last < milliseconds(2) || a.station.kept.empty()) continue;
    a.driver->release(a.station.kept.front());
    a.station.kept.erase(a.station.kept.begin());
  }
  ASSERT_EQ(a.station.received.size(), 2 * kPackets);
  EXPECT_LE(most_kept, allowed);
  std::map<ConnectionId, std::size_t> next;
  for (const auto& packet : a.station.received) {
    ASSERT_TRUE(packet.bytes == packets[next[packet.connection]++]);
  }
  for (void* buffer : a.station.kept) a.driver->release(buffer);
}

/// Of a packet whose length no message can have, as a peer may announce it.
class EndlessWriter final : public PacketWriter {
 public:
  EndlessWriter() : PacketWriter(SIZE_MAX) {}

 private:
  void write_next(Segment room) override { std::memset(room.data, 1, room.size); }
};

TEST(UcxPieces, APieceOfWhateverLengthIsWhatOneMessageHolds) {
  UcxEngine a(on_lo(true, false)), b(on_lo(true, false));
  const ConnectionId to_a = b.connect(a);
  ASSERT_TRUE(pump({&a, &b}, [&] {
    return a.station.connected.size() == 1 && b.station.connected.count(to_a) == 1;
  }));
  EndlessWriter writer;
  ASSERT_TRUE(b.driver->post_lent(to_a, writer).ok());
  Completion piece;
  ASSERT_TRUE(pump({&b}, [&] { return a.driver->poll(&piece, 1) == 1; }));
  EXPECT_GT(piece.bytes.size, 0u);
  EXPECT_EQ(piece.bytes.size, SIZE_MAX - writer.left());
  EXPECT_EQ(piece.rest, writer.left());
  a.driver->release(piece.buffer);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxBounds, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "posix" : "tcp"; });

}  // namespace
}  // namespace mad
