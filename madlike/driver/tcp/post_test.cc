// What may be posted: to connections that stand, within the limits that the driver publishes.
#include <algorithm>

#include "madlike/driver/tcp/raw_peer.h"

namespace mad {
namespace {

class TcpPost : public TcpRawPeer {
 protected:
  /// What posting `packet` says, as a packet or as a write.
  Status post(bool write, ConnectionId to, const std::vector<Segment>& packet) {
    const SegmentList list{packet.data(), packet.size()};
    return write ? engine_->post_write(to, list, {0, 1}, 0, nullptr)
                 : engine_->post_send(to, list, nullptr);
  }
};

constexpr ConnectionId kNobody = 4711;

/// A packet of zeros.
class Zeros final : public PacketWriter {
 public:
  explicit Zeros(std::size_t bytes) : PacketWriter(bytes) {}

 private:
  void write_next(Segment room) override { std::fill_n(room.begin(), room.size, std::byte{0}); }
};

TEST_F(TcpPost, PacketsAndWritesUpToTheLimitsAreTakenAndNoOthers) {
  enter();
  const DriverCaps& caps = engine_->caps();
  Bytes bytes(std::max(caps.nearest().max_write_bytes, caps.nearest().max_packet_bytes) + 1);
  for (const bool write : {false, true}) {
    const std::size_t most =
        write ? caps.nearest().max_write_bytes : caps.nearest().max_packet_bytes;
    const std::size_t most_segments = write ? caps.nearest().max_write_iov : caps.nearest().max_iov;
    const std::vector<Segment> too_many(most_segments + 1, {bytes.data(), 1});
    for (const auto& packet : {std::vector<Segment>{{bytes.data(), most + 1}}, too_many,
                               std::vector<Segment>{{bytes.data(), 0}}, std::vector<Segment>{}}) {
      EXPECT_EQ(post(write, connection_, packet).code(), StatusCode::kInvalidArgument)
          << (write ? "write of " : "packet of ") << packet.size() << " segments";
    }
  }
  EXPECT_EQ(read_some(1000), 0u) << "what is refused may not leave";
  for (const bool write : {false, true}) {
    const std::size_t most =
        write ? caps.nearest().max_write_bytes : caps.nearest().max_packet_bytes;
    std::vector<Segment> largest(write ? caps.nearest().max_write_iov : caps.nearest().max_iov,
                                 {bytes.data(), 1});
    largest.back().size = most - largest.size() + 1;
    EXPECT_FALSE(post(write, connection_, largest).error());
  }
}

TEST_F(TcpPost, NothingIsPostedToAConnectionThatDoesNotStand) {
  enter();
  Bytes bytes(8);
  const std::vector<Segment> packet{{bytes.data(), bytes.size()}};
  const auto other = open_tcp(on_lo());
  ASSERT_TRUE(other.ok());
  const Bytes& address = (*other)->address();
  const auto calling = engine_->connect(address.data(), address.size());
  ASSERT_TRUE(calling.ok());
  for (const bool write : {false, true}) {
    EXPECT_EQ(post(write, kNobody, packet).code(), StatusCode::kClosed);
    EXPECT_TRUE(post(write, *calling, packet).again()) << "later it can be";
  }
  engine_->disconnect(connection_);
  for (const bool write : {false, true}) {
    EXPECT_EQ(post(write, connection_, packet).code(), StatusCode::kClosed);
  }
}

TEST_F(TcpPost, ShortPacketsUpToTheLimitAreTakenOfConnectionsThatStand) {
  enter();
  const std::size_t most = engine_->link(connection_).short_bytes;
  Zeros none(0), longest(most), too_long(most + 1), to_nobody(8), late(8);
  EXPECT_EQ(engine_->post_lent(connection_, none).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->post_lent(connection_, too_long).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(engine_->post_lent(kNobody, to_nobody).code(), StatusCode::kClosed);
  EXPECT_EQ(read_some(1000), 0u) << "what is refused may not leave";
  EXPECT_TRUE(engine_->post_lent(connection_, longest).ok());
  EXPECT_EQ(longest.left(), 0u);
  EXPECT_GT(read_some(1000), 0u);
  engine_->disconnect(connection_);
  EXPECT_EQ(engine_->post_lent(connection_, late).code(), StatusCode::kClosed);
}

// Memory would stay exposed, though nobody can write there.
TEST_F(TcpPost, NothingIsExposedToAConnectionThatIsOver) {
  enter();
  Bytes bytes(8);
  const Segment memory{bytes.data(), bytes.size()};
  EXPECT_EQ(engine_->expose(kNobody, memory).status().code(), StatusCode::kClosed);
  socket_.close();
  expect_end(StatusCode::kPeerFailed);
  EXPECT_EQ(engine_->expose(connection_, memory).status().code(), StatusCode::kPeerFailed);
  dial();
  enter();
  engine_->disconnect(connection_);
  EXPECT_EQ(engine_->expose(connection_, memory).status().code(), StatusCode::kClosed);
}

}  // namespace
}  // namespace mad
