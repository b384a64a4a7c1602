// Peers with several routes: which one is taken, and what happens where one does not lead there.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "madlike/message/late_driver.h"
#include "madlike/message/side.h"

namespace mad {
namespace {

using Network = std::shared_ptr<LoopbackNetwork>;

/// Reaches nobody, but may be reached.
class OneWayDriver final : public LateDriver {
 public:
  using LateDriver::LateDriver;
  Result<ConnectionId> connect(const std::byte*, std::size_t) override {
    return Status(StatusCode::kUnreachable, "there is no way out");
  }
};

/// Says in every poll that a connection of it is there, once one is.
class BusyDriver final : public LoopbackDriver {
 public:
  using LoopbackDriver::LoopbackDriver;
  std::size_t poll(Completion* out, std::size_t capacity) override {
    const std::size_t count = LoopbackDriver::poll(out, capacity);
    for (std::size_t i = 0; i < count; ++i) {
      if (out[i].kind == Completion::Kind::kConnected) connection_ = out[i].connection;
    }
    if (count > 0 || !connection_) return count;
    out[0] = Completion();
    out[0].kind = Completion::Kind::kConnected;
    out[0].connection = *connection_;
    return 1;
  }

 private:
  std::optional<ConnectionId> connection_;
};

class RoutesTest : public ::testing::Test {
 protected:
  /// An address where there is nobody any more.
  static std::vector<std::byte> deserted(const Network& network) {
    return LoopbackDriver(network).address();
  }
  /// `from`'s endpoint for `to`, whose first address is wrong.
  Endpoint& by_the_second(Side& from, const Side& to) {
    return *from.messenger->connect({{0, deserted(first_)}, to.routes[1]}).value();
  }
  void send_some(Side& from, Endpoint& to, int first, int end) {
    for (int i = first; i < end; ++i) {
      (void)from.send(to, static_cast<std::uint8_t>(i), pattern(1 + 40000 * i), "header");
    }
  }
  static void expect_some(const Side& at, int end) {
    ASSERT_EQ(at.arrived.size(), static_cast<std::size_t>(end));
    for (int i = 0; i < end; ++i) {
      EXPECT_EQ(at.arrived[i].handler, i) << "in the order in which they were sent";
      ASSERT_EQ(at.arrived[i].done, 1);
      EXPECT_TRUE(at.arrived[i].sink->bytes == pattern(1 + 40000 * i)) << i;
    }
    EXPECT_TRUE(at.gone.empty());
  }
  std::vector<std::unique_ptr<Driver>> with_second(std::unique_ptr<Driver> first) {
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(first));
    drivers.push_back(std::make_unique<LoopbackDriver>(second_));
    return drivers;
  }
  static const DriverCounters& carried(const Side& side, std::size_t driver) {
    return side.messenger->counters().drivers[driver];
  }

  Network first_ = std::make_shared<LoopbackNetwork>();
  Network second_ = std::make_shared<LoopbackNetwork>(narrow());
  std::vector<Network> both_{first_, second_};
  Side a_{both_}, b_{both_};

 private:
  static LoopbackOptions narrow() {
    LoopbackOptions options;
    options.max_iov = 2;
    options.max_packet_bytes = 4096;
    options.remote_write = false;
    return options;
  }
};

TEST_F(RoutesTest, TheFirstIsTakenIfItLeadsThere) {
  Endpoint& to_b = a_.to(b_);
  send_some(a_, to_b, 0, 5);
  settle(a_, b_);
  expect_some(b_, 5);
  EXPECT_EQ(route(to_b).driver, 0u);
  EXPECT_GT(carried(a_, 0).bytes_sent, 400000u);
  EXPECT_GT(carried(b_, 0).packets_received, 5u);
  EXPECT_EQ(carried(a_, 1).packets_sent, 0u);
  EXPECT_EQ(carried(b_, 1).packets_received, 0u);
}

TEST_F(RoutesTest, OneThatAlwaysHasSomethingDoesNotKeepUsFromTheOthers) {
  Side busy(with_second(std::make_unique<BusyDriver>(first_))), by_second({second_});
  ASSERT_TRUE(busy.messenger->touch(busy.to(b_)).ok());
  settle(busy, b_, [&] { return busy.messenger->progress() > 0; });
  for (int i = 0; i < 10; ++i) EXPECT_GT(busy.messenger->progress(), 0u);
  send_some(by_second, *by_second.messenger->connect({{0, busy.routes[1].address}}).value(), 0, 5);
  settle(busy, by_second, [&] { return busy.arrived.size() == 5 && busy.arrived[4].done > 0; });
  expect_some(busy, 5);
}

TEST_F(RoutesTest, OneThatDoesNotLeadThereIsPassedOver) {
  Endpoint& to_b = by_the_second(a_, b_);
  send_some(a_, to_b, 0, 3);
  settle(a_, b_);
  send_some(a_, to_b, 3, 6);
  settle(a_, b_);
  expect_some(b_, 6);
  EXPECT_TRUE(a_.all_sent());
  EXPECT_TRUE(a_.gone.empty());
  EXPECT_EQ(route(to_b).driver, 1u);
  EXPECT_EQ(carried(a_, 0).packets_sent, 0u);
  EXPECT_EQ(carried(a_, 1).packets_sent, carried(b_, 1).packets_received);
  EXPECT_EQ(carried(a_, 1).bytes_sent, carried(b_, 1).bytes_received) << "nothing is written here";
  EXPECT_TRUE(a_.messenger->idle());
}

TEST_F(RoutesTest, OneThatTheDriverRefusesIsPassedOver) {
  const std::vector<std::byte> no_address(3);
  Endpoint& to_b = *a_.messenger->connect({{0, no_address}, b_.routes[1]}).value();
  send_some(a_, to_b, 0, 3);
  settle(a_, b_);
  expect_some(b_, 3);
}

// Its driver refuses HELLO before it says that the connection ended.
TEST_F(RoutesTest, WhatIsSentWhileARouteFailsGoesByTheNextOne) {
  auto first = std::make_unique<LateDriver>(first_);
  LateDriver& late = *first;
  Side a(with_second(std::move(first)));
  Endpoint& to_b = by_the_second(a, b_);
  send_some(a, to_b, 0, 1);
  for (int i = 0; i < 3; ++i) (void)a.messenger->progress();
  send_some(a, to_b, 1, 3);
  late.late = false;
  settle(a, b_);
  expect_some(b_, 3);
  EXPECT_TRUE(a.all_sent());
  EXPECT_TRUE(a.gone.empty());
}

TEST_F(RoutesTest, BothMayPassOneOverAndMeet) {
  send_some(a_, by_the_second(a_, b_), 0, 4);
  send_some(b_, by_the_second(b_, a_), 0, 4);
  settle(a_, b_);
  expect_some(a_, 4);
  expect_some(b_, 4);
}

TEST_F(RoutesTest, WhereNoneLeadsThereAllReasonsAreTold) {
  Endpoint& to_nobody =
      *a_.messenger->connect({{0, deserted(first_)}, {1, deserted(second_)}}).value();
  send_some(a_, to_nobody, 0, 2);
  settle(a_, b_);
  ASSERT_EQ(a_.gone.size(), 1u);
  const Status& why = a_.gone[0].second;
  EXPECT_EQ(why.code(), StatusCode::kUnreachable);
  EXPECT_EQ(why.message(),
            "loopback: no loopback engine at this address; "
            "loopback: no loopback engine at this address");
  for (const Sent& message : a_.sent) EXPECT_EQ(message.status.code(), StatusCode::kUnreachable);
  EXPECT_TRUE(a_.all_sent());
}

TEST_F(RoutesTest, APeerThatComesByAnotherRouteIsTheOneThatWasCalled) {
  const LoopbackDriver mute(first_);  // there, but it answers nobody
  Endpoint& to_b = *a_.messenger->connect({{0, mute.address()}, b_.routes[1]}).value();
  send_some(a_, to_b, 0, 3);
  for (int i = 0; i < 10; ++i) (void)a_.messenger->progress();
  EXPECT_TRUE(b_.arrived.empty());
  EXPECT_EQ(route(to_b).driver, 0u);
  send_some(b_, *b_.messenger->connect({a_.routes[1]}).value(), 0, 3);
  settle(a_, b_);
  expect_some(a_, 3);
  expect_some(b_, 3);
  EXPECT_EQ(a_.arrived[0].from, &to_b);
  EXPECT_EQ(route(to_b).driver, 1u);
}

// One comes by the route that the other one has given up, while that comes by the next one.
TEST_F(RoutesTest, WhoGoAlongWithEachOtherMeet) {
  auto its_first = std::make_unique<OneWayDriver>(first_);
  auto our_first = std::make_unique<LateDriver>(first_);
  LateDriver& theirs = *its_first;
  LateDriver& ours = *our_first;
  Side shy(with_second(std::move(its_first))), bold(with_second(std::move(our_first)));
  send_some(shy, shy.to(bold), 0, 3);
  send_some(bold, bold.to(shy), 0, 3);
  (void)shy.messenger->progress();
  (void)bold.messenger->progress();
  theirs.late = ours.late = false;
  settle(shy, bold);
  expect_some(shy, 3);
  expect_some(bold, 3);
  EXPECT_EQ(route(shy.to(bold)).driver, 1u);
  EXPECT_EQ(route(bold.to(shy)).driver, 1u);
}

// What has not been heard of may be elsewhere.
TEST_F(RoutesTest, WhoEndsBeforeSayingAnythingIsTriedElsewhere) {
  LoopbackDriver silent(first_);
  Endpoint& to_b = *a_.messenger->connect({{0, silent.address()}, b_.routes[1]}).value();
  send_some(a_, to_b, 0, 3);
  Completion connected;
  ASSERT_EQ(silent.poll(&connected, 1), 1u);
  (void)a_.messenger->progress();
  silent.disconnect(connected.connection);
  settle(a_, b_);
  expect_some(b_, 3);
  EXPECT_TRUE(a_.gone.empty());
}

TEST_F(RoutesTest, EachOfItsAddressesNamesThePeer) {
  Endpoint& to_b = a_.to(b_);
  EXPECT_EQ(a_.messenger->connect({b_.routes[1]}).value(), &to_b);
  EXPECT_EQ(a_.messenger->connect({b_.routes[1], b_.routes[0]}).value(), &to_b);
  // Also once it came by one of them only.
  send_some(b_, *b_.messenger->connect({a_.routes[1]}).value(), 0, 1);
  settle(a_, b_);
  ASSERT_EQ(a_.arrived.size(), 1u);
  EXPECT_EQ(a_.arrived[0].from, &to_b);
  EXPECT_EQ(&a_.to(b_), &to_b);
}

TEST_F(RoutesTest, WhoDiesIsNotLookedForElsewhere) {
  Endpoint& to_b = a_.to(b_);
  send_some(a_, to_b, 0, 1);
  settle(a_, b_);
  b_.driver->fail();
  (void)a_.send(to_b, 1, pattern(100));
  settle(a_, b_);
  ASSERT_EQ(a_.gone.size(), 1u);
  EXPECT_EQ(a_.gone[0].second.code(), StatusCode::kPeerFailed);
  EXPECT_EQ(carried(a_, 1).packets_sent, 0u);
  EXPECT_NE(&a_.to(b_), &to_b) << "whoever is there now is another";
}

TEST_F(RoutesTest, WithoutARouteThereIsNoEndpoint) {
  EXPECT_EQ(a_.messenger->connect({}).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(a_.messenger->connect({b_.routes[0], {2, b_.routes[1].address}}).status().code(),
            StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mad
