// What an engine makes of errors of its provider.
#include <netinet/in.h>

#include <cstring>

#include "madlike/driver/ip/address.h"
#include "tests/conformance/ofi/engine.h"

namespace mad {
namespace {

constexpr int kErrors[] = {-FI_EIO, -FI_ENOTCONN};  // before and behind -FI_EAGAIN

/// Where nobody is, and nobody is asked as long as the provider connects nowhere.
Bytes address_of(std::uint16_t port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return *to_address(&name, sizeof(name));
}

TEST_F(OfiPair, APacketThatFailsIsNoneThatWaits) {
  Bytes bytes(8);
  for (const int error : kErrors) {
    a.provider.send = error;
    EXPECT_EQ(post(bytes).code(), StatusCode::kPeerFailed);
  }
  a.provider.send = -FI_EAGAIN;
  for (std::size_t i = 0; i < 2 * OfiConnection::kQueueDepth; ++i) {
    EXPECT_TRUE(post(bytes).again());
  }
  a.provider.send = 0;
  EXPECT_TRUE(post(bytes).in_progress());
  EXPECT_TRUE(pump(both, [&] { return b.station.received.size() == 1; }));
}

TEST_F(OfiPair, AWriteThatFailsIsNoneThatWaits) {
  Bytes memory(8), bytes(8, std::byte{1});
  const auto token = b.driver->expose(to_a, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  const Segment segment{bytes.data(), bytes.size()};
  const auto write = [&] { return a.driver->post_write(to_b, {&segment, 1}, *token, 0, &bytes); };
  for (const int error : kErrors) {
    a.provider.write = error;
    EXPECT_EQ(write().code(), StatusCode::kPeerFailed);
  }
  a.provider.write = -FI_EAGAIN;
  for (std::size_t i = 0; i < 2 * OfiConnection::kQueueDepth; ++i) EXPECT_TRUE(write().again());
  a.provider.write = 0;
  EXPECT_TRUE(write().in_progress());
  EXPECT_TRUE(pump(both, [&] { return a.station.finished.count(&bytes) == 1; }));
  EXPECT_TRUE(memory == bytes);
  b.driver->withdraw(to_a, *token);
}

TEST_F(OfiPair, AConnectionWhoseLastPacketCannotLeaveEnds) {
  for (const int error : kErrors) {
    a.provider.send = error;
    a.driver->disconnect(to_b);
    ASSERT_TRUE(pump({&a}, [&] { return a.driver->connections() == 0; })) << error;
    a.provider.send = 0;
    ASSERT_TRUE(pump(both, [&] { return b.station.disconnected.size() == 1; }));
    b.driver->disconnect(to_a);
    b.station.disconnected.clear();
    b.station.connected.clear();
    SetUp();
  }
}

TEST_F(OfiPair, AConnectionWhoseLastPacketFailsEnds) {
  a.provider.swallows = true;
  a.driver->disconnect(to_b);
  ASSERT_EQ(a.provider.swallowed.size(), 1u);
  for (int i = 0; i < 1000; ++i) a.station.poll();
  EXPECT_EQ(a.driver->connections(), 1u);
  a.provider.failed.push_back(a.provider.swallowed[0]);
  EXPECT_TRUE(pump({&a}, [&] { return a.driver->connections() == 0; }));
}

// The provider names operations by their place in memory, so their record stays until the last is
// back.
TEST_F(OfiPair, WhatTheProviderGivesBackLateIsToldOnceAndRemembered) {
  a.provider.holds = true;
  Bytes bytes(8);
  ASSERT_TRUE(post(bytes).in_progress());
  a.driver->disconnect(to_b);
  b.driver.reset();
  ASSERT_TRUE(pump({&a}, [&] { return a.station.finished_count == 1; }));
  EXPECT_EQ(a.station.finished_status[&bytes].code(), StatusCode::kClosed) << "we left";
  for (int i = 0; i < 1000; ++i) a.station.poll();
  EXPECT_EQ(a.driver->connections(), 1u);
  a.provider.holds = false;
  EXPECT_TRUE(pump({&a}, [&] { return a.driver->connections() == 0; }));
  EXPECT_EQ(a.station.finished_count, 1u);
}

/// A connection that ends where it begins is told of in a poll.
void expect_no_connection(OfiEngine& engine, const Bytes& address, StatusCode code) {
  const ConnectionId id = engine.connect(address);
  EXPECT_TRUE(engine.watch().again()) << "who sleeps now does not hear of it";
  ASSERT_TRUE(pump({&engine}, [&] { return engine.station.disconnected.count(id) == 1; }));
  EXPECT_EQ(engine.station.disconnected[id].code(), code);
}

TEST(OfiFailing, WithoutAnEndpointThereIsNoConnection) {
  OfiEngine engine;
  engine.provider.endpoint = -FI_ENOMEM;
  expect_no_connection(engine, address_of(4711), StatusCode::kNoMemory);
  engine.provider.endpoint = 0;
  engine.provider.enable = -FI_EIO;
  expect_no_connection(engine, address_of(4712), StatusCode::kInternal);
  engine.provider.enable = 0;
  engine.provider.connect = -FI_ENETUNREACH;
  expect_no_connection(engine, address_of(4713), StatusCode::kAgain);
}

TEST(OfiFailing, WhoCannotBeAcceptedMayAskAgain) {
  OfiEngine a, b;
  const ConnectionId to_b = a.connect(b);
  b.provider.accept = -FI_EIO;
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_TRUE(a.station.disconnected[to_b].error());
  EXPECT_TRUE(pump({&b}, [&] { return b.driver->connections() == 0; }));
  EXPECT_TRUE(b.station.connected.empty());
  b.provider.accept = 0;
  const ConnectionId again = a.connect(b);
  EXPECT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(again) == 1; }));
}

// The engine that is asked opens no endpoint for the request, and later can.
TEST(OfiFailing, WhoFindsNoEndpointForAPeerIsAskedAgain) {
  OfiEngine a, b;
  b.provider.endpoint = -FI_ENOMEM;
  const ConnectionId to_b = a.connect(b);
  for (int i = 0; i < 1000; ++i) {
    a.station.poll();
    b.station.poll();
  }
  b.provider.endpoint = 0;
  EXPECT_TRUE(pump({&a, &b}, [&] {
    return a.station.connected.count(to_b) == 1 && b.station.connected.size() == 1;
  }));
  EXPECT_TRUE(a.station.disconnected.empty());
}

TEST_F(OfiPair, MemoryThatCannotBeExposedIsNot) {
  Bytes memory(8);
  for (const int error : {-FI_EINVAL, -FI_ENOKEY}) {
    b.provider.expose = error;
    const auto token = b.driver->expose(to_a, {memory.data(), memory.size()});
    ASSERT_FALSE(token.ok());
    EXPECT_EQ(token.status().code(), StatusCode::kNoMemory);
  }
  b.driver->disconnect(to_a);  // in good order, as nothing is exposed
  ASSERT_TRUE(pump(both, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_EQ(a.station.disconnected[to_b].code(), StatusCode::kClosed);
}

// connect() takes events from the provider, so nothing wakes who is to hear of them.
TEST(OfiFailing, WhoHasEventsOfAPeerDoesNotSleep) {
  OfiEngine a, b;
  const ConnectionId to_a = b.connect(a);
  a.provider.connects_nowhere = true;
  for (std::uint16_t port = 1; port <= 100; ++port) {  // each is a file
    for (int i = 0; i < 20; ++i) b.station.poll();
    a.connect(address_of(port));
  }
  EXPECT_TRUE(a.watch().again());
  EXPECT_TRUE(pump({&a, &b}, [&] { return b.station.connected.count(to_a) == 1; }));
}

}  // namespace
}  // namespace mad
