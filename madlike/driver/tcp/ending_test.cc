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

  /// Posts packets, which their peer does not read, until no more are taken.
  void fill() {
    const Segment segment{packet_.data(), packet_.size()};
    Status status;
    while (!status.again()) {
      status = engine_->post_send(connection_, {&segment, 1}, &packet_);
      ASSERT_FALSE(status.error()) << status.message();
      if (!status.again()) ++posted_;
      if (status.in_progress()) ++pending_;
    }
    ASSERT_GT(pending_, 0u);
  }

  Bytes packet_ = Bytes(256 * 1024);
  std::size_t posted_ = 0, pending_ = 0;  // packets; of them, that wait
};

// It will not hear of them otherwise.
TEST_F(TcpEnding, WhoHasPacketsUnderWayIsNotSentToSleepWhenItBreaksAConnection) {
  fill();
  Bytes memory(8);
  const auto token = engine_->expose(connection_, {memory.data(), memory.size()});
  ASSERT_TRUE(token.ok());
  ASSERT_TRUE(pump([&] { return may_sleep(); }));
  engine_->disconnect(connection_);
  EXPECT_FALSE(may_sleep());
  EXPECT_TRUE(pump([&] { return sent_ == pending_; }));
  EXPECT_EQ(sent_status_.code(), StatusCode::kClosed);
  engine_->withdraw(connection_, *token);
  EXPECT_TRUE(pump([&] { return may_sleep(); }));
}

TEST_F(TcpEnding, WhatTheSystemKeepsHasNotArrived) {
  fill();
  EXPECT_FALSE(engine_->arrived(connection_));
  ASSERT_TRUE(pump([&] {
    (void)read_some(4096);
    return sent_ == pending_;
  }));
  EXPECT_TRUE(sent_status_.ok());
  EXPECT_FALSE(engine_->arrived(connection_)) << "the peer's host has no room for it";
  EXPECT_TRUE(pump([&] {
    (void)read_some(1024 * 1024);
    return engine_->arrived(connection_);
  }));
}

TEST_F(TcpEnding, WhoIsLeftIsWaitedForAsLongAsItReads) {
  fill();
  engine_->disconnect(connection_);
  Bytes heard;
  EXPECT_TRUE(pump([&] {
    (void)read_some(1024, &heard);
    return heard_all();
  }));
  const Bytes packet = packed(packet_);
  Bytes expected;
  for (std::size_t i = 0; i < posted_; ++i) {
    expected.insert(expected.end(), packet.begin(), packet.end());
  }
  const Bytes last = packed_record({TcpRecord::Kind::kLast, 0, 0, 0}, {});
  expected.insert(expected.end(), last.begin(), last.end());
  EXPECT_TRUE(without_fillers(heard) == expected);
  EXPECT_EQ(sent_, pending_);
  EXPECT_TRUE(sent_status_.ok()) << sent_status_.message();
}

TEST_F(TcpEnding, WhoIsLeftAndReadsNothingIsNotWaitedForForever) {
  TcpOptions options = on_lo();
  options.close_timeout = milliseconds(50);
  ASSERT_NO_FATAL_FAILURE(open(options));
  enter();
  fill();
  engine_->disconnect(connection_);
  EXPECT_TRUE(pump([&] { return sent_ == pending_; }));
  EXPECT_EQ(sent_status_.code(), StatusCode::kClosed);
}

}  // namespace
}  // namespace mad
