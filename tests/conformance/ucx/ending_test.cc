// What is asked of a connection that does not stand yet or any more, and how its end goes on.
#include <memory>
#include <utility>

#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

class UcxEnding : public ::testing::TestWithParam<const char*> {
 protected:
  void meet() {
    to_b_ = a_->connect(*b_);
    from_a_ = b_->connect(*a_);
    ASSERT_TRUE(pump(both(), [&] {
      return a_->station.connected.count(to_b_) == 1 && b_->station.connected.count(from_a_) == 1;
    }));
  }
  std::vector<UcxEngine*> both() { return {a_.get(), b_.get()}; }

  const UcxOptions options_ = on_lo(GetParam());
  std::unique_ptr<UcxEngine> a_ = std::make_unique<UcxEngine>(options_);
  std::unique_ptr<UcxEngine> b_ = std::make_unique<UcxEngine>(options_);
  ConnectionId to_b_ = 0, from_a_ = 0;
};

struct Writer final : PacketWriter {
  Writer() : PacketWriter(3000) {}
  void write_next(Segment) override { ADD_FAILURE() << "it is written"; }
};

/// What every way of sending to it says; nothing is sent.
std::vector<StatusCode> sending(Driver& driver, ConnectionId connection) {
  Bytes bytes = pattern(100);
  const Segment segment{bytes.data(), bytes.size()};
  Writer writer;
  return {driver.post_send(connection, {&segment, 1}, nullptr).code(),
          driver.post_lent(connection, writer).code(),
          driver.post_write(connection, {&segment, 1}, {}, 0, nullptr).code()};
}

StatusCode exposing(Driver& driver, ConnectionId connection) {
  Bytes bytes(100);
  return driver.expose(connection, {bytes.data(), bytes.size()}).status().code();
}

TEST_P(UcxEnding, WhatIsSentBeforeItStandsIsToBeSentLater) {
  to_b_ = a_->connect(*b_);
  EXPECT_EQ(sending(*a_->driver, to_b_), std::vector<StatusCode>(3, StatusCode::kAgain));
}

TEST_P(UcxEnding, NothingIsSentToWhoIsGoneOrWrittenByHim) {
  meet();
  b_->driver->disconnect(from_a_);
  ASSERT_TRUE(pump(both(), [&] { return a_->station.disconnected.count(to_b_) == 1; }));
  const std::vector<StatusCode> closed(3, StatusCode::kClosed);
  EXPECT_EQ(sending(*a_->driver, to_b_), closed);
  EXPECT_EQ(exposing(*a_->driver, to_b_), StatusCode::kClosed);
  a_->driver->disconnect(to_b_);
  a_->station.poll();
  EXPECT_EQ(sending(*a_->driver, to_b_), closed) << "forgotten";
  EXPECT_EQ(exposing(*a_->driver, to_b_), StatusCode::kClosed) << "forgotten";
}

TEST_P(UcxEnding, NothingIsSentToWhoIsLeftOrWrittenByHim) {
  meet();
  a_->driver->disconnect(to_b_);
  EXPECT_EQ(sending(*a_->driver, to_b_), std::vector<StatusCode>(3, StatusCode::kClosed));
  EXPECT_EQ(exposing(*a_->driver, to_b_), StatusCode::kClosed);
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxEnding, ::testing::Values("ucx:posix", "ucx:tcp", "ucx:posix,cma"),
                         transports_name);

// A socket that is closed while something is unread takes back what is on its way.
TEST(UcxEndingOfTcp, DeliversEverythingThoughThePeerGoesOnSending) {
  Bytes bytes = pattern(12 * 1024);
  UcxEngine a(on_lo("ucx:tcp")), b(on_lo("ucx:tcp"));
  const ConnectionId to_b = a.connect(b), from_a = b.connect(a);
  ASSERT_TRUE(pump({&a, &b}, [&] {
    return a.station.connected.count(to_b) == 1 && b.station.connected.count(from_a) == 1;
  }));
  const Segment segment{bytes.data(), bytes.size()};
  const auto fill = [&segment](UcxEngine& from, ConnectionId to) {
    std::size_t sent = 0;
    for (Status status; !status.again() && !status.error(); ++sent) {
      status = from.driver->post_send(to, {&segment, 1}, nullptr);
    }
    return sent - 1;
  };
  fill(b, from_a);
  const std::size_t sent = fill(a, to_b);
  a.driver->disconnect(to_b);
  ASSERT_TRUE(pump({&a, &b}, [&] {
    fill(b, from_a);
    return b.station.disconnected.count(from_a) == 1;
  }));
  EXPECT_EQ(b.station.disconnected[from_a].code(), StatusCode::kClosed);
  EXPECT_EQ(b.station.received.size(), sent);
}

/// Bytes of a packet that is kept in UCX's memory, or is copied to ours.
class UcxLastPackets : public ::testing::TestWithParam<std::size_t> {};

// The receiver holds all that it may when the sender dies.
TEST_P(UcxLastPackets, AreReceivedWhenThereIsRoom) {
  UcxOptions least = on_lo("ucx:posix");
  least.receive_chunks = 17;
  UcxEngine b(least);
  b.station.keep = true;
  Bytes bytes = pattern(GetParam());
  std::size_t sent = 0;
  {
    UcxEngine a(on_lo("ucx:posix"));
    const ConnectionId to_b = a.connect(b);
    ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
    const Segment segment{bytes.data(), bytes.size()};
    while (a.driver->post_send(to_b, {&segment, 1}, nullptr).ok()) ++sent;
  }
  const auto poll_often = [&b] {
    for (int i = 0; i < 100; ++i) b.station.poll();
  };
  // It looks at the control socket, too: every 4096 polls, if not sooner.
  for (int i = 0; i < 50; ++i) poll_often();
  EXPECT_LT(b.station.received.size(), sent) << "it held them all";
  while (b.station.received.size() < sent && !b.station.kept.empty()) {
    EXPECT_TRUE(b.station.disconnected.empty());
    for (void* buffer : std::exchange(b.station.kept, {})) b.driver->release(buffer);
    poll_often();
  }
  EXPECT_EQ(b.station.received.size(), sent);
  for (void* buffer : b.station.kept) b.driver->release(buffer);
  EXPECT_TRUE(pump({&b}, [&] { return b.station.disconnected.size() == 1; }));
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxLastPackets, ::testing::Values(2000, 100),
                         [](const auto& info) { return info.param > 500 ? "kept" : "copied"; });

}  // namespace
}  // namespace mad
