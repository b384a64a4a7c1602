// What polls find, and what is left to do when a caller wants to sleep.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include <cstring>
#include <map>

#include "madlike/driver/tcp/raw_peer.h"

namespace mad {
namespace {

/// One run.
class Memory : public ScatteredMemory {
 public:
  explicit Memory(std::size_t size) : bytes(size) {}
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out,
                   std::size_t /*capacity*/) override {
    *out = {bytes.data() + offset, static_cast<std::size_t>(size)};
    return 1;
  }
  Bytes bytes;
};

class TcpProgress : public TcpRawPeer {
 protected:
  static constexpr std::size_t kPiece = 1024;

  void SetUp() override {
    TcpOptions options = on_lo();
    options.piece_bytes = kPiece;
    open(options);
    enter();
  }

  /// Sends the record and receives it, or its first piece; the bytes that are still to come.
  std::size_t receive(const Bytes& bytes) {
    send(bytes);
    Completion piece;
    EXPECT_TRUE(poll_one(&piece));
    EXPECT_EQ(piece.kind, Completion::Kind::kReceived);
    if (piece.buffer != nullptr) engine_->release(piece.buffer);
    return piece.rest;
  }
};

TEST_F(TcpProgress, WhatIsInMemoryKeepsACallerAwake) {
  Bytes two = packed(Bytes(8));
  two.insert(two.end(), two.begin(), two.end());
  ASSERT_EQ(receive(two), 0u);
  EXPECT_FALSE(may_sleep()) << "no socket wakes it for the second packet";
  EXPECT_TRUE(pump([&] { return received_.size() == 8; }));
  EXPECT_TRUE(may_sleep());
}

TEST_F(TcpProgress, ARequestThatFailedAtOnceKeepsACallerAwake) {
  DoorAddress nowhere = address_;
  sockaddr_in name{};
  std::memcpy(&name, nowhere.socket.data(), sizeof(name));
  name.sin_addr.s_addr = htonl(INADDR_BROADCAST);
  std::memcpy(nowhere.socket.data(), &name, sizeof(name));
  const Bytes address = nowhere.bytes();
  ASSERT_TRUE(pump([&] { return may_sleep(); }));
  connected_ = false;
  ASSERT_TRUE(engine_->connect(address.data(), address.size()).ok());
  EXPECT_FALSE(may_sleep());
  EXPECT_TRUE(pump([&] { return !end_.ok(); }));
  EXPECT_FALSE(connected_);
  EXPECT_TRUE(pump([&] { return may_sleep(); }));
}

TEST_F(TcpProgress, TheRestOfAPacketIsPlacedAsLongAsNoneOfItWasHandedOut) {
  Memory memory(8 * kPiece);
  EXPECT_TRUE(engine_->place_rest(connection_, memory, 0).again()) << "no packet has come";
  EXPECT_TRUE(engine_->place_rest(4711, memory, 0).again()) << "no such connection";
  ASSERT_EQ(receive(packed(Bytes(100))), 0u);
  EXPECT_TRUE(engine_->place_rest(connection_, memory, 0).again()) << "it has no rest";

  const Bytes packet = packed(pattern(6 * kPiece));
  const auto part = [&](std::size_t first, std::size_t end) {
    return Bytes(packet.begin() + static_cast<std::ptrdiff_t>(first * kPiece),
                 packet.begin() + static_cast<std::ptrdiff_t>(end * kPiece));
  };
  ASSERT_GT(receive(part(0, 2)), 0u);
  ASSERT_GT(receive(part(2, 3)), 0u);
  EXPECT_TRUE(engine_->place_rest(connection_, memory, 0).again()) << "its second piece is out";
  send(part(3, 6));
  send(Bytes(packet.begin() + 6 * kPiece, packet.end()));
  std::size_t left = 3 * kPiece;
  while (left > 0) {
    Completion piece;
    ASSERT_TRUE(poll_one(&piece));
    left = piece.rest;
    engine_->release(piece.buffer);
  }
  EXPECT_TRUE(memory.bytes == Bytes(8 * kPiece));
}

TEST_F(TcpProgress, NoRestIsPlacedForAConnectionThatWasLeft) {
  Memory memory(4 * kPiece);
  const Bytes packet = packed(pattern(4 * kPiece));
  ASSERT_GT(receive(Bytes(packet.begin(), packet.begin() + 2 * kPiece)), 0u);
  engine_->disconnect(connection_);
  EXPECT_TRUE(engine_->place_rest(connection_, memory, 0).again());
  send(Bytes(packet.begin() + 2 * kPiece, packet.end()));
  for (int i = 0; i < 100; ++i) {
    Completion news;
    EXPECT_EQ(engine_->poll(&news, 1), 0u);
  }
  EXPECT_TRUE(memory.bytes == Bytes(4 * kPiece));
}

// Each of three always has more in memory than a poll of one packet takes.
TEST_F(TcpProgress, WhoAlwaysHasSomethingKeepsNobodyElseWaiting) {
  constexpr std::size_t kPeers = 3, kPackets = 1000, kPolls = 100;
  const Bytes one = packed(Bytes(8));
  Bytes many;
  for (std::size_t i = 0; i < kPackets; ++i) many.insert(many.end(), one.begin(), one.end());
  std::vector<TcpSocket> sockets;
  for (std::size_t i = 1; i < kPeers; ++i) {
    sockets.push_back(std::move(socket_));
    dial();
    enter();
  }
  sockets.push_back(std::move(socket_));
  for (TcpSocket& socket : sockets) ASSERT_TRUE(tcp_send(socket.fd(), many.data(), many.size()));
  std::map<ConnectionId, std::size_t> packets;
  for (std::size_t i = 0; i < kPolls; ++i) {
    Completion news;
    ASSERT_EQ(engine_->poll(&news, 1), 1u);
    ++packets[news.connection];
    engine_->release(news.buffer);
  }
  ASSERT_EQ(packets.size(), kPeers);
  for (const auto& [connection, count] : packets) {
    EXPECT_GT(count, kPolls / kPeers / 2) << "connection " << connection;
  }
}

// A read that finds the end of the stream leaves errno as it was.
TEST_F(TcpProgress, APeersEndIsNotTakenForAnInterruptedCall) {
  socket_.close();
  EXPECT_TRUE(pump([&] {
    errno = EINTR;
    return end_.error();
  }));
  EXPECT_EQ(end_.code(), StatusCode::kPeerFailed);
}

}  // namespace
}  // namespace mad
