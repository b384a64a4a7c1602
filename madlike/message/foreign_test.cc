// Foreign peers: those whose greeting is another than ours.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "madlike/message/raw_peer.h"
#include "madlike/message/receiver.h"
#include "madlike/message/scripted_driver.h"
#include "madlike/message/side.h"
#include "madlike/message/wire.h"

namespace mad {
namespace {

Bytes text(const std::string& words) {
  Bytes out;
  for (const char c : words) out.push_back(static_cast<std::byte>(c));
  return out;
}

MessengerConfig saying(const std::string& greeting) {
  MessengerConfig config;
  config.greeting = text(greeting);
  return config;
}

/// Everything a fabric can do to another one's memory.
LoopbackOptions direct() {
  LoopbackOptions options;
  options.offered_from = 1000;
  options.most_offered = 30000;
  return options;
}

class Greetings : public ::testing::Test {
 protected:
  Greetings() : network_(std::make_shared<LoopbackNetwork>(direct())) {}

  /// Sides that say these words, and met.
  void meet(const std::string& one, const std::string& other) {
    a_ = std::make_unique<Side>(network_, saying(one));
    b_ = std::make_unique<Side>(network_, saying(other));
    for (Side* side : {a_.get(), b_.get()}) {
      side->on_foreign = [this](Segment greeting) {
        heard_.emplace_back(static_cast<const char*>(greeting.data), greeting.size);
        return answer_;
      };
    }
    to_b_ = &a_->to(*b_);
    ASSERT_TRUE(a_->messenger->touch(*to_b_).ok());
    settle(*a_, *b_);
  }
  /// A tagged message of so many bytes: whether its receiver was asked to take it.
  bool is_taken(std::size_t bytes) {
    bool taken = false;
    b_->on_take = [&](const TaggedHeader&, Segment) { return taken = true; };
    std::string header(kTaggedHeaderBytes, ' ');
    encode_tagged_header({{1, 2, 3}, 0}, reinterpret_cast<std::byte*>(header.data()));
    a_->send(*to_b_, kTaggedHandler, pattern(bytes), header);
    settle(*a_, *b_);
    return taken;
  }

  std::shared_ptr<LoopbackNetwork> network_;
  std::vector<std::string> heard_;
  Status answer_;
  std::unique_ptr<Side> a_, b_;
  Endpoint* to_b_ = nullptr;
};

TEST_F(Greetings, ThatAreAlikeAreNotTold) {
  meet("little", "little");
  EXPECT_TRUE(heard_.empty());
  EXPECT_FALSE(is_foreign(*to_b_));
  EXPECT_EQ(foreign_greeting(*to_b_).size, 0u);
  EXPECT_TRUE(is_taken(8));
}

TEST_F(Greetings, ThatDifferAreToldToBothAndKept) {
  meet("little", "big and more");
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_TRUE(is_foreign(*to_b_));
  const Segment kept = foreign_greeting(*to_b_);
  EXPECT_EQ(std::string(static_cast<const char*>(kept.data), kept.size), "big and more");
}

TEST_F(Greetings, MayBeMissingOnOneSide) {
  meet("", "big");
  ASSERT_EQ(heard_.size(), 2u);
  EXPECT_TRUE(heard_[0].empty() || heard_[1].empty());
  EXPECT_TRUE(is_foreign(*to_b_));
}

TEST_F(Greetings, ThatNobodyUnderstandsEndTheConnection) {
  answer_ = {StatusCode::kProtocol, "not understood"};
  meet("little", "big");
  ASSERT_FALSE(a_->gone.empty() && b_->gone.empty());
  for (Side* side : {a_.get(), b_.get()}) {
    for (const auto& gone : side->gone) EXPECT_NE(gone.second.code(), StatusCode::kOk);
  }
}

TEST_F(Greetings, ForeignMessagesAreNeitherTakenNorOfferedNorWritten) {
  meet("little", "big");
  EXPECT_FALSE(is_taken(8));
  for (const std::size_t bytes : {8, 20000, 900000}) {
    ASSERT_LE(a_->sent.size(), 4u);
    a_->send(*to_b_, 1, pattern(bytes, 5));
    settle(*a_, *b_);
    ASSERT_FALSE(b_->arrived.empty());
    EXPECT_EQ(b_->arrived.back().done, 1) << bytes;
    EXPECT_TRUE(b_->arrived.back().sink->bytes == pattern(bytes, 5)) << bytes;
  }
  EXPECT_TRUE(a_->all_sent());
  EXPECT_EQ(a_->messenger->counters().written_bytes, 0u);
}

TEST_F(Greetings, AlikeOnesLetThePayloadBeWritten) {
  meet("little", "little");
  a_->send(*to_b_, 1, pattern(900000));
  a_->send(*to_b_, 1, pattern(20000));
  settle(*a_, *b_);
  EXPECT_GE(a_->messenger->counters().written_bytes, 20000u);
}

/// Understands every greeting; meanwhile the peer writes where its packet is.
struct Understanding final : MessageEvents {
  Status on_greeting(Endpoint&, Segment greeting) override {
    heard.assign(static_cast<const char*>(greeting.data), greeting.size);
    std::fill(packet.begin(), packet.end(), std::byte{'?'});
    return {};
  }
  void on_message(Endpoint&, std::uint8_t, Segment, std::uint64_t, IncomingMessage*) override {}
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}

  std::string heard;
  Bytes packet = RawPeer::bytes_of(RawPeer::hello_frame(1000), text("big"));
};

TEST(ChangedGreeting, TheOneThatWasUnderstoodIsKept) {
  Understanding events;
  ScriptedDriver driver;
  Core core(saying("little"), events);
  Sender sender(core);
  Receiver receiver(core, sender);
  Endpoint from({{0, {}}}, &driver);
  from.state.set_connection(0);
  receiver.packet(from, Segment{events.packet.data(), events.packet.size()});
  EXPECT_EQ(events.heard, "big");
  ASSERT_TRUE(is_foreign(from));
  const Segment kept = foreign_greeting(from);
  EXPECT_EQ(std::string(static_cast<const char*>(kept.data), kept.size), "big");
}

TEST_F(Hostile, GreetingThatMeansNothing) {
  raw_.post(RawPeer::hello_frame(1000), text("who?"));
  expect_end(StatusCode::kProtocol);
}

TEST_F(Hostile, GreetingThatIsTooLong) {
  raw_.post(RawPeer::hello_frame(1000), Bytes(kMaxGreetingBytes + 1));
  expect_end(StatusCode::kProtocol);
}

}  // namespace
}  // namespace mad
