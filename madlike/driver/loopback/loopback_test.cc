// What is the loopback fabric's own: its limits, its buffers, engines that die.  What every driver
// must do is in tests/conformance.
#include "madlike/driver/loopback/loopback.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    options.max_write_bytes = 512;
    return options;
  }
  Status post(LoopbackDriver& from, ConnectionId to, std::size_t size) {
    Bytes bytes(size, std::byte{7});  // copied at once
    const Segment segment{bytes.data(), bytes.size()};
    return from.post_send(to, {&segment, 1}, nullptr);
  }
  Status write(LoopbackDriver& from, ConnectionId to, const ExposureToken& token,
               std::uint64_t offset, std::size_t size) {
    Bytes bytes(size, std::byte{2});  // copied at once
    const Segment segment{bytes.data(), bytes.size()};
    return from.post_write(to, {&segment, 1}, token, offset, nullptr);
  }

  std::shared_ptr<LoopbackNetwork> network;
  LoopbackDriver a, b;
  ConnectionId to_a = 0, to_b = 0;
};

TEST_F(LoopbackTest, TheLimitsAreTheNetworks) {
  EXPECT_EQ(a.caps().name, "loopback");
  EXPECT_EQ(a.caps().nearest().max_packet_bytes, 1024u);
  EXPECT_EQ(a.caps().nearest().inject_bytes, 16u);
  EXPECT_EQ(post(a, to_b, 1025).code(), StatusCode::kInvalidArgument);
  std::vector<Segment> segments(a.caps().nearest().max_iov + 1);
  const auto post_segments = [&] {
    return a.post_send(to_b, {segments.data(), segments.size()}, nullptr);
  };
  EXPECT_EQ(post_segments().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(poll_all(b).empty());
  segments.pop_back();
  EXPECT_TRUE(post_segments().ok());
  b.release(poll_all(b).at(0).buffer);
  EXPECT_TRUE(post(a, to_b, 1024).in_progress());
  EXPECT_TRUE(post(a, to_b, 17).in_progress());
  EXPECT_TRUE(post(a, to_b, 16).ok()) << "injected";
}

TEST_F(LoopbackTest, SoAreThoseOfWrites) {
  Bytes memory(1000);
  const ExposureToken token = b.expose(to_a, {memory.data(), memory.size()}).value();
  EXPECT_EQ(a.caps().nearest().max_write_bytes, 512u);
  EXPECT_EQ(write(a, to_b, token, 0, 513).code(), StatusCode::kInvalidArgument);
  std::vector<Segment> segments(a.caps().nearest().max_write_iov + 1);
  const auto post_write = [&] {
    return a.post_write(to_b, {segments.data(), segments.size()}, token, 0, nullptr);
  };
  EXPECT_EQ(post_write().code(), StatusCode::kInvalidArgument);
  segments.pop_back();
  EXPECT_TRUE(post_write().in_progress());
  EXPECT_TRUE(write(a, to_b, token, 0, 512).in_progress());
  for (const Completion& written : poll_all(a)) EXPECT_TRUE(written.status.ok());
}

TEST_F(LoopbackTest, WithoutRemoteWritesThereIsNothingToExpose) {
  LoopbackOptions options;
  options.remote_write = false;
  auto plain = std::make_shared<LoopbackNetwork>(options);
  LoopbackDriver c(plain), d(plain);
  const ConnectionId to_d = connect(c, d);
  EXPECT_EQ(c.caps().nearest().max_write_iov, 0u);
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
  const Segment exposed{memory.data() + 20, 50};
  ExposureToken token = b.expose(to_a, exposed).value();
  const auto outcome = [&](LoopbackDriver& from, ConnectionId to, std::uint64_t offset,
                           std::size_t size = 10) {
    EXPECT_TRUE(write(from, to, token, offset, size).in_progress());
    const std::vector<Completion> written = poll_all(from);
    EXPECT_EQ(written.back().kind, Completion::Kind::kWritten);
    return written.back().status.code();
  };
  EXPECT_EQ(outcome(a, to_b, 40), StatusCode::kOk);
  EXPECT_EQ(outcome(a, to_b, 50, 0), StatusCode::kOk) << "nothing, at the end";
  EXPECT_EQ(outcome(a, to_b, 51, 0), StatusCode::kProtocol);
  EXPECT_EQ(outcome(a, to_b, 41), StatusCode::kProtocol);
  EXPECT_EQ(outcome(a, to_b, ~std::uint64_t{0}), StatusCode::kProtocol);
  LoopbackDriver c(network);
  const ConnectionId c_to_b = connect(c, b);
  poll_all(b);
  poll_all(c);
  EXPECT_EQ(outcome(c, c_to_b, 0), StatusCode::kProtocol) << "it was exposed to another engine";
  b.withdraw(to_a, token);
  EXPECT_EQ(outcome(a, to_b, 0), StatusCode::kProtocol);
  token = b.expose(connect(b, c), exposed).value();
  EXPECT_EQ(outcome(a, to_b, 0), StatusCode::kProtocol) << "this one, too";
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], i >= 60 && i < 70 ? std::byte{2} : std::byte{1}) << i;
  }
}

TEST_F(LoopbackTest, TheContextOfAWriteComesBack) {
  Bytes memory(8), bytes(8);
  const ExposureToken token = b.expose(to_a, {memory.data(), memory.size()}).value();
  const Segment source{bytes.data(), bytes.size()};
  ASSERT_TRUE(a.post_write(to_b, {&source, 1}, token, 0, &bytes).in_progress());
  EXPECT_EQ(poll_all(a).at(0).context, &bytes);
}

TEST_F(LoopbackTest, WritesWhoseCompletionsNobodyTakesFillTheQueue) {
  Bytes memory(100);
  const ExposureToken token = b.expose(to_a, {memory.data(), memory.size()}).value();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(write(a, to_b, token, 0, 10).in_progress());
  EXPECT_TRUE(write(a, to_b, token, 0, 10).again());
  EXPECT_EQ(poll_all(a).size(), 3u);
  EXPECT_TRUE(write(a, to_b, token, 0, 10).in_progress());
}

/// A packet whose every byte is 3.
class Threes : public PacketWriter {
 public:
  using PacketWriter::PacketWriter;

 private:
  void write_next(Segment room) override { std::fill_n(room.begin(), room.size, std::byte{3}); }
};

TEST_F(LoopbackTest, NothingIsPostedWhileItConnects) {
  LoopbackOptions options;
  options.lent_bytes = 100;
  auto lending = std::make_shared<LoopbackNetwork>(options);
  LoopbackDriver c(lending), d(lending);
  const ConnectionId to_d = connect(c, d);
  EXPECT_TRUE(post(c, to_d, 10).again());
  EXPECT_TRUE(write(c, to_d, {}, 0, 10).again());
  Threes packet(10);
  EXPECT_TRUE(c.post_lent(to_d, packet).again());
  EXPECT_EQ(packet.left(), 10u);
  EXPECT_TRUE(poll_all(c).empty());
}

TEST_F(LoopbackTest, LentMemoryIsOfTheQueue) {
  LoopbackOptions options = small();
  options.lent_bytes = 100;
  auto lending = std::make_shared<LoopbackNetwork>(options);
  LoopbackDriver c(lending), d(lending);
  const ConnectionId to_d = connect(c, d);
  poll_all(d);
  Threes packet(400);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(c.post_lent(to_d, packet).ok());
  EXPECT_TRUE(c.post_lent(to_d, packet).again());
  EXPECT_EQ(packet.left(), 100u);
  std::vector<Completion> received = poll_all(d);
  EXPECT_EQ(received.size(), 3u);
  d.release(received.back().buffer);
  EXPECT_TRUE(c.post_lent(to_d, packet).ok());
  EXPECT_TRUE(c.post_lent(to_d, packet).again());
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

/// Packets of more than 100 bytes come in pieces; `c` and `d` are connected to b, too.
class LoopbackPiecesTest : public LoopbackTest {
 protected:
  LoopbackPiecesTest() : LoopbackTest(in_pieces()), c(network), d(network) {
    for (LoopbackDriver* const driver : {&c, &d}) {
      (void)connect(*driver, b);
      poll_all(b);
      poll_all(*driver);
    }
    to_c = connect(b, c);
    to_d = connect(b, d);
  }
  static LoopbackOptions in_pieces() {
    LoopbackOptions options = small();
    options.piece_bytes = 100;
    return options;
  }
  /// c's packet of `size` bytes has come, or its first piece.
  Completion receive_from_c(std::size_t size) {
    EXPECT_TRUE(post(c, connect(c, b), size).in_progress());
    return poll_one();
  }
  Completion poll_one() {
    std::array<Completion, 2> found;
    EXPECT_EQ(b.poll(found.data(), found.size()), 1u);
    return found[0];
  }

  struct Rest : ScatteredMemory {
    std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
      *out = {bytes.data() + offset, static_cast<std::size_t>(size)};
      return 1;
    }
    Bytes bytes = Bytes(1000);
  };

  LoopbackDriver c, d;
  ConnectionId to_c = 0, to_d = 0;
  Rest memory, other;
};

TEST_F(LoopbackPiecesTest, APieceIsAWholePacketIfNothingFollows) {
  const Completion whole = receive_from_c(100);
  EXPECT_EQ(whole.bytes.size, 100u);
  EXPECT_EQ(whole.rest, 0u);
  ASSERT_NE(whole.buffer, nullptr);
  b.release(whole.buffer);
  const Completion first = receive_from_c(101);
  EXPECT_EQ(first.rest, 1u);
  EXPECT_EQ(poll_one().bytes.size, 1u);
}

TEST_F(LoopbackPiecesTest, TheRestIsPlacedOnceForItsConnection) {
  EXPECT_TRUE(b.place_rest(to_c, memory, 0).again()) << "there is none";
  EXPECT_EQ(receive_from_c(350).rest, 250u);
  EXPECT_TRUE(b.place_rest(to_a, other, 0).again());
  EXPECT_TRUE(b.place_rest(to_d, other, 0).again());
  EXPECT_TRUE(b.place_rest(to_c, memory, 10).ok());
  EXPECT_TRUE(b.place_rest(to_c, other, 0).again()) << "it has its place";
  const Completion placed = poll_one();
  EXPECT_EQ(placed.connection, to_c);
  EXPECT_EQ(placed.bytes.size + placed.rest, 0u);
  EXPECT_EQ(other.bytes, Bytes(1000));
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(memory.bytes[i], i >= 10 && i < 260 ? std::byte{7} : std::byte{0}) << i;
  }
}

TEST_F(LoopbackPiecesTest, WhatHasBegunToComeInPiecesGoesOn) {
  EXPECT_EQ(receive_from_c(350).rest, 250u);
  EXPECT_EQ(poll_one().rest, 150u);
  EXPECT_TRUE(b.place_rest(to_c, memory, 0).again()) << "only after the first piece";
  EXPECT_EQ(poll_one().rest, 50u);
  EXPECT_EQ(poll_one().bytes.size, 50u);
}

TEST_F(LoopbackPiecesTest, NothingIsPlacedOfAConnectionThatWasLeft) {
  EXPECT_EQ(receive_from_c(350).rest, 250u);
  b.disconnect(to_c);
  EXPECT_TRUE(b.place_rest(to_c, memory, 0).again());
  poll_all(b);
  EXPECT_EQ(memory.bytes, Bytes(1000));
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
