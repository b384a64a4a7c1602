// Of fabrics that lend memory, or take short packets so: packets that are written there.
#include <algorithm>
#include <cstring>
#include <vector>

#include "tests/conformance/driver_conformance.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

/// Writes a packet of these bytes, as if from such runs, and notes what it was asked for.
class BytesWriter final : public PacketWriter {
 public:
  explicit BytesWriter(const Bytes& bytes, std::uint64_t run_bytes = UINT64_MAX)
      : PacketWriter(bytes.size(), run_bytes), bytes_(bytes) {}
  int writes = 0;

 private:
  void write_next(Segment room) override {
    ++writes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room.data) % 8, 0u);
    EXPECT_GT(room.size, 0u);
    std::memcpy(room.data, bytes_.data() + written_, room.size);
    written_ += room.size;
  }

  const Bytes& bytes_;
  std::size_t written_ = 0;
};

// Long, short, at once or gathered, from whatever runs: they keep their order, and a post that
// fails writes nothing.
TEST_P(DriverConformance, LentMemoryTakesPacketsOfAnySizeInOrder) {
  establish();
  const DriverCaps& caps = pair.a->caps();
  if (pair.a->link(to_b).lent_bytes == 0) GTEST_SKIP() << "this fabric lends no memory";
  const std::size_t piece = caps.nearest().piece_bytes;
  ASSERT_GT(piece, 0u);
  std::vector<Bytes> sent;
  for (unsigned round = 0; round < 12; ++round) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{129}, std::size_t{1000}, piece - 1,
                                   piece, piece + 1, 2 * piece, 2 * piece + 1, 5 * piece - 3}) {
      sent.push_back(pattern(size, static_cast<unsigned>(sent.size())));
      if (round % 2 == 0) sent.push_back(pattern(40, static_cast<unsigned>(sent.size())));
    }
  }
  int refused = 0;
  for (Bytes& bytes : sent) {
    if (bytes.size() == 40) {
      const Segment segment{bytes.data(), bytes.size()};
      ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &bytes).error());
      continue;
    }
    BytesWriter writer(bytes, bytes.size() % 3 == 0 ? UINT64_MAX : 8);
    const std::size_t pieces = (bytes.size() + piece - 1) / piece;
    ASSERT_TRUE(pump([&] {
      const std::size_t left = writer.left();
      const int writes = writer.writes;
      pair.a->cork(to_b);
      const Status status = pair.a->post_lent(to_b, writer);
      pair.a->uncork(to_b);
      EXPECT_TRUE(status.ok() || status.again());
      if (status.again()) ++refused;
      EXPECT_EQ(writer.writes - writes, status.ok() ? 1 : 0);
      EXPECT_EQ(writer.left() < left, status.ok());
      return writer.left() == 0 || status.error();
    }));
    EXPECT_EQ(static_cast<std::size_t>(writer.writes), pieces) << bytes.size();
  }
  ASSERT_TRUE(pump([&] { return b->received.size() == sent.size(); }));
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_TRUE(b->received[i].bytes == sent[i]) << i;
  EXPECT_TRUE(b->begun[to_a].bytes.empty());
}

// Among packets that are sent otherwise; what the fabric does not take has not left.
TEST_P(DriverConformance, ShortPacketsLeaveWholeAndInOrder) {
  establish();
  const std::size_t most = pair.a->link(to_b).short_bytes;
  if (most == 0) GTEST_SKIP() << "this fabric takes no packets that are written";
  std::vector<Bytes> sent;
  for (unsigned i = 0; i < 400; ++i) {
    const std::size_t sizes[] = {1, 8, 129, most - 1, most};
    sent.push_back(pattern(std::min(sizes[i % 5], most), i));
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    Bytes& bytes = sent[i];
    if (i % 7 == 3 || i % 7 == 4) {
      const Segment segment{bytes.data(), bytes.size()};
      if (i % 7 == 3) pair.a->cork(to_b);
      ASSERT_FALSE(send(*a, to_b, {&segment, 1}, &bytes).error());
      if (i % 7 == 3) pair.a->uncork(to_b);
      continue;
    }
    ASSERT_TRUE(pump([&] {
      BytesWriter writer(bytes);
      const Status status = pair.a->post_lent(to_b, writer);
      EXPECT_FALSE(status.error());
      EXPECT_TRUE(status.again() || writer.left() == 0);
      return !status.again();
    }));
  }
  ASSERT_TRUE(pump([&] { return b->received.size() == sent.size(); }));
  for (std::size_t i = 0; i < sent.size(); ++i) ASSERT_TRUE(b->received[i].bytes == sent[i]) << i;
}

TEST_P(DriverConformance, LentMemoryRunsOutAndComesBack) {
  establish();
  if (pair.a->link(to_b).lent_bytes == 0) GTEST_SKIP() << "this fabric lends no memory";
  const Bytes bytes = pattern(pair.a->caps().nearest().piece_bytes, 3);
  std::size_t accepted = 0;
  const auto post = [&] {  // once more, as a refusal may be by chance
    for (int i = 0; i < 20; ++i) {
      BytesWriter writer(bytes);
      const Status status = pair.a->post_lent(to_b, writer);
      EXPECT_TRUE(status.ok() || status.again());
      EXPECT_EQ(writer.writes, status.ok() ? 1 : 0);
      if (status.ok()) return true;
      a->poll();
    }
    return false;
  };
  while (accepted < 20000 && post()) ++accepted;
  ASSERT_GT(accepted, 0u);
  ASSERT_LT(accepted, 20000u) << "no back-pressure";
  ASSERT_TRUE(pump([&] { return b->received.size() == accepted; }));
  for (const auto& packet : b->received) ASSERT_TRUE(packet.bytes == bytes);
  ASSERT_TRUE(pump(post));
  ASSERT_TRUE(pump([&] { return b->received.size() == accepted + 1; }));
}

TEST_P(DriverConformance, NothingIsLentForAConnectionThatEnded) {
  establish();
  if (pair.a->link(to_b).lent_bytes == 0) GTEST_SKIP() << "this fabric lends no memory";
  const Bytes bytes = pattern(3 * pair.a->caps().nearest().piece_bytes, 4);
  BytesWriter begun(bytes), begins(bytes);
  ASSERT_TRUE(pump([&] { return pair.a->post_lent(to_b, begun).ok(); }));
  pair.a->disconnect(to_b);
  EXPECT_TRUE(pair.a->post_lent(to_b, begun).error());
  EXPECT_EQ(begun.writes, 1);
  ASSERT_TRUE(pump([&] { return b->disconnected.count(to_a) == 1; }));
  EXPECT_TRUE(b->received.empty()) << "a packet without its end";
  EXPECT_TRUE(pair.b->post_lent(to_a, begins).error());
  EXPECT_EQ(begins.writes, 0);
}

TEST_P(DriverConformance, NothingIsLentForThePeerThatDied) {
  establish();
  if (pair.a->link(to_b).lent_bytes == 0) GTEST_SKIP() << "this fabric lends no memory";
  const Bytes bytes = pattern(3 * pair.a->caps().nearest().piece_bytes, 4);
  BytesWriter begun(bytes);
  ASSERT_TRUE(pump([&] { return pair.a->post_lent(to_b, begun).ok(); }));
  b.reset();
  if (pair.kill_b) {
    pair.kill_b();
  } else {
    pair.b.reset();
  }
  ASSERT_TRUE(pump([&] { return a->disconnected.count(to_b) == 1; }));
  EXPECT_TRUE(pair.a->post_lent(to_b, begun).error());
  EXPECT_EQ(begun.writes, 1);
}

}  // namespace
}  // namespace mad
