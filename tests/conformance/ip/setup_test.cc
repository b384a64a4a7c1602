// How connections come: addresses, crossing requests, peers that never answer.
#include <unistd.h>

#include <cstring>

#include "tests/conformance/ip/raw_socket.h"

namespace mad {
namespace {

TEST(OfiOpen, UnknownProviderListsTheProviders) {
  OfiOptions options;
  options.provider = "carrier_pigeon";
  const Result<std::unique_ptr<Driver>> driver = open_ofi(options);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::kNotFound);
  const std::string sentence(driver.status().message());
  EXPECT_NE(sentence.find("carrier_pigeon"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(" tcp"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(" sockets"), std::string::npos) << sentence;
}

TEST(OfiOpen, OfAProviderWithoutConnectedEndpointsDatagramsAreUsed) {
  OfiOptions options;
  options.provider = "udp";
  options.interface = "lo";
  const Result<std::unique_ptr<Driver>> driver = open_ofi(options);
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  EXPECT_FALSE(driver.value()->caps().remote_write);
}

TEST_P(IpDriverTest, UnknownInterfaceListsTheInterfaces) {
  EngineOptions unknown = options();
  unknown.interface = "eth4711";
  const Result<std::unique_ptr<Driver>> driver = try_open(unknown);
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), StatusCode::kNotFound);
  const std::string sentence(driver.status().message());
  EXPECT_NE(sentence.find("eth4711"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find(" lo"), std::string::npos) << sentence;
}

TEST_P(IpDriverTest, AnEngineDoesNotConnectToItself) {
  Engine engine(options());
  const Bytes& address = engine.driver->address();
  const Result<ConnectionId> id = engine.driver->connect(address.data(), address.size());
  ASSERT_FALSE(id.ok());
  EXPECT_EQ(id.status().code(), StatusCode::kInvalidArgument);
}

TEST_P(IpDriverTest, EightEnginesTalkToEachOther) {
  constexpr std::size_t kEngines = 8;
  constexpr std::size_t kPackets = 20;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<Engine*> all;
  for (std::size_t i = 0; i < kEngines; ++i) {
    engines.push_back(std::make_unique<Engine>(options()));
    all.push_back(engines.back().get());
  }
  // Everybody asks everybody at once, so every pair crosses.
  std::vector<std::map<std::size_t, ConnectionId>> to(kEngines);
  for (std::size_t i = 0; i < kEngines; ++i) {
    for (std::size_t j = 0; j < kEngines; ++j) {
      if (i != j) to[i][j] = all[i]->connect(*all[j]);
    }
  }
  for (std::size_t packet = 0; packet < kPackets; ++packet) {
    for (std::size_t i = 0; i < kEngines; ++i) {
      for (std::size_t j = 0; j < kEngines; ++j) {
        if (i == j) continue;
        Bytes bytes = number_of(i * 1000 + packet);
        ASSERT_FALSE(send(*all[i], to[i][j], bytes, all).error());
      }
    }
  }
  ASSERT_TRUE(pump(all, [&] {
    for (Engine* engine : all) {
      if (engine->station.received.size() < (kEngines - 1) * kPackets) return false;
    }
    return true;
  }));
  for (std::size_t j = 0; j < kEngines; ++j) {
    std::map<ConnectionId, std::size_t> next;
    for (const auto& packet : all[j]->station.received) {
      std::size_t number = 0;
      std::memcpy(&number, packet.bytes.data(), sizeof(number));
      EXPECT_EQ(packet.connection, to[j][number / 1000]) << "another pair's connection";
      EXPECT_EQ(number % 1000, next[packet.connection]++) << "order";
    }
    EXPECT_TRUE(all[j]->station.disconnected.empty());
  }
}

TEST_P(IpDriverTest, CrossingConnectsLeaveOneConnection) {
  for (int round = 0; round < 40; ++round) {
    Engine a(options());
    Engine b(options());
    const std::vector<Engine*> both{&a, &b};
    // Vary how far the first request has come when the second one starts.
    const ConnectionId to_b = a.connect(b);
    for (int i = 0; i < round % 5; ++i) a.station.poll();
    for (int i = 0; i < round % 3; ++i) b.station.poll();
    const ConnectionId to_a = b.connect(a);
    for (std::size_t packet = 0; packet < 5; ++packet) {
      Bytes bytes = number_of(packet);
      ASSERT_FALSE(send(a, to_b, bytes, both).error()) << "round " << round;
      ASSERT_FALSE(send(b, to_a, bytes, both).error()) << "round " << round;
    }
    ASSERT_TRUE(pump(
        both, [&] { return a.station.received.size() == 5 && b.station.received.size() == 5; }))
        << "round " << round;
    for (std::size_t packet = 0; packet < 5; ++packet) {
      EXPECT_EQ(a.station.received[packet].bytes, number_of(packet));
      EXPECT_EQ(a.station.received[packet].connection, to_b);
      EXPECT_EQ(b.station.received[packet].bytes, number_of(packet));
      EXPECT_EQ(b.station.received[packet].connection, to_a);
    }
    EXPECT_TRUE(a.station.disconnected.empty());
    EXPECT_TRUE(b.station.disconnected.empty());
  }
}

TEST_P(IpDriverTest, ARequestAfterOnesThatWereGivenUpStands) {
  Engine a(options());
  Engine b(options());
  for (int i = 0; i < 10; ++i) {
    const ConnectionId given_up = a.connect(b);
    pump(
        {&a}, [] { return false; }, milliseconds(1));
    a.driver->disconnect(given_up);
  }
  const ConnectionId to_b = a.connect(b);
  Bytes bytes = number_of(1);
  ASSERT_FALSE(send(a, to_b, bytes, {&a, &b}).error());
  ASSERT_TRUE(pump({&a, &b}, [&] { return b.station.received.size() == 1; }));
  const ConnectionId to_a = b.station.received[0].connection;
  EXPECT_EQ(b.connect(a), to_a);
  EXPECT_TRUE(pump({&a, &b}, [&] {
    return b.station.disconnected.size() + 1 == b.station.connected.size();
  })) << "ghosts are left";
  EXPECT_EQ(b.station.disconnected.count(to_a), 0u);
  EXPECT_TRUE(a.station.disconnected.empty());
}

MAD_FOR_ALL_FABRICS_OVER_IP(IpDriverTest);

TEST_P(IpDriverTest, AHostThatNeverAnswersIsGivenUp) {
  Bytes address;
  const int listener = raw_listener(0, GetParam(), &address);
  // The kernel drops further requests once the backlog is full.
  std::vector<int> filling;
  for (int i = 0; i < 3; ++i) {
    filling.push_back(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
    (void)::connect(filling.back(), reinterpret_cast<const sockaddr*>(address.data()),
                    sizeof(sockaddr_in));
  }
  EngineOptions options = this->options();
  options.connect_timeout = milliseconds(300);
  Engine a(options);
  const auto started = Clock::now();
  const ConnectionId id = a.connect(address);
  EXPECT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(id) == 1; }));
  EXPECT_GE(Clock::now() - started, milliseconds(250));
  EXPECT_EQ(a.station.disconnected[id].code(), StatusCode::kAgain);
  for (const int fd : filling) close(fd);
  close(listener);
}

TEST_P(IpDriverTest, ABusyEngineIsWaitedFor) {
  EngineOptions options = this->options();
  options.connect_timeout = milliseconds(100);
  Engine a(options);
  Engine b(options);
  const ConnectionId to_b = a.connect(b);
  // b is not polled for much longer than the time limit.
  pump(
      {&a}, [] { return false; }, milliseconds(500));
  EXPECT_TRUE(a.station.disconnected.empty());
  Bytes bytes = number_of(5);
  ASSERT_FALSE(send(a, to_b, bytes, {&a, &b}).error());
  EXPECT_TRUE(pump({&a, &b}, [&] { return b.station.received.size() == 1; }));
}

}  // namespace
}  // namespace mad
