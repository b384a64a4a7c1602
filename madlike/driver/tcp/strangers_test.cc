// Who may connect: engines that were told the address, and nobody else.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "gtest/gtest.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/tcp/record.h"
#include "madlike/driver/tcp/tcp.h"

namespace mad {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr DoorMagic kMagic{'M', 'A', 'D', 'T', 'C', 'P'};

// An engine, and a raw socket that was dialed to it.
class TcpStrangers : public ::testing::Test {
 protected:
  void SetUp() override {
    TcpOptions options;
    options.interface = "lo";
    options.stranger_timeout = milliseconds(300);
    auto opened = open_tcp(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(*opened);
    auto parsed = DoorAddress::parse(engine_->address().data(), engine_->address().size());
    ASSERT_TRUE(parsed.ok());
    address_ = std::move(*parsed);
    dial();
  }

  void dial() {
    auto dialed = tcp_dial(address_.socket);
    ASSERT_TRUE(dialed.ok());
    socket_ = std::move(*dialed);
    pollfd connected{socket_.fd(), POLLOUT, 0};
    ASSERT_EQ(::poll(&connected, 1, 5000), 1);
  }

  /// Polls the engine until `done` holds; false after five seconds.
  bool pump(const std::function<bool()>& done) {
    const auto deadline = Clock::now() + milliseconds(5000);
    while (!done()) {
      Completion news;
      if (engine_->poll(&news, 1) == 1) {
        if (news.kind == Completion::Kind::kReceived) {
          received_ = std::string(reinterpret_cast<char*>(news.bytes.data), news.bytes.size);
          engine_->release(news.buffer);
        }
        if (news.kind == Completion::Kind::kConnected) {
          connected_ = true;
          connection_ = news.connection;
        }
        if (news.kind == Completion::Kind::kDisconnected) end_ = news.status;
      }
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  bool closed_by_engine() {
    DoorReader reader;
    reader.expect(1);
    return pump([&] { return reader.read(socket_.fd()) == DoorReader::Outcome::kEnded; });
  }

  /// By a verdict that who does not know the secret cannot open.
  bool refused_by_engine() {
    DoorReader reader;
    EXPECT_TRUE(read(&reader, DoorVerdict::kBytes));
    EXPECT_FALSE(DoorVerdict::open(reader.bytes(), key_));
    return closed_by_engine();
  }

  bool read(DoorReader* reader, std::size_t size) {
    reader->expect(size);
    return pump([&] { return reader->read(socket_.fd()) == DoorReader::Outcome::kComplete; });
  }

  template <std::size_t kSize>
  void send(const std::array<std::byte, kSize>& bytes) {
    ASSERT_TRUE(tcp_send(socket_.fd(), bytes.data(), bytes.size()));
  }

  /// Asks, and answers as one that knows `secret`.
  void knock(const DoorSecret& secret) {
    const DoorNonce nonce = random_nonce();
    request_ = DoorHello{kMagic, DoorHello::Kind::kRequest, nonce}.pack();
    send(request_);
    DoorReader reader;
    ASSERT_TRUE(read(&reader, DoorHello::kBytes));
    const auto theirs = DoorHello::parse(reader.bytes(), kMagic, DoorHello::Kind::kChallenge);
    ASSERT_TRUE(theirs);
    key_ = session_key(secret, nonce, *theirs);
    DoorAddress own = address_;
    own.secret = random_secret();  // another engine's
    answer_ = DoorAnswer{own}.seal(key_);
    send(answer_);
  }

  void enter() {
    knock(address_.secret);
    DoorReader reader;
    ASSERT_TRUE(read(&reader, DoorVerdict::kBytes));
    const auto verdict = DoorVerdict::open(reader.bytes(), key_);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->kind, DoorVerdict::Kind::kAccepted);
    EXPECT_TRUE(pump([&] { return connected_; }));
  }

  void expect_end(StatusCode code) {
    EXPECT_TRUE(pump([&] { return end_.error(); }));
    EXPECT_EQ(end_.code(), code) << end_.message();
  }

  std::unique_ptr<Driver> engine_;
  DoorAddress address_;
  TcpSocket socket_;
  DoorKey key_{};
  std::array<std::byte, DoorHello::kBytes> request_{};  // what was sent
  std::array<std::byte, DoorAnswer::kBytes> answer_{};
  std::string received_;
  bool connected_ = false;
  ConnectionId connection_ = 0;
  Status end_;
};

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
    connected_ = false;
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
