// What is the loopback fabric's own: its limits, its buffers, engines that die.  What every driver
// must do is in tests/conformance.
#include "madlike/driver/loopback/loopback.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "tests/support/bytes.h"

namespace mad {
namespace {

std::vector<Completion> poll_all(Driver& driver) {
  std::array<Completion, 8> batch;
  std::vector<Completion> all;
  while (const std::size_t count = driver.poll(batch.data(), batch.size())) {
    all.insert(all.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return all;
}

ConnectionId connect(Driver& from, const Driver& to) {
  return from.connect(to.address().data(), to.address().size()).value();
}

/// Two engines, connected when the test begins.
class LoopbackTest : public ::testing::Test {
 protected:
  explicit LoopbackTest(const LoopbackOptions& options = small())
      : network(std::make_shared<LoopbackNetwork>(options)), a(network), b(network) {
    to_b = connect(a, b);
    poll_all(b);
    poll_all(a);
    to_a = connect(b, a);
  }
  static LoopbackOptions small() {
    LoopbackOptions options;
    options.max_packet_bytes = 1024;
    options.inject_bytes = 16;
    options.queue_depth = 3;
    return options;
  }
  Status post(LoopbackDriver& from, ConnectionId to, std::size_t size) {
    Bytes bytes(size, std::byte{7});  // copied at once
    const Segment segment{bytes.data(), bytes.size()};
    return from.post_send(to, {&segment, 1}, nullptr);
  }

  std::shared_ptr<LoopbackNetwork> network;
  LoopbackDriver a, b;
  ConnectionId to_a = 0, to_b = 0;
};

TEST_F(LoopbackTest, TheLimitsAreTheNetworks) {
  EXPECT_EQ(a.caps().name, "loopback");
  EXPECT_EQ(a.caps().max_packet_bytes, 1024u);
  EXPECT_EQ(a.caps().inject_bytes, 16u);
  EXPECT_EQ(post(a, to_b, 1025).code(), StatusCode::kInvalidArgument);
  const std::vector<Segment> segments(a.caps().max_iov + 1);
  EXPECT_EQ(a.post_send(to_b, {segments.data(), segments.size()}, nullptr).code(),
            StatusCode::kInvalidArgument);
  EXPECT_TRUE(poll_all(b).empty());
}

TEST_F(LoopbackTest, WithoutRemoteWritesThereIsNothingToExpose) {
  LoopbackOptions options;
  options.remote_write = false;
  auto plain = std::make_shared<LoopbackNetwork>(options);
  LoopbackDriver c(plain), d(plain);
  const ConnectionId to_d = connect(c, d);
  EXPECT_EQ(c.caps().max_write_iov, 0u);
  Bytes memory(8);
  EXPECT_EQ(c.expose(to_d, {memory.data(), 8}).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(LoopbackTest, TheQueueHoldsPacketsThatAreNotReleased) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(post(a, to_b, 10).ok());
  EXPECT_TRUE(post(a, to_b, 10).again());
  EXPECT_TRUE(post(b, to_a, 10).ok()) << "each direction has a queue of its own";
  const std::vector<Completion> received = poll_all(b);
  ASSERT_EQ(received.size(), 3u);
  EXPECT_TRUE(post(a, to_b, 10).again()) << "they are still being read";
  b.release(received[1].buffer);
  EXPECT_TRUE(post(a, to_b, 10).ok());
  EXPECT_TRUE(post(a, to_b, 10).again());
}

TEST_F(LoopbackTest, CompletionsThatNobodyTakesFillTheQueue) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(post(a, to_b, 100).in_progress());
    for (const Completion& received : poll_all(b)) b.release(received.buffer);
  }
  EXPECT_TRUE(post(a, to_b, 100).again());
  EXPECT_TRUE(post(a, to_b, 10).ok()) << "an injected packet leaves no completion";
  EXPECT_EQ(poll_all(a).size(), 3u);
  for (const Completion& received : poll_all(b)) b.release(received.buffer);
  EXPECT_TRUE(post(a, to_b, 100).in_progress());
}

TEST_F(LoopbackTest, BuffersAreUsedAgain) {
  EXPECT_EQ(b.buffers(), 0u);
  for (int round = 0; round < 50; ++round) {
    ASSERT_TRUE(post(a, to_b, 10).ok());
    ASSERT_TRUE(post(a, to_b, 10).ok());
    for (const Completion& received : poll_all(b)) b.release(received.buffer);
  }
  EXPECT_EQ(b.buffers(), 2u);
  EXPECT_EQ(a.buffers(), 0u);
}

TEST_F(LoopbackTest, AnEngineMayConnectToItself) {
  const ConnectionId to_self = connect(a, a);
  ASSERT_EQ(poll_all(a).size(), 1u);
  ASSERT_TRUE(post(a, to_self, 5).ok());
  const std::vector<Completion> received = poll_all(a);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].kind, Completion::Kind::kReceived);
  EXPECT_EQ(received[0].connection, to_self);
  a.release(received[0].buffer);
  a.disconnect(to_self);
  EXPECT_TRUE(poll_all(a).empty());
  EXPECT_EQ(post(a, to_self, 5).code(), StatusCode::kClosed);
}

TEST_F(LoopbackTest, WritesStayInsideOfWhatTheirPeerExposed) {
  Bytes memory(100, std::byte{1});
  Bytes bytes(10, std::byte{2});
  const Segment source{bytes.data(), bytes.size()};
  const ExposureToken token = b.expose(to_a, {memory.data() + 20, 50}).value();
  const auto write = [&](LoopbackDriver& from, ConnectionId to, std::uint64_t offset) {
    EXPECT_TRUE(from.post_write(to, {&source, 1}, token, offset, &bytes).in_progress());
    const std::vector<Completion> written = poll_all(from);
    EXPECT_EQ(written.back().kind, Completion::Kind::kWritten);
    EXPECT_EQ(written.back().context, &bytes);
    return written.back().status.code();
  };
  EXPECT_EQ(write(a, to_b, 40), StatusCode::kOk);
  EXPECT_EQ(write(a, to_b, 41), StatusCode::kProtocol);
  EXPECT_EQ(write(a, to_b, ~std::uint64_t{0}), StatusCode::kProtocol);
  LoopbackDriver c(network);
  const ConnectionId c_to_b = connect(c, b);
  poll_all(b);
  poll_all(c);
  EXPECT_EQ(write(c, c_to_b, 0), StatusCode::kProtocol) << "it was exposed to another engine";
  b.withdraw(to_a, token);
  EXPECT_EQ(write(a, to_b, 0), StatusCode::kProtocol);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], i >= 60 && i < 70 ? std::byte{2} : std::byte{1}) << i;
  }
}

TEST_F(LoopbackTest, AFailedEngineIsDeadToEverybody) {
  ASSERT_TRUE(post(b, to_a, 10).ok());
  LoopbackDriver asking(network);  // its request is not answered yet
  const ConnectionId asked = connect(asking, b);
  b.fail();
  const std::vector<Completion> seen = poll_all(a);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kind, Completion::Kind::kReceived) << "what came before the end is told first";
  EXPECT_EQ(seen[1].kind, Completion::Kind::kDisconnected);
  EXPECT_EQ(seen[1].status.code(), StatusCode::kPeerFailed);
  a.release(seen[0].buffer);
  EXPECT_EQ(post(a, to_b, 10).code(), StatusCode::kPeerFailed);
  EXPECT_EQ(post(b, to_a, 10).code(), StatusCode::kPeerFailed);
  EXPECT_FALSE(b.connect(a.address().data(), a.address().size()).ok());

  const std::vector<Completion> refused = poll_all(asking);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].connection, asked);
  EXPECT_EQ(refused[0].status.code(), StatusCode::kUnreachable);
  const ConnectionId again = connect(asking, b);
  EXPECT_NE(again, asked);
  EXPECT_EQ(poll_all(asking).at(0).status.code(), StatusCode::kUnreachable);
}

TEST_F(LoopbackTest, AWithdrawnRequestConnectsNobody) {
  LoopbackDriver c(network);
  c.disconnect(connect(c, a));
  EXPECT_TRUE(poll_all(a).empty());
  EXPECT_TRUE(poll_all(c).empty());
  const ConnectionId to_a_again = connect(c, a);
  ASSERT_EQ(poll_all(a).size(), 1u);
  EXPECT_EQ(poll_all(c).at(0).connection, to_a_again);
}

TEST(Loopback, OnlyAnEngineThatIsAloneMaySleep) {
  auto network = std::make_shared<LoopbackNetwork>();
  LoopbackDriver alone(network);
  std::vector<pollfd> descriptors;
  EXPECT_TRUE(alone.watch(&descriptors).ok());
  (void)connect(alone, alone);
  EXPECT_TRUE(alone.watch(&descriptors).again());
  poll_all(alone);
  EXPECT_TRUE(alone.watch(&descriptors).ok());
  const LoopbackDriver other(network);
  EXPECT_EQ(alone.watch(&descriptors).code(), StatusCode::kNotFound);
  EXPECT_TRUE(descriptors.empty());
}

}  // namespace
}  // namespace mad
