// Peers that cannot be connected for a while: what was sent to them waits.
#include "madlike/message/reconnects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "madlike/message/endpoint.h"
#include "madlike/message/side.h"

namespace mad {
namespace {

using Network = std::shared_ptr<LoopbackNetwork>;

/// Its first attempts to connect fail for a reason of this code.
class LackingDriver final : public LoopbackDriver {
 public:
  explicit LackingDriver(const Network& network)
      : LoopbackDriver(network), nobody_(LoopbackDriver(network).address()) {}
  Result<ConnectionId> connect(const std::byte* address, std::size_t size) override {
    ++attempts;
    if (attempts > failures) return LoopbackDriver::connect(address, size);
    return LoopbackDriver::connect(nobody_.data(), nobody_.size());
  }
  std::size_t poll(Completion* out, std::size_t capacity) override {
    const std::size_t count = LoopbackDriver::poll(out, capacity);
    for (std::size_t i = 0; i < count; ++i) {
      const bool failed = out[i].status.code() == StatusCode::kUnreachable;
      if (failed) out[i].status = Status(reason, "no room on the moon");
    }
    return count;
  }
  int failures = std::numeric_limits<int>::max();
  int attempts = 0;
  StatusCode reason = StatusCode::kNoMemory;

 private:
  const std::vector<std::byte> nobody_;  // an address where there is nobody any more
};

std::vector<std::unique_ptr<Driver>> lacking(const Network& network) {
  std::vector<std::unique_ptr<Driver>> drivers;
  drivers.push_back(std::make_unique<LackingDriver>(network));
  return drivers;
}

class ReconnectsTest : public ::testing::Test {
 protected:
  explicit ReconnectsTest(const MessengerConfig& config = {}) : a_(lacking(network_), config) {}
  LackingDriver& driver() { return static_cast<LackingDriver&>(*a_.driver); }
  template <typename Done>
  bool progress_until(Done done) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!done()) {
      (void)a_.messenger->progress();
      (void)b_.messenger->progress();
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  Network network_ = std::make_shared<LoopbackNetwork>();
  Side a_;
  Side b_{network_};
};

TEST(Reconnects, SomeReasonsMayPass) {
  EXPECT_TRUE(may_pass(StatusCode::kAgain) && may_pass(StatusCode::kNoMemory));
  EXPECT_FALSE(may_pass(StatusCode::kUnreachable) || may_pass(StatusCode::kPeerFailed) ||
               may_pass(StatusCode::kVersion) || may_pass(StatusCode::kClosed));
}

struct NoEvents final : MessageEvents {
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}
};

TEST(Reconnects, ThoseWhoFailTogetherDoNotComeTogetherAgain) {
  const auto network = std::make_shared<LoopbackNetwork>();
  NoEvents events;
  Core core({}, events);
  Peers peers(core, lacking(network));
  Reconnects reconnects(core, peers);
  std::set<PolledClock::time_point::duration> pauses;
  for (int i = 0; i < 100; ++i) {
    Endpoint& endpoint = *peers.find({{0, LoopbackDriver(network).address()}}).value();
    ASSERT_TRUE(peers.contact(endpoint).ok());
    ASSERT_TRUE(reconnects.later(endpoint, {StatusCode::kAgain, "too many came at once"}));
    pauses.insert(endpoint.attempts.next - endpoint.attempts.first);
  }
  EXPECT_GT(pauses.size(), 1u);
}

class ForAReason : public ReconnectsTest, public ::testing::WithParamInterface<StatusCode> {};

TEST_P(ForAReason, WhatWasSentWaitsForThePeer) {
  driver().reason = GetParam();
  driver().failures = 3;
  Endpoint& to_b = a_.to(b_);
  ASSERT_TRUE(a_.send_header(to_b, 1, "one").ok());
  const Sent& two = a_.send(to_b, 2, pattern(100000));
  ASSERT_TRUE(progress_until(
      [&] { return b_.arrived.size() == 2 && b_.arrived[1].done == 1 && two.done == 1; }));
  EXPECT_TRUE(a_.gone.empty());
  EXPECT_EQ(driver().attempts, 4);
  EXPECT_EQ(b_.arrived[0].header, "one");
  EXPECT_TRUE(b_.arrived[1].sink->bytes == pattern(100000));
  EXPECT_TRUE(a_.messenger->idle());
}

INSTANTIATE_TEST_SUITE_P(ThatMayPass, ForAReason,
                         ::testing::Values(StatusCode::kNoMemory, StatusCode::kAgain));

TEST_F(ReconnectsTest, WhatIsMissingIsSaidOnce) {
  testing::internal::CaptureStderr();
  ASSERT_TRUE(a_.send_header(a_.to(b_), 1, "one").ok());
  ASSERT_TRUE(progress_until([&] { return driver().attempts == 7; }));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("no room on the moon"), std::string::npos) << said;
  EXPECT_NE(said.find("600 s"), std::string::npos) << said;
}

TEST_F(ReconnectsTest, ThePeerMayComeMeanwhile) {
  ASSERT_TRUE(a_.send_header(a_.to(b_), 1, "one").ok());
  ASSERT_TRUE(progress_until([&] { return driver().attempts >= 2; }));
  ASSERT_TRUE(b_.send_header(b_.to(a_), 1, "two").ok());
  ASSERT_TRUE(progress_until([&] { return b_.arrived.size() == 1 && a_.arrived.size() == 1; }));
  EXPECT_EQ(a_.arrived[0].from, &a_.to(b_));
  EXPECT_TRUE(a_.gone.empty());
}

TEST_F(ReconnectsTest, WhoSendsMoreDoesNotTryEarlier) {
  Endpoint& to_b = a_.to(b_);
  ASSERT_TRUE(a_.send_header(to_b, 1, "one").ok());
  ASSERT_TRUE(progress_until([&] { return to_b.attempts.waits; }));
  const int attempts = driver().attempts;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(a_.send_header(to_b, 1, "more").ok());
  EXPECT_EQ(driver().attempts, attempts);
  EXPECT_TRUE(to_b.attempts.waits);
}

TEST_F(ReconnectsTest, ClosingEndsWhatWaits) {
  const Sent& sent = a_.send(a_.to(b_), 1, pattern(1000));
  ASSERT_TRUE(progress_until([&] { return driver().attempts >= 1; }));
  EXPECT_FALSE(a_.messenger->close(0).ok());
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(sent.status.code(), StatusCode::kClosed);
}

MessengerConfig impatient() {
  MessengerConfig config;
  config.connect_timeout = std::chrono::milliseconds(30);
  return config;
}

class ImpatientTest : public ReconnectsTest {
 protected:
  ImpatientTest() : ReconnectsTest(impatient()) {}
};

TEST_F(ImpatientTest, AfterTheTimeoutItIsUnreachable) {
  Endpoint& to_b = a_.to(b_);
  const Sent& sent = a_.send(to_b, 1, pattern(1000));
  ASSERT_TRUE(progress_until([&] { return !a_.gone.empty(); }));
  EXPECT_GT(driver().attempts, 1);
  EXPECT_EQ(a_.gone[0].first, &to_b);
  EXPECT_EQ(sent.done, 1);
  for (const Status& why : {a_.gone[0].second, sent.status}) {
    EXPECT_EQ(why.code(), StatusCode::kUnreachable);
    EXPECT_NE(why.message().find("no room on the moon"), std::string_view::npos) << why.message();
  }
}

MessengerConfig patient() {
  MessengerConfig config;
  config.connect_timeout = std::chrono::milliseconds(0);
  return config;
}

class PatientTest : public ReconnectsTest {
 protected:
  PatientTest() : ReconnectsTest(patient()) {}
};

TEST_F(PatientTest, WithoutATimeoutItIsTriedForEver) {
  driver().failures = 3;
  ASSERT_TRUE(a_.send_header(a_.to(b_), 1, "one").ok());
  ASSERT_TRUE(progress_until([&] { return b_.arrived.size() == 1; }));
  EXPECT_TRUE(a_.gone.empty());
}

}  // namespace
}  // namespace mad
