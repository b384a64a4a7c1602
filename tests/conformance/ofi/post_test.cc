// What may be posted, and to whom; and how engines leave that have posted it.
#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

TEST(OfiOpen, TooFewOrTooSmallReceiveBuffersAreRefused) {
  const auto opens = [](std::size_t buffers, std::size_t bytes) {
    OfiOptions options = on_lo();
    options.receive_buffers = buffers;
    options.max_packet_bytes = bytes;
    const auto driver = open_ofi(options);
    EXPECT_TRUE(driver.ok() || driver.status().code() == StatusCode::kInvalidArgument);
    return driver.ok();
  };
  EXPECT_TRUE(opens(1, 256));
  EXPECT_FALSE(opens(0, 256));
  EXPECT_FALSE(opens(1, 255));
}

TEST_F(OfiPair, PacketsBeyondTheLimitsAreRefused) {
  const DriverCaps& caps = a.driver->caps();
  Bytes bytes(caps.nearest().max_packet_bytes + 1);
  EXPECT_EQ(post(bytes).code(), StatusCode::kInvalidArgument);
  const std::vector<Segment> many(caps.nearest().max_iov + 1, Segment{bytes.data(), 1});
  EXPECT_EQ(a.driver->post_send(to_b, {many.data(), many.size()}, &bytes).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      a.driver->post_send(to_b, {many.data(), caps.nearest().max_iov}, &bytes).in_progress());
  EXPECT_TRUE(pump(both, [&] { return b.station.received.size() == 1; }));
}

TEST_F(OfiPair, WritesBeyondTheLimitsAreRefused) {
  const DriverCaps& caps = a.driver->caps();
  Bytes bytes(caps.nearest().max_write_bytes + 1), memory(bytes.size());
  const auto token = b.driver->expose(to_a, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  const auto write = [&](const std::vector<Segment>& segments) {
    return a.driver->post_write(to_b, {segments.data(), segments.size()}, *token, 0, &bytes).code();
  };
  EXPECT_EQ(write({{bytes.data(), bytes.size()}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(write({{bytes.data(), 0}}), StatusCode::kInvalidArgument);
  EXPECT_EQ(write({}), StatusCode::kInvalidArgument);
  EXPECT_EQ(write(std::vector<Segment>(caps.nearest().max_write_iov + 1, Segment{bytes.data(), 1})),
            StatusCode::kInvalidArgument);
  b.driver->withdraw(to_a, *token);
}

TEST_F(OfiPair, WritesThatFindNoPlaceWait) {
  constexpr std::size_t kWrites = 3 * OfiConnection::kQueueDepth;
  const std::size_t size = a.driver->caps().nearest().max_write_bytes;
  Bytes bytes(size, std::byte{1}), memory(size);
  const auto token = b.driver->expose(to_a, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  const Segment segment{bytes.data(), size};
  std::vector<int> contexts(kWrites);
  std::size_t posted = 0, waited = 0;
  ASSERT_TRUE(pump(both, [&] {
    while (posted < kWrites) {
      const Status status = a.driver->post_write(to_b, {&segment, 1}, *token, 0, &contexts[posted]);
      EXPECT_FALSE(status.error());
      if (status.again()) {
        ++waited;
        break;
      }
      ++posted;
    }
    return a.station.finished.size() == kWrites;
  }));
  EXPECT_GT(waited, 0u);
  b.driver->withdraw(to_a, *token);
}

// The caller's memory is its own again at once, though the fabric is full.
TEST_F(OfiPair, AnInjectedPacketIsCopiedBehindOthersThatWait) {
  Bytes bytes(a.driver->caps().nearest().max_packet_bytes);
  std::size_t posted = 0;
  for (int idle = 0; idle < 100; ++idle) {
    const std::size_t finished = a.station.finished_count;
    if (posted - finished < OfiConnection::kQueueDepth / 2) {
      ASSERT_TRUE(post(bytes).in_progress());
      ++posted;
      idle = 0;
    }
    a.station.poll();
    if (a.station.finished_count != finished) idle = 0;
  }
  ASSERT_GT(posted, a.station.finished_count) << "nothing waits";
  const Bytes injected(a.driver->caps().nearest().inject_bytes, std::byte{7});
  Bytes overwritten = injected;
  ASSERT_TRUE(post(overwritten).in_progress());
  std::fill(overwritten.begin(), overwritten.end(), std::byte{0});
  ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == posted + 1; }));
  EXPECT_TRUE(b.station.received.back().bytes == injected);
}

// libfabric refuses to inject more than it says, and may keep what is not injected.
TEST_F(OfiPair, PacketsOfAtMostTheInjectedBytesAreInjected) {
  const std::size_t most = a.driver->caps().nearest().inject_bytes;
  Bytes injected(most), kept(most + 1);
  ASSERT_TRUE(post(injected).in_progress());
  EXPECT_NE(a.provider.flags & FI_INJECT, 0u);
  ASSERT_TRUE(post(kept).in_progress());
  EXPECT_EQ(a.provider.flags & FI_INJECT, 0u);
  EXPECT_TRUE(pump(both, [&] { return a.station.finished_count == 2; }));
}

TEST_F(OfiPair, NothingIsPostedOrExposedWhereNoConnectionStands) {
  OfiEngine c;
  const ConnectionId to_c = a.connect(c);  // which does not look
  Bytes memory(8);
  const Segment segment{memory.data(), memory.size()};
  const auto write = [&](ConnectionId id) {
    return a.driver->post_write(id, {&segment, 1}, ExposureToken{}, 0, nullptr);
  };
  EXPECT_TRUE(write(to_c).again());
  EXPECT_TRUE(a.driver->post_send(to_c, {&segment, 1}, nullptr).again());
  // Left: its last packet is on the way.
  b.driver->disconnect(to_a);
  EXPECT_EQ(b.driver->expose(to_a, segment).status().code(), StatusCode::kClosed);
  // Gone: its peer has left, or died.
  ASSERT_TRUE(pump(both, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_TRUE(write(to_b).error());
  EXPECT_EQ(a.driver->expose(to_b, segment).status().code(), StatusCode::kClosed);
  const ConnectionId nobody = to_c + 4711;
  EXPECT_TRUE(write(nobody).error());
  EXPECT_FALSE(a.driver->expose(nobody, segment).ok());
  EXPECT_TRUE(pump({&a, &c}, [&] { return a.station.connected.count(to_c) == 1; }));
}

// Such a connection closes at once, as a write may be half done, and sends no last packet.
TEST_F(OfiPair, AConnectionWithExposedMemoryEndsThoughALookIsDue) {
  Bytes memory(8);
  const auto token = b.driver->expose(to_a, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  b.driver->disconnect(to_a);
  std::this_thread::sleep_for(milliseconds(20));  // deadlines are looked at again
  ASSERT_TRUE(pump(both, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_EQ(b.driver->connections(), 1u) << "its token was not withdrawn";
  b.driver->withdraw(to_a, *token);
  EXPECT_TRUE(pump({&b}, [&] { return b.driver->connections() == 0; }));
}

// A peer that takes nothing does not keep who leaves for longer than it would linger.
TEST_F(OfiPair, WhoClosesDoesNotWaitForAPeerForEver) {
  Bytes bytes(a.driver->caps().nearest().max_packet_bytes);
  for (int idle = 0; idle < 100; ++idle) {
    if (post(bytes).in_progress()) idle = 0;
    a.station.poll();
  }
  a.driver->disconnect(to_b);
  a.driver.reset();
  EXPECT_TRUE(pump({&b}, [&] { return b.station.disconnected.size() == 1; }));
}

}  // namespace
}  // namespace mad
