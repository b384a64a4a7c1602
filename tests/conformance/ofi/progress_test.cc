// The shared receive buffers.
#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

TEST_P(OfiDriverTest, ReceiveBuffersSurviveDyingPeers) {
  OfiOptions few = options();
  few.receive_buffers = 4;
  Engine a(few);
  Bytes bytes(60 * 1024, std::byte{1});
  for (int round = 0; round < 20; ++round) {
    a.station.received.clear();
    Engine b(options());
    const ConnectionId to_a = b.connect(a);
    ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.connected.count(to_a) == 1; }));
    // b dies with packets half sent.
    const Segment segment{bytes.data(), bytes.size()};
    while (b.driver->post_send(to_a, {&segment, 1}, &bytes).in_progress()) {
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

INSTANTIATE_TEST_SUITE_P(Ofi, OfiDriverTest, ::testing::Values("tcp", "sockets"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace mad
