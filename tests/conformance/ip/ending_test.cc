// How connections end: peers that leave, that take nothing more, and what is left of them.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>

#include "tests/conformance/ip/engine.h"

namespace mad {
namespace {

TEST_P(IpDriverTest, ConnectsAgainAfterDisconnecting) {
  Engine a(options());
  Engine b(options());
  const std::vector<Engine*> both{&a, &b};
  for (std::size_t round = 0; round < 10; ++round) {
    Engine& active = round % 2 ? a : b;
    Engine& passive = round % 2 ? b : a;
    const ConnectionId id = active.connect(passive);
    EXPECT_EQ(active.station.disconnected.count(id), 0u);
    Bytes bytes = number_of(round);
    ASSERT_FALSE(send(active, id, bytes, both).error());
    ASSERT_TRUE(pump(both, [&] { return passive.station.received.size() == 1; }));
    const ConnectionId theirs = passive.station.received[0].connection;
    passive.station.received.clear();
    active.driver->disconnect(id);
    ASSERT_TRUE(pump(both, [&] { return passive.station.disconnected.count(theirs) == 1; }));
    EXPECT_EQ(passive.station.disconnected[theirs].code(), StatusCode::kClosed);
  }
}

TEST_P(IpDriverTest, DisconnectThenCloseDeliversEverything) {
  Engine b(options());
  Bytes bytes(12 * 1024, std::byte{7});
  std::size_t accepted = 0;
  ConnectionId theirs = 0;
  std::atomic<bool> closed{false};
  std::thread receiver;
  {
    EngineOptions patient = options();
    patient.linger = std::chrono::seconds(60);
    Engine a(patient);
    const ConnectionId to_b = a.connect(b);
    ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
    theirs = b.connect(a);
    const Segment segment{bytes.data(), bytes.size()};
    while (!a.driver->post_send(to_b, {&segment, 1}, &bytes).again()) ++accepted;
    a.driver->disconnect(to_b);
    // The engine closes at once; its peer reads meanwhile.
    receiver = std::thread(
        [&] { pump({&b}, [&] { return closed && b.station.disconnected.count(theirs) == 1; }); });
  }
  closed = true;
  receiver.join();
  EXPECT_GT(accepted, 0u);
  EXPECT_EQ(b.station.received.size(), accepted);
  EXPECT_EQ(b.station.disconnected[theirs].code(), StatusCode::kClosed);
}

// What b finds when it looks at last: requests of engines that left, died or asked several times.
TEST_P(IpDriverTest, RequestsThatWereGivenUpLeaveNothingBehind) {
  constexpr int kRequests = 30;
  EngineOptions patient = options();
  patient.connect_timeout = patient.close_timeout = std::chrono::hours(1);  // no ghost ends by them
  Engine b(patient);
  const std::size_t files = open_files();
  for (int i = 0; i < kRequests; ++i) {
    Engine a(options());
    for (int times = 0; times <= i % 3; ++times) {
      const ConnectionId to_b = a.connect(b);
      pump(
          {&a}, [] { return false; }, milliseconds(2));
      if (i % 2 == 0) a.driver->disconnect(to_b);
    }
  }
  pump(
      {&b}, [] { return false; }, milliseconds(200));
  const auto nothing_is_left = [&] {
    return b.station.disconnected.size() == b.station.connected.size() && open_files() <= files;
  };
  EXPECT_TRUE(pump({&b}, nothing_is_left))
      << b.station.connected.size() << " ghosts, " << b.station.disconnected.size() << " ended, "
      << open_files() - files << " files left";
  EXPECT_TRUE(b.station.received.empty());
}

/// Takes what there is; whether `kind` was among it, and of which connection.
bool heard(Driver& driver, Completion::Kind kind, ConnectionId* connection) {
  std::array<Completion, 8> news;
  bool found = false;
  const std::size_t count = driver.poll(news.data(), news.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (news[i].kind == Completion::Kind::kReceived) driver.release(news[i].buffer);
    if (news[i].kind != kind) continue;
    found = true;
    *connection = news[i].connection;
  }
  return found;
}

TEST_P(IpDriverTest, ConnectionsThatWereLeftCostNothing) {
  const std::unique_ptr<Driver> server = open(options());
  const std::unique_ptr<Driver> client = open(options());
  const Bytes& address = server->address();
  Bytes bytes(1000, std::byte{1});
  const Segment segment{bytes.data(), bytes.size()};
  const auto come_and_go = [&] {
    const ConnectionId ours = client->connect(address.data(), address.size()).value();
    ConnectionId theirs = 0, ignored = 0;
    while (!heard(*server, Completion::Kind::kConnected, &theirs)) {
      (void)heard(*client, Completion::Kind::kConnected, &ignored);
    }
    Status status = StatusCode::kAgain;
    while (status.again()) {
      status = client->post_send(ours, {&segment, 1}, &bytes);
      (void)heard(*client, Completion::Kind::kConnected, &ignored);
    }
    EXPECT_FALSE(status.error());
    client->disconnect(ours);
    while (!heard(*server, Completion::Kind::kDisconnected, &theirs)) {
      (void)heard(*client, Completion::Kind::kSent, &ignored);
    }
    server->disconnect(theirs);
    EXPECT_TRUE(server->post_send(theirs, {&segment, 1}, &bytes).error());
    for (int i = 0; i < 300; ++i) (void)heard(*client, Completion::Kind::kSent, &ignored);
    for (int i = 0; i < 100; ++i) (void)heard(*server, Completion::Kind::kSent, &ignored);
    EXPECT_TRUE(client->post_send(ours, {&segment, 1}, &bytes).error());
  };
  const auto heap_bytes = [] { return mallinfo2().uordblks; };
  for (int i = 0; i < 50; ++i) come_and_go();
  const std::size_t before = heap_bytes();
  for (int i = 0; i < 200; ++i) come_and_go();
  EXPECT_LT(heap_bytes(), before + 200 * 50)
      << "bytes, where records would be hundreds of thousands";
}

MAD_FOR_ALL_FABRICS_OVER_IP(IpDriverTest);

TEST_P(IpDriverTest, AClosingConnectionWhosePeerTakesNothingEnds) {
  EngineOptions options = this->options();
  options.close_timeout = milliseconds(200);
  Engine a(options);
  Engine b(options);
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  const std::size_t files = open_files();
  Bytes bytes(12 * 1024, std::byte{7});
  const std::size_t pending = fill(a, to_b, bytes).pending;
  EXPECT_TRUE(!sends_halves() || a.station.finished_count < pending);
  const auto started = Clock::now();
  a.driver->disconnect(to_b);
  EXPECT_TRUE(
      pump({&a}, [&] { return a.station.finished_count == pending && open_files() < files; }))
      << a.station.finished_count << " of " << pending;
  EXPECT_GE(Clock::now() - started, milliseconds(150));
  if (pending > 0) {
    EXPECT_EQ(a.station.finished_status[&bytes].code(), StatusCode::kClosed);
  }
}

TEST_P(IpDriverTest, AClosingConnectionWhosePeerIsSlowIsWaitedFor) {
  EngineOptions options = this->options();
  options.close_timeout = milliseconds(3000);
  Engine a(options);
  Engine b(options);
  const ConnectionId to_b = a.connect(b);
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  Bytes bytes(12 * 1024, std::byte{7});
  const std::size_t accepted = fill(a, to_b, bytes).accepted;
  a.driver->disconnect(to_b);
  // A few packets at a time, and all in all for longer than the limit.
  std::size_t taken = 0;
  while (b.station.received.size() < accepted && b.station.disconnected.empty()) {
    taken += accepted / 6 + 1;
    ASSERT_TRUE(pump({&b}, [&] {
      return b.station.received.size() >= std::min(taken, accepted) ||
             !b.station.disconnected.empty();
    }));
    pump(
        {&a}, [] { return false; }, milliseconds(750));
  }
  EXPECT_EQ(b.station.received.size(), accepted);
  ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.disconnected.size() == 1; }));
  EXPECT_EQ(b.station.disconnected.begin()->second.code(), StatusCode::kClosed);
}

TEST_P(IpDriverTest, WhatArrivedIsReceivedThoughItsSenderIsGoneAndRefusesAnswers) {
  const EngineOptions options = this->options();
  auto a = std::make_unique<Engine>(options);
  Engine b(options);
  const ConnectionId to_b = a->connect(b);
  ASSERT_TRUE(pump({a.get(), &b}, [&] { return a->station.connected.count(to_b) == 1; }));
  Bytes bytes(12 * 1024, std::byte{7});
  const std::size_t accepted = fill(*a, to_b, bytes).accepted;
  const bool can_tell = options.fabric == "tcp";
  ASSERT_NE(a->driver->arrived(to_b), can_tell) << "b's socket is full";
  if (!can_tell) GTEST_SKIP() << "this fabric cannot tell";
  // Not all of it is received when the last of it arrives.
  ASSERT_TRUE(pump({a.get(), &b}, [&] { return a->driver->arrived(to_b); }));
  a.reset();
  const ConnectionId to_a = b.station.connected.begin()->first;
  const Segment answer{bytes.data(), bytes.size()};
  (void)b.driver->post_send(to_a, {&answer, 1}, &bytes);
  EXPECT_TRUE(pump({&b}, [&] { return b.station.disconnected.size() == 1; }));
  EXPECT_EQ(b.station.received.size(), accepted);
}

}  // namespace
}  // namespace mad
