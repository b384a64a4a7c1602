// What one turn does for one endpoint: what may leave, what never does, and whether there is more
// to do soon.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "madlike/message/scripted_driver.h"
#include "madlike/message/sender.h"

namespace mad {
namespace {

/// As many zeros as are asked for.
struct Zeros final : PayloadSource {
  void fill(Packet& packet, std::uint64_t limit) override {
    packet.stage(std::min<std::uint64_t>(limit, packet.staging_room().size));
  }
};

class PumpTest : public ::testing::Test {
 protected:
  explicit PumpTest(const MessengerConfig& its_config = config()) : core_(its_config, events_) {
    to_.state = greeted();
    to_.link = driver_.link(0);
  }
  static MessengerConfig config() {
    MessengerConfig out;
    out.packet_bytes = 1024;
    out.staging_bytes = 64 * 1024;
    out.peer_credit = 4000;
    return out;
  }

  void let_frames_wait(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(to_.queue.first_frames.push(1, {}, nullptr));
    core_.waiting += count;
  }
  void let_credit_wait() {
    to_.credit.charge(core_.credit_threshold);
    to_.credit.release(core_.credit_threshold);
  }
  /// A message whose receiver wants `packets` packets of 100 bytes.
  OutgoingMessage& stream(std::size_t packets) { return stream(to_, 100 * packets, 100); }
  OutgoingMessage& stream(Endpoint& to, std::size_t bytes, std::size_t flush_bytes) {
    OutgoingMessage& message = messages_.emplace_back();
    message.source = &zeros_;
    message.flush_bytes = flush_bytes;
    message.payload_bytes = bytes;
    state_of(message).endpoint = &to;
    state_of(message).peer_id = 7;
    state_of(message).accepted = message.payload_bytes;
    sender_.stream(message);
    return message;
  }
  void refuse_one() {
    IncomingMessage& message = *core_.incoming.add();
    message.endpoint = &to_;
    message.peer_id = 1;
    message.phase = IncomingMessage::Phase::kRefusing;
    ++to_.arrivals;
    sender_.clear(message, true);
  }
  void expect_at_rest() {
    const std::size_t before = driver_.accepted.size();
    EXPECT_FALSE(sender_.pump(to_));
    EXPECT_FALSE(sender_.has_work(to_));
    EXPECT_EQ(driver_.accepted.size(), before);
  }

  NoEvents events_;
  ScriptedDriver driver_;
  Core core_;
  Sender sender_{core_};
  Endpoint to_{{{0, {}}}, &driver_};
  Zeros zeros_;
  std::deque<OutgoingMessage> messages_;
};

// What was refused is missing: whatever follows would be taken for it.
TEST_F(PumpTest, AfterARefusalNothingIsPosted) {
  driver_.script = {{StatusCode::kPeerFailed, "it died"}};
  ASSERT_TRUE(sender_.send_header(to_, 1, {}).ok());
  ASSERT_TRUE(to_.state.refused());
  let_credit_wait();
  expect_at_rest();
  EXPECT_TRUE(driver_.accepted.empty());
}

// It was written, and its receiver was to answer.
TEST_F(PumpTest, AMessageWhosePostFailsOnceItIsWrittenFailsOnce) {
  const Status died{StatusCode::kPeerFailed, "it died"};
  for (const bool queued : {false, true}) {
    SCOPED_TRACE(queued ? "its turn came" : "at once");
    Endpoint to({{0, {}}}, &driver_);
    to.state = greeted();
    to.link = driver_.link(0);
    to.link.lent_bytes = to.link.short_bytes = 512;
    if (queued) driver_.lent_script.emplace_back(StatusCode::kAgain);
    driver_.lent_script.push_back(died);
    OutgoingMessage& message = messages_.emplace_back();
    message.source = &zeros_;
    message.payload_bytes = 1 << 20;
    ASSERT_TRUE(sender_.send(to, 1, {}, message).in_progress());
    if (queued) (void)sender_.pump(to);
    ASSERT_TRUE(to.state.refused());
    EXPECT_EQ(core_.outgoing.find(1), nullptr) << "the peer may name it";
    sender_.abandon(to);
    int told = 0;
    for (; told < 3 && !core_.finished.empty(); ++told) {
      EXPECT_EQ(core_.finished.pop(), &message);
    }
    EXPECT_EQ(told, 1);
    EXPECT_EQ(core_.waiting, 0u);
  }
}

TEST_F(PumpTest, AGoodbyeIsTheLastWord) {
  to_.state.set_leaving();
  EXPECT_FALSE(sender_.pump(to_));
  EXPECT_EQ(driver_.accepted_of(FrameKind::kGoodbye), 1u);
  let_credit_wait();
  let_frames_wait(1);
  expect_at_rest();
}

// Its number may be another endpoint's.
TEST_F(PumpTest, WithoutAConnectionNothingIsPosted) {
  to_.state = PeerState();
  let_frames_wait(1);
  expect_at_rest();
  EXPECT_TRUE(driver_.accepted.empty());
}

TEST_F(PumpTest, AGoodbyeThatIsPushedBackIsSaidLater) {
  to_.state.set_leaving();
  driver_.script = {StatusCode::kAgain};
  (void)sender_.pump(to_);
  EXPECT_TRUE(sender_.has_work(to_));
  (void)sender_.pump(to_);
  EXPECT_EQ(driver_.accepted_of(FrameKind::kGoodbye), 1u);
}

TEST_F(PumpTest, AGoodbyeFollowsAllMessagesThatWait) {
  let_frames_wait(40);
  to_.state.set_leaving();
  while (sender_.pump(to_)) continue;
  EXPECT_EQ(driver_.accepted_of(FrameKind::kMessage), 40u);
  EXPECT_EQ(driver_.accepted_of(FrameKind::kGoodbye), 1u);
  expect_at_rest();
}

TEST_F(PumpTest, AGoodbyeFollowsAllPayload) {
  stream(40);
  to_.state.set_leaving();
  while (sender_.pump(to_)) continue;
  EXPECT_EQ(driver_.accepted_of(FrameKind::kData), 40u);
  EXPECT_EQ(driver_.accepted_of(FrameKind::kGoodbye), 1u);
  expect_at_rest();
}

// Neither a frame nor a write is posted for bytes that there are not, and nobody waits for them.
TEST_F(PumpTest, APayloadThatEndsEarlyEndsItsPeer) {
  struct Nothing final : PayloadSource {
    void fill(Packet&, std::uint64_t) override {}
  } nothing;
  for (const bool written : {false, true}) {
    SCOPED_TRACE(written);
    Endpoint to({{0, {}}}, &driver_);
    to.state = greeted();
    to.link = driver_.link(0);
    OutgoingMessage message;
    message.source = &nothing;
    message.payload_bytes = 100;
    auto& state = state_of(message);
    state.endpoint = &to;
    state.accepted = 100;
    state.has_window = written;
    sender_.stream(message);
    (void)sender_.pump(to);
    EXPECT_TRUE(driver_.accepted.empty());
    EXPECT_FALSE(to.state.live());
    EXPECT_EQ(to.packets.streaming, 0u) << "its packet is free";
  }
  core_.active.clear();  // with them
  core_.ending.clear();
}

// Whoever waits for events meanwhile must not sleep.
TEST_F(PumpTest, SeveralPacketsOfALongMessageLeaveAndMoreDoSoon) {
  const OutgoingMessage& message = stream(40);
  EXPECT_TRUE(sender_.pump(to_));
  EXPECT_GT(driver_.accepted_of(FrameKind::kData), 1u);
  EXPECT_LT(driver_.accepted_of(FrameKind::kData), 40u) << "others have their turn, too";
  while (sender_.pump(to_)) continue;
  EXPECT_EQ(driver_.accepted_of(FrameKind::kData), 40u);
  EXPECT_EQ(core_.finished.pop(), &message);
  expect_at_rest();
}

// Though both are peers of one fabric.
TEST_F(PumpTest, PacketsOfAPeerAreThoseOfItsLink) {
  Endpoint far{{{0, {}}}, &driver_};
  far.state = greeted(ScriptedDriver::kFar);
  far.link = driver_.link(ScriptedDriver::kFar);
  for (Endpoint* const to : {&to_, &far}) {
    driver_.accepted.clear();
    const OutgoingMessage& message = stream(*to, 2000, 2000);
    while (sender_.pump(*to)) continue;
    std::size_t payload = 0;
    for (const std::vector<std::byte>& packet : driver_.accepted) {
      EXPECT_LE(packet.size(), to->link.max_packet_bytes);
      payload += packet.size() - kFrameBytes;
    }
    EXPECT_EQ(payload, 2000u);
    const std::size_t most = to->link.max_packet_bytes - kFrameBytes;
    EXPECT_EQ(driver_.accepted.size(), (2000 + most - 1) / most) << "none is shorter than need be";
    EXPECT_EQ(core_.finished.pop(), &message);
  }
  core_.active.clear();  // with the far one
}

// Who lends memory is told how long the runs are that are copied there, in every way to leave.
TEST_F(PumpTest, WhoLendsMemoryKnowsTheRuns) {
  to_.link.lent_bytes = to_.link.short_bytes = 512;
  to_.credit.grant(4000);
  const auto start = [&](std::uint64_t run_bytes, std::size_t bytes) {
    OutgoingMessage& message = messages_.emplace_back();
    message.source = &zeros_;
    message.payload_bytes = bytes;
    message.run_bytes = run_bytes;
    EXPECT_FALSE(sender_.send(to_, 1, {}, message).error());
    return driver_.lent_run_bytes;
  };
  EXPECT_EQ(start(16, 100), 16u);
  EXPECT_EQ(start(24, 1000), 24u) << "in pieces";
  EXPECT_EQ(start(UINT64_MAX, 100), UINT64_MAX);
  ASSERT_TRUE(sender_.send_at_once(to_, 1, {}, zeros_, 100, 32).ok());
  EXPECT_EQ(driver_.lent_run_bytes, 32u);
  OutgoingMessage& streamed = stream(1);
  streamed.run_bytes = 40;
  (void)sender_.pump(to_);
  EXPECT_EQ(driver_.lent_run_bytes, 40u);
}

// A fabric may find out that it has no room when it has a short packet written.
TEST_F(PumpTest, AShortPacketThatDidNotLeaveCostsNoCreditAndLeavesLater) {
  to_.link.short_bytes = 512;
  to_.credit.grant(4000);
  to_.credit.charge(100);
  to_.credit.release(100);
  driver_.writes_in_vain = true;
  driver_.lent_script.assign(1, StatusCode::kAgain);
  std::vector<std::byte> payload(64, std::byte{1});
  const TaggedHeader header{{7, 3, 99}, 0};
  const Segment run{payload.data(), payload.size()};
  EXPECT_FALSE(sender_.send_short(to_, header, run));
  EXPECT_EQ(to_.credit.available(), 4000u);
  EXPECT_EQ(to_.credit.to_return(), 100u);
  EXPECT_EQ(core_.counters.staged_bytes, 0u);
  EXPECT_TRUE(driver_.accepted.empty());
  EXPECT_TRUE(sender_.send_short(to_, header, run));
  EXPECT_EQ(to_.credit.available(), 4000u - 64);
  EXPECT_EQ(to_.credit.to_return(), 0u);
  EXPECT_EQ(driver_.accepted.size(), 1u);
}

// Its packets come back with completions of the driver, which wake up who sleeps.
TEST_F(PumpTest, AStreamWhoseShareIsWithTheDriverKeepsNobodyAwake) {
  stream(40);
  driver_.script.assign(40, StatusCode::kInProgress);
  for (int turns = 0; sender_.pump(to_); ++turns) ASSERT_LT(turns, 40);
  EXPECT_GT(driver_.accepted.size(), 1u);
  EXPECT_LT(driver_.accepted.size(), 40u);
  EXPECT_TRUE(sender_.has_work(to_));
}

TEST_F(PumpTest, AQuarterOfTheCreditIsReturnedByItself) {
  to_.credit.charge(core_.credit_threshold);
  to_.credit.release(core_.credit_threshold - 1);
  expect_at_rest();
  to_.credit.release(1);
  EXPECT_TRUE(sender_.has_work(to_));
  EXPECT_FALSE(sender_.pump(to_));
  EXPECT_EQ(driver_.accepted_of(FrameKind::kCredit), 1u);
  EXPECT_EQ(to_.credit.to_return(), 0u);
}

TEST_F(PumpTest, PacketsOfOneTurnMayLeaveTogether) {
  let_frames_wait(3);
  (void)sender_.pump(to_);
  refuse_one();
  refuse_one();
  (void)sender_.pump(to_);
  stream(3);
  (void)sender_.pump(to_);
  EXPECT_EQ(driver_.accepted.size(), 3u + 2u + 3u);
  EXPECT_EQ(driver_.uncorked_posts, 0u);
  EXPECT_FALSE(driver_.corked) << "and not wait for the next turn";
}

// Bytes of payload that leave with the header of a message of so many, in such runs.
class WholeWrites : public PumpTest {
 protected:
  explicit WholeWrites(const MessengerConfig& its_config = config()) : PumpTest(its_config) {
    to_.credit.grant(4000);
  }
  void write_whole_from(std::size_t bytes) {
    driver_.write_whole_from(bytes);
    to_.link = driver_.link(0);
  }
  std::uint64_t head_of(std::uint64_t payload, std::uint64_t run_bytes) {
    OutgoingMessage& message = messages_.emplace_back();
    message.source = &zeros_;
    message.payload_bytes = payload;
    message.run_bytes = run_bytes;
    EXPECT_FALSE(sender_.send(to_, 1, {}, message).error());
    std::vector<std::byte>& packet = driver_.accepted.back();
    return packet.size() - kFrameBytes;
  }
};

TEST_F(WholeWrites, AreNotBegunWithTheHeader) {
  EXPECT_EQ(head_of(200, 200), 200u) << "a fabric for which that makes no difference";
  write_whole_from(100);
  EXPECT_EQ(head_of(99, 99), 99u);
  EXPECT_EQ(head_of(100, 100), 0u);
  EXPECT_EQ(head_of(200, 10), 0u);
  EXPECT_EQ(head_of(200, 9), 200u) << "short runs are not written";
}

class WholeWritesUnlessChecked : public WholeWrites {
 protected:
  WholeWritesUnlessChecked() : WholeWrites(checked()) {}
  static MessengerConfig checked() {
    MessengerConfig out = config();
    out.checksum = true;
    return out;
  }
};

TEST_F(WholeWritesUnlessChecked, AreNone) {
  write_whole_from(100);
  EXPECT_EQ(head_of(200, 200), 200u);
}

class WholeWritesUnlessLimited : public WholeWrites {
 protected:
  WholeWritesUnlessLimited() : WholeWrites(limited()) {}
  static MessengerConfig limited() {
    MessengerConfig out = config();
    out.eager_limit = 150;
    return out;
  }
};

TEST_F(WholeWritesUnlessLimited, AreThoseOfWhoDidNotChoose) {
  write_whole_from(100);
  EXPECT_EQ(head_of(200, 200), 150u);
}

}  // namespace
}  // namespace mad
