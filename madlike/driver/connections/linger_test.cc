#include "madlike/driver/connections/linger.h"

#include <limits>
#include <set>

#include "gtest/gtest.h"

namespace mad {
namespace {

using std::chrono::milliseconds;

/// Finds one packet in each of its first polls, and nothing later.
class BusyDriver : public Driver {
 public:
  explicit BusyDriver(int packets) : packets_(packets) {}

  std::size_t poll(Completion* out, std::size_t) override {
    ++polls;
    if (packets_ == 0) return 0;
    --packets_;
    out->kind = Completion::Kind::kReceived;
    out->buffer = &buffers_[packets_ % 8];
    held.insert(out->buffer);
    return 1;
  }
  void release(void* buffer) override { EXPECT_EQ(held.erase(buffer), 1u); }

  const DriverCaps& caps() const override { return caps_; }
  const LinkCaps& link(ConnectionId) const override { return link_; }
  const std::vector<std::byte>& address() const override { return address_; }
  Result<ConnectionId> connect(const std::byte*, std::size_t) override { return ConnectionId{0}; }
  const std::vector<std::byte>& peer_address(ConnectionId) const override { return address_; }
  Status post_send(ConnectionId, SegmentList, void*) override { return {}; }
  Result<ExposureToken> expose(ConnectionId, Segment) override { return ExposureToken{}; }
  void withdraw(ConnectionId, const ExposureToken&) override {}
  Status post_write(ConnectionId, SegmentList, const ExposureToken&, std::uint64_t,
                    void*) override {
    return {};
  }
  Status watch(std::vector<pollfd>*) override { return StatusCode::kAgain; }
  void disconnect(ConnectionId) override {}

  int polls = 0;
  std::set<void*> held;

 private:
  int packets_;
  char buffers_[8] = {};
  DriverCaps caps_;
  LinkCaps link_;
  std::vector<std::byte> address_;
};

TEST(Linger, WhatComesIsDroppedThoughNothingCloses) {
  BusyDriver driver(5);
  linger(driver, milliseconds(600000), [] { return false; });
  EXPECT_EQ(driver.polls, 6) << "until one finds nothing";
  EXPECT_TRUE(driver.held.empty());
}

TEST(Linger, PollsUntilNothingCloses) {
  BusyDriver driver(0);
  linger(driver, milliseconds(600000), [&] { return driver.polls < 4; });
  EXPECT_EQ(driver.polls, 4);
}

TEST(Linger, EndsInTime) {
  BusyDriver driver(0);
  linger(driver, milliseconds(1), [] { return true; });
  EXPECT_GE(driver.polls, 1);
}

// Whoever sends without end keeps nobody from going.
TEST(Linger, EndsInTimeThoughThereIsAlwaysSomething) {
  BusyDriver driver(std::numeric_limits<int>::max());
  linger(driver, milliseconds(1), [] { return false; });
  EXPECT_GE(driver.polls, 1);
  EXPECT_TRUE(driver.held.empty());
}

}  // namespace
}  // namespace mad
