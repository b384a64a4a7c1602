// Who connects to an engine, or is connected to, and is none or says what no engine says.
#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "madlike/driver/ip/address.h"
#include "tests/conformance/ip/ipv6_host.h"
#include "tests/conformance/ofi/stranger.h"

namespace mad {
namespace {

template <typename Name>
Bytes address_bytes(const Name& name) {
  return *to_address(&name, sizeof(name));
}
Bytes ipv4_address() {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(4711);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address_bytes(name);
}
Bytes ipv6_address() {
  sockaddr_in6 name{};
  name.sin6_family = AF_INET6;
  name.sin6_port = htons(4711);
  name.sin6_addr = in6addr_loopback;
  return address_bytes(name);
}

void expect_foreign(OfiEngine& engine, const Bytes& request) {
  Stranger stranger;
  stranger.ask(engine.driver->address(), request);
  ASSERT_TRUE(
      pump(engine, stranger, [&] { return stranger.is_refused() || stranger.is_connected(); }));
  ASSERT_TRUE(stranger.is_refused());
  ASSERT_TRUE(stranger.greeting());
  EXPECT_EQ(stranger.greeting()->kind, Greeting::Kind::kForeign);
  EXPECT_EQ(engine.driver->connections(), 0u);
}

void expect_invalid(OfiEngine& engine, const Bytes& address) {
  const auto id = engine.driver->connect(address.data(), address.size());
  EXPECT_EQ(id.ok() ? StatusCode::kOk : id.status().code(), StatusCode::kInvalidArgument);
}

TEST(OfiStrangers, RequestsThatNoEngineMakesAreRefused) {
  OfiEngine engine;
  Greeting own, foreign, acceptance = Stranger::acceptance();
  own.address = engine.driver->address();
  foreign.address = ipv6_address();
  Bytes longer = acceptance.pack();  // with an address where a request has it
  const Bytes address = ipv4_address();
  longer.insert(longer.end(), address.begin(), address.end());
  for (const Bytes& request : {own.pack(), foreign.pack(), longer, Bytes(100, std::byte{'G'})}) {
    expect_foreign(engine, request);
  }
  EXPECT_TRUE(engine.station.connected.empty());
}

TEST(OfiStrangers, AddressesOfAnotherFamilyAreRefused) {
  OfiEngine four;
  expect_invalid(four, ipv6_address());
  const Ipv6Host host;
  if (!host.has_ipv6("lo")) GTEST_SKIP() << "lo has no IPv6 address";
  OfiEngine six;
  expect_invalid(six, ipv4_address());
  Greeting foreign;
  foreign.address = ipv4_address();
  expect_foreign(six, foreign.pack());
}

TEST(OfiStrangers, OfCrossingRequestsThatOfTheSmallerAddressStands) {
  std::array<std::unique_ptr<OfiFabric>, 3> fabrics;
  for (auto& fabric : fabrics) fabric = fabric_on_lo();
  std::sort(fabrics.begin(), fabrics.end(),
            [](const auto& one, const auto& other) { return one->address() < other->address(); });
  Stranger smaller(std::move(fabrics[0])), greater(std::move(fabrics[2]));
  OfiEngine engine(on_lo(), std::move(fabrics[1]));
  for (Stranger* const stranger : {&smaller, &greater}) {
    const ConnectionId id = engine.connect(stranger->address());
    stranger->ask(engine.driver->address(), stranger->request().pack());
    ASSERT_TRUE(pump(engine, *stranger,
                     [&] { return stranger->is_refused() || stranger->is_connected(); }));
    EXPECT_EQ(stranger->is_connected(), stranger == &smaller);
    EXPECT_EQ(engine.station.connected.count(id) == 1, stranger == &smaller);
    ASSERT_TRUE(stranger->greeting());
    EXPECT_EQ(stranger->greeting()->kind,
              stranger == &smaller ? Greeting::Kind::kAcceptance : Greeting::Kind::kCrossing);
  }
}

TEST(OfiStrangers, WhoDoesNotAnswerAsAnEngineIsOfAnotherVersion) {
  Greeting crossing = Stranger::acceptance(), foreign = crossing;
  crossing.kind = Greeting::Kind::kCrossing;
  foreign.kind = Greeting::Kind::kForeign;
  const Bytes unreadable(40, std::byte{'G'});
  for (const bool accepts : {true, false}) {
    for (const Bytes& answer : {crossing.pack(), foreign.pack(), unreadable}) {
      if (!accepts && answer != foreign.pack()) continue;  // the others say something else
      Stranger stranger;
      OfiEngine engine;
      const ConnectionId id = engine.connect(stranger.address());
      ASSERT_TRUE(pump(engine, stranger, [&] { return stranger.was_asked(); }));
      if (accepts) {
        stranger.accept(answer);
      } else {
        stranger.refuse(answer);
      }
      ASSERT_TRUE(
          pump(engine, stranger, [&] { return engine.station.disconnected.count(id) == 1; }));
      EXPECT_EQ(engine.station.disconnected[id].code(), StatusCode::kVersion) << accepts;
    }
  }
}

// By its incarnation, a restarted engine is told from the one that was at its address before.
TEST(OfiStrangers, NoTwoEnginesAreTheSameIncarnation) {
  constexpr std::size_t kEngines = 8;
  std::set<std::uint64_t> upper, lower;  // halves
  for (std::size_t i = 0; i < kEngines; ++i) {
    Stranger stranger;
    OfiEngine engine;
    engine.connect(stranger.address());
    ASSERT_TRUE(pump(engine, stranger, [&] { return stranger.was_asked(); }));
    ASSERT_TRUE(stranger.greeting());
    upper.insert(stranger.greeting()->incarnation >> 32);
    lower.insert(stranger.greeting()->incarnation & 0xffffffff);
  }
  EXPECT_EQ(upper.size(), kEngines);
  EXPECT_EQ(lower.size(), kEngines);
}

/// A stranger whose connection with the engine stands.
class OfiAcquaintance : public ::testing::Test {
 protected:
  void SetUp() override {
    id_ = engine_.connect(stranger_.address());
    ASSERT_TRUE(pump(engine_, stranger_, [&] { return stranger_.was_asked(); }));
    ASSERT_TRUE(stranger_.greeting());
    tag_ = stranger_.greeting()->tag;
    stranger_.accept(Stranger::acceptance().pack());
    ASSERT_TRUE(pump(engine_, stranger_, [&] {
      return stranger_.is_connected() && engine_.station.connected.count(id_) == 1;
    }));
  }
  bool waits_for_the_last_packet() {
    return pump(engine_, stranger_, [&] { return !stranger_.headers().empty(); });
  }
  bool forgets() {
    return pump(engine_, stranger_, [&] { return engine_.driver->connections() == 0; });
  }

  OfiEngine engine_;
  Stranger stranger_;
  ConnectionId id_ = 0;
  std::uint64_t tag_ = 0;  // that our packets are to have
};

TEST_F(OfiAcquaintance, PacketsWithoutTheTagAreDropped) {
  // Of the same connection, smaller and greater ones, and of another connection.
  for (int bit = 0; bit < 33; ++bit) stranger_.send(tag_ ^ (std::uint64_t{1} << bit), 1);
  stranger_.send(tag_, 2);
  ASSERT_TRUE(pump(engine_, stranger_, [&] { return !engine_.station.received.empty(); }));
  ASSERT_EQ(engine_.station.received.size(), 1u);
  const std::uint64_t word = 2;
  EXPECT_EQ(std::memcmp(engine_.station.received[0].bytes.data(), &word, sizeof(word)), 0);
  EXPECT_TRUE(engine_.station.disconnected.empty());
}

// The stranger never closes its endpoint, which would be the end in any case.
TEST_F(OfiAcquaintance, BothLastPacketsEndAConnectionThatWasLeft) {
  engine_.driver->disconnect(id_);
  ASSERT_TRUE(waits_for_the_last_packet());
  EXPECT_EQ(engine_.driver->connections(), 1u);
  stranger_.send_last(tag_);
  EXPECT_TRUE(forgets());
}

TEST_F(OfiAcquaintance, ThePeersLastPacketMayComeBeforeOursLeaves) {
  engine_.provider.send = -FI_EAGAIN;
  engine_.driver->disconnect(id_);
  stranger_.send_last(tag_);
  for (int i = 0; i < 1000; ++i) {
    engine_.station.poll();
    stranger_.look();
  }
  EXPECT_EQ(engine_.driver->connections(), 1u);
  engine_.provider.send = 0;
  EXPECT_TRUE(forgets());
  ASSERT_TRUE(waits_for_the_last_packet());
  EXPECT_EQ(stranger_.headers()[0].tag, Stranger::acceptance().tag);
  EXPECT_EQ(stranger_.headers()[0].kind, OfiHeader::Kind::kLast);
}

TEST_F(OfiAcquaintance, TheLastPacketIsSentOnce) {
  engine_.driver->disconnect(id_);
  ASSERT_TRUE(waits_for_the_last_packet());
  const auto later = Clock::now() + milliseconds(50);
  ASSERT_TRUE(pump(engine_, stranger_, [&] { return Clock::now() > later; }));
  EXPECT_EQ(stranger_.headers().size(), 1u);
}

}  // namespace
}  // namespace mad
