// Messages between two messengers over the loopback fabric: order, sizes, paths, callbacks.
#include "madlike/message/messenger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "madlike/message/pair.h"

namespace mad {
namespace {

constexpr std::size_t kNever = ~std::size_t{0};

struct Fabric {
  const char* name;
  LoopbackOptions options;
};

std::vector<Fabric> fabrics() {
  std::vector<Fabric> out(6);
  out[0].name = "default";
  out[1].name = "no remote writes";
  out[1].options.remote_write = false;
  out[2].name = "one segment";
  out[2].options.max_iov = 1;
  out[2].options.max_write_iov = 1;
  out[3].name = "small packets, none injected";
  out[3].options.max_packet_bytes = 512;
  out[3].options.inject_bytes = 0;
  out[3].options.max_write_bytes = 700;
  out[4].name = "one packet at a time";
  out[4].options.queue_depth = 1;
  out[4].options.remote_write = false;
  out[5].name = "large packets";
  out[5].options.max_packet_bytes = 1 << 20;
  out[5].options.remote_write = false;
  return out;
}

class Fabrics : public ::testing::TestWithParam<int> {
 protected:
  const Fabric fabric_ = fabrics()[GetParam()];
};

TEST_P(Fabrics, PayloadsOfEverySizeArriveWhole) {
  SCOPED_TRACE(fabric_.name);
  for (std::size_t reference_from : {std::size_t{1}, std::size_t{1024}, kNever}) {
    for (std::size_t step : {std::size_t{300}, std::size_t{1} << 30}) {
      Pair p(fabric_.options);
      p.a.reference_from = reference_from;
      p.a.fill_step = step;
      const std::size_t limits[] = {1, 256, 472, 4096, 16384, 65536 - 40, 65536, 262144};
      for (std::size_t limit : limits) {
        for (std::size_t size : {limit - 1, limit, limit + 1}) {
          if (size > 0) p.a.send(p.to_b, 1, pattern(size, size), "header");
        }
        settle(p.a, p.b);
      }
      p.expect_all_whole();
    }
  }
}

TEST_P(Fabrics, MessagesKeepTheirOrder) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  p.b.one_run = false;
  for (int i = 0; i < 300; ++i) {
    const std::string name = std::to_string(i);
    if (i % 3 == 0) {
      ASSERT_TRUE(p.a.send_header(p.to_b, 5, name).ok());
    } else {
      p.a.send(p.to_b, 6, pattern(i % 7 == 0 ? 100000 : i * 13, i), name);
    }
    if (i % 50 == 0) (void)p.b.messenger->progress();
  }
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 300u);
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(p.b.arrived[i].header, std::to_string(i));
    EXPECT_EQ(p.b.arrived[i].handler, i % 3 == 0 ? 5 : 6);
    EXPECT_EQ(p.b.arrived[i].done, i % 3 == 0 ? 0 : 1);
  }
  EXPECT_TRUE(p.a.all_sent());
  EXPECT_TRUE(p.a.messenger->idle());
}

// By the header's side, and kept; with a rest that is somewhere else, and without.
TEST_P(Fabrics, WhatIsHereMayBeReadWhereItIs) {
  SCOPED_TRACE(fabric_.name);
  const std::size_t limit = MessengerConfig().peer_credit;
  for (const bool later : {false, true}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{400}, 2 * limit}) {
      Pair p(fabric_.options);
      Bytes here;
      const auto read = [&](Arrived& a) {
        const Segment segment = payload_here(*a.message);
        here.assign(segment.begin(), segment.end());
        p.b.discard(a);
      };
      p.b.on_arrival = [&](Arrived& a) {
        if (!later) read(a);
      };
      p.a.send(p.to_b, 1, pattern(size), "header");
      settle(p.a, p.b);
      ASSERT_EQ(p.b.arrived.size(), 1u);
      if (later) read(p.b.arrived[0]);
      settle(p.a, p.b);
      Bytes expected = pattern(size);
      ASSERT_LE(here.size(), size);
      EXPECT_EQ(here.size() == size, size <= 400);
      expected.resize(here.size());
      EXPECT_TRUE(here == expected);
      EXPECT_EQ(p.b.arrived[0].done, 0);
      EXPECT_TRUE(p.a.all_sent());
      EXPECT_TRUE(p.a.messenger->idle());
    }
  }
}

TEST_P(Fabrics, AReceiverMayTakeLess) {
  SCOPED_TRACE(fabric_.name);
  const std::size_t payload = 150000;
  for (std::size_t wanted : {0u, 1u, 400u, 65000u, 66000u, 149999u, 150000u}) {
    Pair p(fabric_.options);
    p.b.on_arrival = [&](Arrived& arrived) { p.b.accept(arrived, wanted); };
    Sent& sent = p.a.send(p.to_b, 1, pattern(payload));
    settle(p.a, p.b);
    EXPECT_EQ(sent.done, 1);
    EXPECT_TRUE(sent.status.ok());
    ASSERT_EQ(p.b.arrived.size(), 1u);
    const Arrived& arrived = p.b.arrived[0];
    EXPECT_EQ(arrived.done, 1);
    EXPECT_EQ(arrived.received, wanted);
    EXPECT_FALSE(arrived.sink->overrun);
    EXPECT_TRUE(
        std::equal(arrived.sink->bytes.begin(), arrived.sink->bytes.end(), sent.bytes.begin()));
    EXPECT_TRUE(p.a.messenger->idle() && p.b.messenger->idle());
  }
}

TEST_P(Fabrics, DiscardedMessagesAreDoneAtTheSender) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  p.b.on_arrival = [&](Arrived& arrived) { p.b.discard(arrived); };
  for (std::size_t size : {10u, 65536u, 1000000u}) p.a.send(p.to_b, 1, pattern(size));
  settle(p.a, p.b);
  EXPECT_EQ(p.b.arrived.size(), 3u);
  EXPECT_TRUE(p.a.all_sent());
  for (const Sent& sent : p.a.sent) EXPECT_TRUE(sent.status.ok());
  EXPECT_TRUE(p.a.messenger->idle() && p.b.messenger->idle());
}

TEST_P(Fabrics, UnexpectedMessagesAreAcceptedLaterInAnyOrder) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  p.b.on_arrival = [](Arrived&) {};
  for (int i = 0; i < 20; ++i) p.a.send(p.to_b, 1, pattern(1000 + i * 20000, i));
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 20u);
  EXPECT_FALSE(p.a.messenger->idle());
  for (int i = 19; i >= 0; --i) p.b.accept(p.b.arrived[i]);
  settle(p.a, p.b);
  p.expect_all_whole();
}

TEST_P(Fabrics, ManyMessagesBothWaysStartedInCallbacks) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  constexpr std::size_t kEach = 400;
  const auto again = [](Side& side, Endpoint& to) {
    const std::size_t n = side.sent.size();
    if (n >= kEach) return;
    if (n % 5 == 0) (void)side.send_header(to, 9, "between");
    side.send(to, 1, pattern((n * 7919) % 90000 + 1, n));
  };
  for (auto [side, to] : {std::pair<Side*, Endpoint*>{&p.a, &p.to_b}, {&p.b, &p.to_a}}) {
    side->on_arrival = [=, s = side, t = to](Arrived& arrived) {
      if (arrived.message != nullptr) s->accept(arrived);
      again(*s, *t);
    };
    side->on_left = [=, s = side, t = to](Sent&) { again(*s, *t); };
    side->on_complete = [=, s = side, t = to](Arrived&) { again(*s, *t); };
  }
  for (int i = 0; i < 8; ++i) {
    again(p.a, p.to_b);
    again(p.b, p.to_a);
  }
  settle(p.a, p.b);
  for (const auto& [from, at] : {std::pair<Side*, Side*>{&p.a, &p.b}, {&p.b, &p.a}}) {
    EXPECT_EQ(from->sent.size(), kEach);
    EXPECT_TRUE(from->all_sent());
    std::size_t i = 0;
    for (const Arrived& arrived : at->arrived) {
      if (arrived.payload_bytes == 0) continue;
      ASSERT_EQ(arrived.done, 1) << i;
      ASSERT_TRUE(arrived.sink->bytes == from->sent[i].bytes) << i;
      ++i;
    }
    EXPECT_EQ(i, kEach);
  }
  EXPECT_TRUE(p.a.messenger->idle() && p.b.messenger->idle());
}

TEST_P(Fabrics, ToOneself) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  Endpoint& self = p.a.to(p.a);
  ASSERT_TRUE(p.a.send_header(self, 1, "me").ok());
  for (std::size_t size : {8u, 70000u, 500000u}) p.a.send(self, 2, pattern(size, size), "x");
  settle(p.a, p.a);
  ASSERT_EQ(p.a.arrived.size(), 4u);
  EXPECT_EQ(p.a.arrived[0].header, "me");
  EXPECT_EQ(p.a.arrived[0].from, &self);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(p.a.sent[i].done, 1);
    EXPECT_EQ(p.a.arrived[i + 1].done, 1);
    EXPECT_TRUE(p.a.arrived[i + 1].sink->bytes == p.a.sent[i].bytes);
  }
  EXPECT_TRUE(p.a.messenger->idle());
}

TEST_P(Fabrics, TheLongestHeaderFitsAPacket) {
  SCOPED_TRACE(fabric_.name);
  Pair p(fabric_.options);
  const std::string header(p.a.messenger->max_header_bytes(), 'h');
  ASSERT_TRUE(p.a.send_header(p.to_b, 1, header).ok());
  p.a.send(p.to_b, 2, pattern(100), header);
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 2u);
  EXPECT_TRUE(p.b.arrived[0].header == header);
  EXPECT_TRUE(p.b.arrived[1].header == header);
  EXPECT_TRUE(p.b.arrived[1].sink->bytes == pattern(100));
}

INSTANTIATE_TEST_SUITE_P(All, Fabrics, ::testing::Range(0, static_cast<int>(fabrics().size())));

TEST(Messenger, TheFirstMessageNeedsNoPreparation) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Endpoint& to_b = a.to(b);
  EXPECT_EQ(&a.to(b), &to_b);
  EXPECT_EQ(route(to_b).driver, 0u);
  EXPECT_EQ(route(to_b).address, b.driver->address());
  ASSERT_TRUE(a.send_header(to_b, 7, "hello").ok());
  a.send(to_b, 9, pattern(8), "and more");
  settle(a, b);
  ASSERT_EQ(b.arrived.size(), 2u);
  EXPECT_EQ(b.arrived[0].header, "hello");
  EXPECT_EQ(b.arrived[0].message, nullptr);
  EXPECT_TRUE(b.arrived[1].sink->bytes == a.sent[0].bytes);
  EXPECT_EQ(route(*b.arrived[0].from).address, a.driver->address());
}

TEST(Messenger, BothMayConnectAtOnce) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Endpoint &to_b = a.to(b), &to_a = b.to(a);
  a.send(to_b, 1, pattern(100000, 1));
  b.send(to_a, 1, pattern(100000, 2));
  settle(a, b);
  ASSERT_EQ(a.arrived.size(), 1u);
  ASSERT_EQ(b.arrived.size(), 1u);
  EXPECT_EQ(a.arrived[0].from, &to_b);
  EXPECT_EQ(b.arrived[0].from, &to_a);
  EXPECT_TRUE(a.arrived[0].sink->bytes == b.sent[0].bytes);
  EXPECT_TRUE(b.arrived[0].sink->bytes == a.sent[0].bytes);
}

TEST(Messenger, HeadersOfEveryLength) {
  Pair p;
  const std::size_t max = p.a.messenger->max_header_bytes();
  EXPECT_GE(max, 16000u);
  for (std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, max}) {
    const std::string header(size, 'h');
    ASSERT_TRUE(p.a.send_header(p.to_b, 1, header).ok());
    p.a.send(p.to_b, 2, pattern(40000), header);
  }
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 8u);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(p.b.arrived[i].header, std::string(p.b.arrived[i].header.size(), 'h'));
    EXPECT_EQ(p.b.arrived[i].header.size(), p.b.arrived[i / 2 * 2].header.size());
  }
  EXPECT_EQ(p.b.arrived[7].header.size(), max);
  EXPECT_TRUE(p.b.arrived[7].sink->bytes == pattern(40000));

  const std::string longer(max + 1, 'h');
  EXPECT_EQ(p.a.send_header(p.to_b, 1, longer).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(p.a.send(p.to_b, 1, pattern(8), longer).status.code(), StatusCode::kInvalidArgument);
}

TEST(Messenger, AnEmptyPayloadIsAHeader) {
  Pair p;
  Sent& sent = p.a.send(p.to_b, 4, {}, "only this");
  EXPECT_TRUE(sent.status.ok());
  settle(p.a, p.b);
  ASSERT_EQ(p.b.arrived.size(), 1u);
  EXPECT_EQ(p.b.arrived[0].message, nullptr);
  EXPECT_EQ(p.b.arrived[0].header, "only this");
}

// Who looks rarely still gets all that came.
TEST(Messenger, OneTurnTakesManyPackets) {
  Pair p;
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(p.a.send_header(p.to_b, 1, "x").ok());
  (void)p.b.messenger->progress();
  EXPECT_EQ(p.b.arrived.size(), 60u);
}

/// Knows whether the hosts of its peers have everything.
class TellingDriver final : public LoopbackDriver {
 public:
  using LoopbackDriver::LoopbackDriver;
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override {
    connected = true;
    return LoopbackDriver::connect(address, size);
  }
  bool arrived(ConnectionId) const override {
    EXPECT_TRUE(connected) << "asked of no connection";
    return at_host;
  }
  bool connected = false;
  bool at_host = true;
};

TEST(Messenger, WhatLeftHasArrivedWhenAllHostsHaveIt) {
  const auto network = std::make_shared<LoopbackNetwork>();
  auto own = std::make_unique<TellingDriver>(network);
  TellingDriver& driver = *own;
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.push_back(std::move(own));
  Side a(std::move(drivers)), b(network);
  Endpoint& to_b = a.to(b);
  EXPECT_TRUE(a.messenger->arrived()) << "nobody was contacted";
  ASSERT_TRUE(a.send_header(to_b, 1, "hello").ok());
  settle(a, b);
  EXPECT_TRUE(a.messenger->arrived());
  driver.at_host = false;
  EXPECT_FALSE(a.messenger->arrived());
  b.driver->fail();
  settle(a, a);
  ASSERT_EQ(a.gone.size(), 1u);
  EXPECT_TRUE(a.messenger->arrived()) << "who is gone is not waited for";
}

TEST(Messenger, EndpointsCarryTheUsersData) {
  Pair p;
  EXPECT_EQ(user_data(p.to_b), nullptr);
  set_user_data(p.to_b, &p);
  EXPECT_EQ(user_data(p.to_b), &p);
}

TEST(Messenger, AddressesAndDriversThatDoNotExist) {
  Pair p;
  const std::vector<std::byte>& address = p.b.driver->address();
  EXPECT_EQ(p.a.messenger->connect({{1, address}}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(p.a.messenger->connect({{0, {}}}).status().code(), StatusCode::kInvalidArgument);
  auto endpoint = p.a.messenger->connect(
      {{0, {address.begin(), address.begin() + 5}}});  // seen when it is used
  ASSERT_TRUE(endpoint.ok());
  EXPECT_EQ(p.a.messenger->touch(**endpoint).code(), StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
