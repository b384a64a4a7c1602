// Who may connect: engines that were told the address, and nobody else.
#include <array>
#include <cstring>

#include "madlike/driver/tcp/raw_peer.h"

namespace mad {
namespace {

class TcpStrangers : public TcpRawPeer {};

TEST_F(TcpStrangers, WhoKnowsTheSecretComesIn) {
  enter();
  std::array<std::byte, 16> packet{};
  encode_record({TcpRecord::Kind::kPacket, 5, 0, 0}, packet.data());
  std::memcpy(packet.data() + TcpRecord::kFixedBytes, "hello", 5);
  send(packet);
  EXPECT_TRUE(pump([&] { return received_ == "hello"; }));
}

TEST_F(TcpStrangers, WhoDoesNotIsRefused) {
  knock(random_secret());
  EXPECT_TRUE(refused_by_engine());
  EXPECT_FALSE(connected_);
}

TEST_F(TcpStrangers, AnAnswerIsGoodOnce) {
  enter();
  connected_ = false;
  dial();
  send(request_);
  DoorReader reader;
  ASSERT_TRUE(read(&reader, DoorHello::kBytes));
  send(answer_);
  EXPECT_TRUE(refused_by_engine());
  EXPECT_FALSE(connected_);
}

TEST_F(TcpStrangers, WhoSaysNothingIsClosedInTime) {
  TcpOptions options = on_lo();
  options.stranger_timeout = milliseconds(300);
  open(options);
  const auto started = Clock::now();
  EXPECT_TRUE(closed_by_engine());
  EXPECT_GE(Clock::now() - started, milliseconds(250));
}

TEST_F(TcpStrangers, WhatNoEngineSendsEndsTheConnection) {
  enter();
  std::array<std::byte, 16> foreign{};
  std::memcpy(foreign.data(), "GET / HTTP/1.1\r\n", foreign.size());
  send(foreign);
  expect_end(StatusCode::kProtocol);
}

TEST_F(TcpStrangers, WritesOutsideOfExposedMemoryEndTheConnection) {
  enter();
  std::array<std::byte, TcpRecord::kMostBytes + 8> write{};
  encode_record({TcpRecord::Kind::kWrite, 8, 4711, 0}, write.data());
  send(write);
  expect_end(StatusCode::kProtocol);
}

TEST_F(TcpStrangers, AWriteMayNotLeaveItsMemory) {
  std::uint64_t words[3] = {1, 1, 1};
  const std::uint64_t offsets[] = {8, 1, ~std::uint64_t{0}};  // beyond, across the end, overflowing
  for (const std::uint64_t offset : offsets) {
    end_ = Status();
    dial();
    enter();
    const auto token = engine_->expose(connection_, {&words[1], sizeof(words[1])});
    ASSERT_TRUE(token.ok());
    std::array<std::byte, TcpRecord::kMostBytes + 8> write{};
    encode_record({TcpRecord::Kind::kWrite, 8, token->key, token->address + offset}, write.data());
    send(write);
    expect_end(StatusCode::kProtocol);
    for (const std::uint64_t word : words) EXPECT_EQ(word, 1u) << offset;
    engine_->withdraw(connection_, *token);
  }
}

}  // namespace
}  // namespace mad
