// How peers end: goodbye, death, unreachable addresses, and what becomes of their messages.
#include <gtest/gtest.h>

#include "madlike/message/late_driver.h"
#include "madlike/message/side.h"

namespace mad {
namespace {

class Ends : public ::testing::Test {
 protected:
  explicit Ends(const LoopbackOptions& options = no_writes())
      : network_(std::make_shared<LoopbackNetwork>(options)), a_(network_) {
    b_ = std::make_unique<Side>(network_);
    to_b_ = &a_.to(*b_);
    EXPECT_TRUE(a_.messenger->touch(*to_b_).ok());
    settle(a_, *b_);
  }
  static LoopbackOptions no_writes() {
    LoopbackOptions options;
    options.remote_write = false;
    options.queue_depth = 4;
    return options;
  }
  void progress_a() {
    for (int i = 0; i < 10; ++i) (void)a_.messenger->progress();
  }
  void expect_gone_once(StatusCode code) {
    ASSERT_EQ(a_.gone.size(), 1u);
    EXPECT_EQ(a_.gone[0].first, to_b_);
    EXPECT_EQ(a_.gone[0].second.code(), code) << a_.gone[0].second.message();
    EXPECT_TRUE(a_.messenger->idle());
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side a_;
  std::unique_ptr<Side> b_;
  Endpoint* to_b_ = nullptr;
};

TEST_F(Ends, GoodbyeIsAnEndInGoodOrder) {
  a_.send(*to_b_, 1, pattern(500000));
  settle(a_, *b_);
  EXPECT_TRUE(b_->messenger->close(2000).ok());
  progress_a();
  expect_gone_once(StatusCode::kClosed);
  progress_a();
  EXPECT_EQ(a_.gone.size(), 1u);
  EXPECT_EQ(a_.send_header(*to_b_, 1, "too late").code(), StatusCode::kClosed);
}

TEST_F(Ends, CloseSendsWhatWaits) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_TRUE(b_->send_header(b_->to(a_), 1, std::to_string(i)).ok());
  }
  EXPECT_FALSE(b_->messenger->idle());
  EXPECT_FALSE(b_->messenger->flushed());
  // Nobody takes the other end meanwhile, so the time is used up.
  EXPECT_FALSE(b_->messenger->close(20).ok());
  b_.reset();
  settle(a_, a_);
  EXPECT_GE(a_.arrived.size(), 4u);

  Side c(network_);
  Endpoint& to_a = c.to(a_);
  ASSERT_TRUE(c.send_header(to_a, 1, "hello").ok());
  settle(c, a_);
  ASSERT_TRUE(c.send_header(to_a, 1, "last").ok());
  EXPECT_TRUE(c.messenger->close(2000).ok());
  settle(a_, a_);
  EXPECT_EQ(a_.arrived.back().header, "last");
  EXPECT_EQ(a_.gone.back().second.code(), StatusCode::kClosed);
}

TEST_F(Ends, AfterCloseNothingStarts) {
  EXPECT_TRUE(a_.messenger->close(1000).ok());
  EXPECT_TRUE(a_.messenger->close(1000).ok());
  EXPECT_EQ(a_.send_header(*to_b_, 1, "x").code(), StatusCode::kClosed);
  EXPECT_EQ(a_.messenger->touch(*to_b_).code(), StatusCode::kClosed);
  EXPECT_EQ(a_.send(*to_b_, 1, pattern(5)).status.code(), StatusCode::kClosed);
  EXPECT_EQ(a_.gone.size(), 1u);
}

TEST_F(Ends, CloseWithoutTimeStillSaysGoodbye) {
  EXPECT_TRUE(b_->messenger->close(0).ok());
  progress_a();
  expect_gone_once(StatusCode::kClosed);
}

TEST_F(Ends, CloseOfOneWithoutPeers) {
  Side c(network_);
  (void)c.to(a_);
  EXPECT_TRUE(c.messenger->close(0).ok());
  EXPECT_TRUE(c.gone.empty());
}

TEST_F(Ends, MessagesOfOneWhoLeavesFail) {
  b_->on_arrival = [](Arrived&) {};
  Sent& waiting = a_.send(*to_b_, 1, pattern(500000));
  settle(a_, *b_);
  (void)b_->messenger->close(100);
  progress_a();
  EXPECT_EQ(waiting.done, 1);
  EXPECT_EQ(waiting.status.code(), StatusCode::kClosed);
  expect_gone_once(StatusCode::kClosed);
}

TEST_F(Ends, DeathFailsEverythingOnItsWay) {
  a_.reference_from = 1;
  b_->on_arrival = [](Arrived&) {};
  Sent& waiting = a_.send(*to_b_, 1, pattern(500000));  // for the receiver's word
  settle(a_, *b_);
  b_->on_arrival = nullptr;
  Sent& streaming = a_.send(*to_b_, 1, pattern(5000000));
  for (int i = 0; i < 3; ++i) {
    (void)b_->messenger->progress();
    (void)a_.messenger->progress();
  }
  for (int i = 0; i < 20; ++i) a_.send(*to_b_, 1, pattern(50000));  // queued, at last
  Sent& queued = a_.sent.back();
  EXPECT_EQ(waiting.done + streaming.done + queued.done, 0);
  bool told_before = false;
  a_.on_left = [&](Sent&) { told_before = told_before || !a_.gone.empty(); };
  b_->driver->fail();
  progress_a();
  expect_gone_once(StatusCode::kPeerFailed);
  EXPECT_FALSE(told_before);
  EXPECT_TRUE(a_.all_sent());
  for (const Sent* sent : {&waiting, &streaming, &queued}) {
    EXPECT_EQ(sent->status.code(), StatusCode::kPeerFailed);
  }
  EXPECT_EQ(a_.send(*to_b_, 1, pattern(5)).status.code(), StatusCode::kPeerFailed);
  EXPECT_EQ(a_.messenger->touch(*to_b_).code(), StatusCode::kPeerFailed);
}

TEST_F(Ends, DeathFailsWhatWasBeingReceived) {
  b_->send(b_->to(a_), 1, pattern(5000000));
  for (int i = 0; i < 3; ++i) {
    (void)a_.messenger->progress();
    (void)b_->messenger->progress();
  }
  ASSERT_EQ(a_.arrived.size(), 1u);
  EXPECT_EQ(a_.arrived[0].done, 0);
  b_->driver->fail();
  progress_a();
  EXPECT_EQ(a_.arrived[0].done, 1);
  EXPECT_EQ(a_.arrived[0].status.code(), StatusCode::kPeerFailed);
  EXPECT_LT(a_.arrived[0].received, 5000000u);
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(Ends, WholeMessagesOfTheDeadCanStillBeTaken) {
  a_.on_arrival = [](Arrived&) {};
  Endpoint& to_a = b_->to(a_);
  b_->send(to_a, 1, pattern(1000), "whole");
  b_->send(to_a, 1, pattern(300000), "part");
  b_->send(to_a, 1, pattern(300000), "part, to be dropped");
  settle(a_, *b_);
  ASSERT_EQ(a_.arrived.size(), 3u);
  b_->driver->fail();
  progress_a();
  expect_gone_once(StatusCode::kPeerFailed);
  a_.accept(a_.arrived[0]);
  EXPECT_EQ(a_.arrived[0].done, 1);
  EXPECT_TRUE(a_.arrived[0].sink->bytes == pattern(1000));
  a_.accept(a_.arrived[1]);
  EXPECT_EQ(a_.arrived[1].status.code(), StatusCode::kPeerFailed);
  EXPECT_EQ(a_.arrived[1].done, 0);
  a_.discard(a_.arrived[2]);
  progress_a();
  EXPECT_TRUE(a_.messenger->idle());
}

TEST_F(Ends, WhatArrivedBeforeTheDeathIsTold) {
  ASSERT_TRUE(b_->send_header(b_->to(a_), 1, "last words").ok());
  b_->driver->fail();
  (void)a_.send_header(*to_b_, 1, "the driver refuses this");
  progress_a();
  ASSERT_EQ(a_.arrived.size(), 1u);
  EXPECT_EQ(a_.arrived[0].header, "last words");
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(Ends, DeathIsNoticedBySomeoneWhoOnlyTouched) {
  b_.reset();  // without goodbye
  progress_a();
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(Ends, CallbacksOfAnEndMayStartMessages) {
  a_.on_left = [&](Sent&) {
    EXPECT_EQ(a_.send_header(*to_b_, 1, "still there?").code(), StatusCode::kPeerFailed);
  };
  b_->on_arrival = [](Arrived&) {};
  for (int i = 0; i < 5; ++i) a_.send(*to_b_, 1, pattern(500000));
  settle(a_, *b_);
  b_->driver->fail();
  progress_a();
  EXPECT_TRUE(a_.all_sent());
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(Ends, MessagesOfAReleasedPeerCanStillBeTaken) {
  a_.on_arrival = [](Arrived&) {};
  Endpoint& to_a = b_->to(a_);
  b_->send(to_a, 1, pattern(1000), "whole");
  b_->send(to_a, 1, pattern(300000), "part");
  settle(a_, *b_);
  b_->driver->fail();
  progress_a();
  expect_gone_once(StatusCode::kPeerFailed);
  a_.messenger->release(*to_b_);
  progress_a();
  a_.accept(a_.arrived[0]);
  EXPECT_TRUE(a_.arrived[0].sink->bytes == pattern(1000));
  a_.accept(a_.arrived[1]);
  EXPECT_EQ(a_.arrived[1].status.code(), StatusCode::kPeerFailed);
  progress_a();
  EXPECT_EQ(a_.gone.size(), 1u);
  EXPECT_TRUE(a_.messenger->idle());
}

TEST_F(Ends, PeersMayBeReleasedWhenTheirEndIsTold) {
  for (int i = 0; i < 200; ++i) {
    Side c(network_);
    a_.gone.clear();
    a_.send(a_.to(c), 1, pattern(100000, i));
    c.send(c.to(a_), 1, pattern(100000, i));
    settle(a_, c);
    ASSERT_TRUE(a_.arrived.back().sink->bytes == pattern(100000, i));
    c.driver->fail();
    progress_a();
    ASSERT_EQ(a_.gone.size(), 1u);
    a_.messenger->release(*a_.gone[0].first);
    a_.sent.clear();
    a_.arrived.clear();
  }
  progress_a();
  EXPECT_TRUE(a_.messenger->close(100).ok());
}

TEST_F(Ends, NobodyAtTheAddress) {
  std::vector<std::byte> address;
  {
    Side c(network_);
    address = c.driver->address();
  }
  Endpoint& to_nobody = *a_.messenger->connect({{0, address}}).value();
  Sent& sent = a_.send(to_nobody, 1, pattern(1000));
  progress_a();
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(sent.status.code(), StatusCode::kUnreachable);
  ASSERT_EQ(a_.gone.size(), 1u);
  EXPECT_EQ(a_.gone[0].second.code(), StatusCode::kUnreachable);
  auto again = a_.messenger->connect({{0, address}});
  ASSERT_TRUE(again.ok());
  EXPECT_NE(*again, &to_nobody);  // the old one stays as it ended
}

TEST_F(Ends, AFailingDriverOfOursEndsThePeers) {
  a_.driver->fail();
  Sent& sent = a_.send(*to_b_, 1, pattern(500000));
  EXPECT_EQ(sent.done, 0);
  EXPECT_EQ(a_.send_header(*to_b_, 1, "nor this").code(), StatusCode::kPeerFailed);
  for (int i = 0; i < 1000000 && sent.done == 0; ++i) (void)a_.messenger->progress();
  progress_a();
  EXPECT_EQ(sent.done, 1);
  EXPECT_TRUE(sent.status.error());
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(Ends, AMessengerEndsSilently) {
  b_->on_arrival = [](Arrived&) {};
  Sent& sent = a_.send(*to_b_, 1, pattern(500000));
  settle(a_, *b_);
  a_.messenger.reset();
  EXPECT_EQ(sent.done, 0);
  EXPECT_TRUE(a_.gone.empty());
  for (int i = 0; i < 10; ++i) (void)b_->messenger->progress();
  ASSERT_EQ(b_->gone.size(), 1u);
  EXPECT_EQ(b_->gone[0].second.code(), StatusCode::kPeerFailed);
}

/// Two who know each other, of whom one is told late what happens.
class EndsLate : public ::testing::Test {
 protected:
  EndsLate() : network_(std::make_shared<LoopbackNetwork>(none_injected())), b_(network_) {
    auto driver = std::make_unique<LateDriver>(network_);
    driver->late = false;
    driver_ = driver.get();
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(driver));
    a_ = std::make_unique<Side>(std::move(drivers));
    to_b_ = &a_->to(b_);
    EXPECT_TRUE(a_->messenger->touch(*to_b_).ok());
    settle(*a_, b_);
    driver_->late = true;
  }
  static LoopbackOptions none_injected() {
    LoopbackOptions options;
    options.inject_bytes = 0;
    return options;
  }
  void progress_a() {
    for (int i = 0; i < 10; ++i) (void)a_->messenger->progress();
  }

  std::shared_ptr<LoopbackNetwork> network_;
  Side b_;
  LateDriver* driver_ = nullptr;
  std::unique_ptr<Side> a_;
  Endpoint* to_b_ = nullptr;
};

TEST_F(EndsLate, WhatArrivedBeforeTheDeathIsAwaitedThoughPostsFail) {
  ASSERT_TRUE(b_.send_header(b_.to(*a_), 1, "last words").ok());
  b_.driver->fail();
  (void)a_->send_header(*to_b_, 1, "the driver refuses this");
  progress_a();
  EXPECT_TRUE(a_->gone.empty());
  driver_->late = false;
  progress_a();
  ASSERT_EQ(a_->arrived.size(), 1u);
  EXPECT_EQ(a_->arrived[0].header, "last words");
  ASSERT_EQ(a_->gone.size(), 1u);
  EXPECT_EQ(a_->gone[0].second.code(), StatusCode::kPeerFailed);
}

TEST_F(EndsLate, CloseSaysSoWhenAGoodbyeIsStillWithTheDriver) {
  EXPECT_TRUE(a_->messenger->idle());
  EXPECT_FALSE(a_->messenger->close(20).ok());
}

class EndsWithWindows : public Ends {
 protected:
  EndsWithWindows() : Ends(LoopbackOptions()) {}
};

TEST_F(EndsWithWindows, AReceiverDiesWithAnOpenWindow) {
  Sent& sent = a_.send(*to_b_, 1, pattern(50000000));
  (void)b_->messenger->progress();
  (void)a_.messenger->progress();
  EXPECT_EQ(sent.done, 0);
  b_->driver->fail();
  progress_a();
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(sent.status.code(), StatusCode::kPeerFailed);
  expect_gone_once(StatusCode::kPeerFailed);
}

TEST_F(EndsWithWindows, ASenderDiesBeforeItIsPlaced) {
  b_->send(b_->to(a_), 1, pattern(50000000));
  (void)a_.messenger->progress();
  (void)b_->messenger->progress();
  b_->driver->fail();
  progress_a();
  ASSERT_EQ(a_.arrived.size(), 1u);
  EXPECT_EQ(a_.arrived[0].done, 1);
  EXPECT_EQ(a_.arrived[0].status.code(), StatusCode::kPeerFailed);
  expect_gone_once(StatusCode::kPeerFailed);
}

}  // namespace
}  // namespace mad
