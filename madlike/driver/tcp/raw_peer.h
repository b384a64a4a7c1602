// What tests of the tcp driver have in common: an engine, and a raw socket that plays its peer.
#ifndef MADLIKE_DRIVER_TCP_RAW_PEER_H_
#define MADLIKE_DRIVER_TCP_RAW_PEER_H_

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "madlike/driver/door/handshake.h"
#include "madlike/driver/door/sockets.h"
#include "madlike/driver/tcp/record.h"
#include "madlike/driver/tcp/record_bytes.h"
#include "madlike/driver/tcp/tcp.h"
#include "tests/support/bytes.h"

namespace mad {

/// An engine, and a raw socket that was dialed to it.
class TcpRawPeer : public ::testing::Test {
 protected:
  using Clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  static constexpr DoorMagic kMagic{'M', 'A', 'D', 'T', 'C', 'P'};

  static TcpOptions on_lo() {
    TcpOptions options;
    options.interface = "lo";
    options.stranger_timeout = std::chrono::hours(1);  // it ends nothing that tests wait for
    return options;
  }

  void SetUp() override { open(on_lo()); }

  /// The engine, in place of the one there is.
  void open(const TcpOptions& options) {
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

  /// Polls the engine until `done` holds; false after a minute.
  bool pump(const std::function<bool()>& done) {
    const auto deadline = Clock::now() + milliseconds(40000);
    while (!done()) {
      Completion news;
      if (engine_->poll(&news, 1) == 1) take(news);
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  /// Polls the engine until there is a completion, which is not released; false after a minute.
  bool poll_one(Completion* news) {
    const auto deadline = Clock::now() + milliseconds(40000);
    while (engine_->poll(news, 1) == 0) {
      if (Clock::now() > deadline) return false;
    }
    return true;
  }

  /// Whether watch() lets the engine's caller sleep.
  bool may_sleep() {
    std::vector<pollfd> descriptors;
    return engine_->watch(&descriptors).ok();
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

  /// Takes at most `most` bytes of what is there off the raw socket; how many.
  std::size_t read_some(std::size_t most, Bytes* to = nullptr) {
    Bytes bytes(most);
    const ssize_t got = recv(socket_.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got <= 0) return 0;
    if (to != nullptr) to->insert(to->end(), bytes.begin(), bytes.begin() + got);
    return static_cast<std::size_t>(got);
  }

  /// Whether the engine has said all and nothing of it is left.
  bool heard_all() {
    std::byte next;
    return recv(socket_.fd(), &next, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }

  template <typename Array>
  void send(const Array& bytes) {
    ASSERT_TRUE(tcp_send(socket_.fd(), bytes.data(), bytes.size()));
  }

  static Bytes packed(const Bytes& packet) {
    return packed_record(
        {TcpRecord::Kind::kPacket, static_cast<std::uint32_t>(packet.size()), 0, 0}, packet);
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
    connected_ = false;
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
  std::size_t sent_ = 0;  // packets and writes that are over
  Status sent_status_;    // of the last one
  bool connected_ = false;
  ConnectionId connection_ = 0;
  Status end_;

 private:
  void take(const Completion& news) {
    switch (news.kind) {
      case Completion::Kind::kReceived:
        received_ = std::string(reinterpret_cast<char*>(news.bytes.data), news.bytes.size);
        if (news.buffer != nullptr) engine_->release(news.buffer);
        break;
      case Completion::Kind::kConnected:
        connected_ = true;
        connection_ = news.connection;
        break;
      case Completion::Kind::kDisconnected:
        end_ = news.status;
        break;
      case Completion::Kind::kSent:
      case Completion::Kind::kWritten:
        ++sent_;
        sent_status_ = news.status;
        break;
    }
  }
};

}  // namespace mad

#endif  // MADLIKE_DRIVER_TCP_RAW_PEER_H_
