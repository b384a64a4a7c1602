// The chunks of one message, and what becomes of those that nobody takes.
#include "madlike/message/session/inbound_message.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <utility>

#include "madlike/driver/loopback/loopback.h"
#include "madlike/message/session/bytes_payload.h"
#include "tests/support/allocations.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

/// An engine that keeps what arrives and counts what has left.
struct Shelf final : MessageEvents {
  explicit Shelf(std::shared_ptr<LoopbackNetwork> network) {
    auto driver = std::make_unique<LoopbackDriver>(std::move(network));
    address = driver->address();
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(driver));
    MessengerConfig config;
    config.eager_limit = 0;  // every message waits for its receiver's word
    messenger = std::make_unique<Messenger>(config, *this, std::move(drivers));
  }
  void on_message(Endpoint& endpoint, std::uint8_t, Segment, std::uint64_t,
                  IncomingMessage* message) override {
    from = &endpoint;
    arrived.push_back(message);
  }
  void on_sent(OutgoingMessage&, const Status& status) override { left += status.ok() ? 1 : 0; }
  void on_received(void*, std::uint64_t, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}

  std::vector<std::byte> address;
  Endpoint* from = nullptr;
  std::vector<IncomingMessage*> arrived;
  int left = 0;
  std::unique_ptr<Messenger> messenger;
};

class InboundMessageTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kChunks = 4;
  static constexpr std::uint64_t kBytes = 100;

  InboundMessageTest() {
    Endpoint* const to = a_.messenger->connect({{0, b_.address}}).value();
    for (std::size_t i = 0; i < kChunks; ++i) {
      sources_[i] = BytesSource({bytes_.data(), bytes_.size()});
      messages_[i].source = &sources_[i];
      messages_[i].payload_bytes = bytes_.size();
      EXPECT_TRUE(a_.messenger->send(*to, 1, {}, messages_[i]).in_progress());
    }
    pump();
    EXPECT_EQ(b_.arrived.size(), kChunks);
    inbound_ = std::make_unique<InboundMessage>(*b_.messenger, *b_.from, 7);
  }
  void pump() {
    for (int i = 0; i < 50; ++i) {
      (void)a_.messenger->progress();
      (void)b_.messenger->progress();
    }
  }
  /// Messages that the receiver has refused.
  int refused() {
    pump();
    return a_.left;
  }
  void add(std::uint32_t sequence, std::size_t message,
           ChunkHeader::Kind kind = ChunkHeader::Kind::kStaged, bool last = false) {
    ChunkHeader header;
    header.kind = kind;
    header.last = last;
    header.message = 7;
    header.sequence = sequence;
    inbound_->add(header, kBytes + sequence, b_.arrived[message]);
  }

  std::shared_ptr<LoopbackNetwork> network_ = std::make_shared<LoopbackNetwork>();
  Bytes bytes_ = pattern(kBytes);
  BytesSource sources_[kChunks];
  OutgoingMessage messages_[kChunks];
  Shelf a_{network_}, b_{network_};
  std::unique_ptr<InboundMessage> inbound_;
};

TEST_F(InboundMessageTest, ChunksAreTakenInTheirOrder) {
  EXPECT_EQ(inbound_->number(), 7u);
  EXPECT_EQ(&inbound_->from(), b_.from);
  EXPECT_TRUE(inbound_->empty());
  add(0, 0);
  add(1, 1, ChunkHeader::Kind::kLong);
  EXPECT_FALSE(inbound_->announced_all());
  add(2, 2, ChunkHeader::Kind::kStaged, true);
  EXPECT_TRUE(inbound_->announced_all());
  EXPECT_EQ(inbound_->front().message, b_.arrived[0]);
  for (std::uint32_t i = 0; i < 3; ++i) {
    ASSERT_FALSE(inbound_->empty());
    const InboundMessage::Chunk chunk = inbound_->take();
    EXPECT_EQ(chunk.message, b_.arrived[i]);
    EXPECT_EQ(chunk.bytes, kBytes + i);
    EXPECT_EQ(chunk.kind, i == 1 ? ChunkHeader::Kind::kLong : ChunkHeader::Kind::kStaged);
    EXPECT_EQ(chunk.last, i == 2);
  }
  EXPECT_TRUE(inbound_->empty());
  EXPECT_TRUE(inbound_->rest().ok());
  EXPECT_EQ(refused(), 0) << "who takes a chunk accepts it";
}

TEST_F(InboundMessageTest, ChunksComeWhileOthersAreTaken) {
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    add(i, i);
    EXPECT_EQ(inbound_->take().message, b_.arrived[i]);
    EXPECT_TRUE(inbound_->empty());
  }
}

TEST_F(InboundMessageTest, WhatIsKeptDoesNotGrowWithTheLength) {
  constexpr std::uint32_t kWaiting = 3, kLong = 10000;
  std::uint32_t sequence = 0;
  const auto one_more = [&] { add(sequence, sequence % kChunks), ++sequence; };
  while (sequence < kWaiting) one_more();
  for (int i = 0; i < 20; ++i) one_more(), (void)inbound_->take();
  const std::size_t before = test::allocations().count;
  while (sequence < kLong) {
    one_more();
    const std::uint32_t taken = sequence - 1 - kWaiting;
    ASSERT_EQ(inbound_->take().message, b_.arrived[taken % kChunks]);
  }
  EXPECT_EQ(test::allocations().count, before);
}

TEST_F(InboundMessageTest, AGapFailsTheRestAndIsRefused) {
  add(0, 0);
  add(2, 1);
  EXPECT_EQ(inbound_->rest().code(), StatusCode::kProtocol);
  EXPECT_EQ(inbound_->take().message, b_.arrived[0]) << "what came in order stays";
  EXPECT_TRUE(inbound_->empty());
  EXPECT_EQ(refused(), 1);
}

TEST_F(InboundMessageTest, ARepeatedChunkIsRefusedToo) {
  add(0, 0);
  add(0, 1);
  EXPECT_EQ(inbound_->rest().code(), StatusCode::kProtocol);
  EXPECT_EQ(refused(), 1);
}

TEST_F(InboundMessageTest, TheFirstReasonStands) {
  inbound_->fail_rest({StatusCode::kPeerFailed, "it died"});
  inbound_->fail_rest({StatusCode::kClosed, "it left"});
  EXPECT_EQ(inbound_->rest().code(), StatusCode::kPeerFailed);
}

TEST_F(InboundMessageTest, DiscardGivesBackWhatNobodyTook) {
  for (std::uint32_t i = 0; i < kChunks; ++i) add(i, i);
  (void)inbound_->take();
  inbound_->discard();
  EXPECT_TRUE(inbound_->empty());
  EXPECT_EQ(refused(), static_cast<int>(kChunks) - 1);
}

}  // namespace
}  // namespace mad
