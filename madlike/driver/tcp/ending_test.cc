// How connections end, as who leaves them sees it.
#include "madlike/driver/tcp/raw_peer.h"

namespace mad {
namespace {

class TcpEnding : public TcpRawPeer {
 protected:
  void SetUp() override {
    TcpRawPeer::SetUp();
    enter();
  }

  /// Posts packets until one waits for its peer, which reads nothing.
  void fill() {
    const Segment segment{packet_.data(), packet_.size()};
    Status status;
    for (int i = 0; i < 100000 && status.ok(); ++i) {
      status = engine_->post_send(connection_, {&segment, 1}, &packet_);
    }
    ASSERT_TRUE(status.in_progress()) << status.message();
  }

  Bytes packet_ = Bytes(64 * 1024);
};

// It will not hear of them otherwise.
TEST_F(TcpEnding, WhoHasPacketsUnderWayIsNotSentToSleepWhenItBreaksAConnection) {
  fill();
  Bytes memory(8);
  const auto token = engine_->expose(connection_, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  ASSERT_TRUE(pump([&] { return may_sleep(); }));
  ASSERT_EQ(sent_, 0u);
  engine_->disconnect(connection_);
  EXPECT_FALSE(may_sleep());
  EXPECT_TRUE(pump([&] { return sent_ == 1; }));
  EXPECT_EQ(sent_status_.code(), StatusCode::kClosed);
  engine_->withdraw(connection_, *token);
  EXPECT_TRUE(pump([&] { return may_sleep(); }));
}

TEST_F(TcpEnding, WhatTheSystemKeepsHasNotArrived) {
  fill();
  EXPECT_FALSE(engine_->arrived(connection_));
  ASSERT_TRUE(pump([&] {
    (void)read_some(4096);
    return sent_ == 1;
  }));
  EXPECT_TRUE(sent_status_.ok());
  EXPECT_FALSE(engine_->arrived(connection_)) << "the peer's host has no room for it";
  EXPECT_TRUE(pump([&] {
    (void)read_some(1024 * 1024);
    return engine_->arrived(connection_);
  }));
}

}  // namespace
}  // namespace mad
