// The data path allocates nothing, and what cannot be allocated elsewhere ends well.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "madlike/message/head_pool.h"
#include "madlike/message/side.h"
#include "tests/support/allocations.h"

namespace mad {
namespace {

/// Sends one payload back for each that arrives, and allocates nothing itself.
class Player final : public MessageEvents {
 public:
  Player(std::shared_ptr<LoopbackNetwork> network, std::size_t size, std::size_t reference_from)
      : bytes_(pattern(size)), reference_from_(reference_from), sink_(size) {
    auto driver = std::make_unique<LoopbackDriver>(std::move(network));
    address = driver->address();
    std::vector<std::unique_ptr<Driver>> drivers;
    drivers.push_back(std::move(driver));
    messenger = std::make_unique<Messenger>(MessengerConfig(), *this, std::move(drivers));
  }
  void serve(Endpoint& to) {
    source_ = BytesSource(bytes_, reference_from_, 1 << 20);
    message_.source = &source_;
    message_.payload_bytes = bytes_.size();
    ASSERT_FALSE(messenger->send(to, 1, {header_, sizeof(header_)}, message_).error());
  }
  void on_message(Endpoint& from, std::uint8_t, Segment, std::uint64_t,
                  IncomingMessage* message) override {
    from_ = &from;
    if (messenger->accept(*message, sink_, sink_.bytes.size(), this).ok()) back();
  }
  void on_received(void*, std::uint64_t, const Status& status) override {
    ASSERT_TRUE(status.ok());
    back();
  }
  void on_sent(OutgoingMessage&, const Status&) override {}
  void on_peer_gone(Endpoint&, const Status&) override {}

  int received = 0;
  std::vector<std::byte> address;
  std::unique_ptr<Messenger> messenger;

 private:
  void back() {
    ++received;
    serve(*from_);
  }
  char header_[24] = "a header of 24 bytes...";
  Bytes bytes_;
  std::size_t reference_from_;
  BytesSource source_{bytes_, reference_from_, 1};
  OutgoingMessage message_;
  BytesSink sink_;
  Endpoint* from_ = nullptr;
};

std::size_t allocations_of_play(const LoopbackOptions& options, std::size_t size,
                                std::size_t reference_from) {
  auto network = std::make_shared<LoopbackNetwork>(options);
  Player a(network, size, reference_from), b(network, size, reference_from);
  a.serve(*a.messenger->connect({{0, b.address}}).value());
  const auto play = [&](int until) {
    for (int i = 0; i < 100000 && a.received < until; ++i) {
      (void)b.messenger->progress();
      (void)a.messenger->progress();
    }
    EXPECT_GE(a.received, until);
  };
  play(40);
  const std::size_t before = test::allocations().count;
  play(80);
  return test::allocations().count - before;
}

TEST(Allocation, SmallMessagesTakeNone) { EXPECT_EQ(allocations_of_play({}, 8, 1024), 0u); }

TEST(Allocation, EagerMessagesTakeNone) { EXPECT_EQ(allocations_of_play({}, 30000, 1024), 0u); }

TEST(Allocation, LargeMessagesTakeNone) {
  LoopbackOptions options;
  options.remote_write = false;  // this fabric allocates to expose memory
  EXPECT_EQ(allocations_of_play(options, 1 << 20, 1024), 0u);
  EXPECT_EQ(allocations_of_play(options, 1 << 20, ~std::size_t{0}), 0u);
}

TEST(Allocation, MessagesInLentMemoryTakeNone) {
  LoopbackOptions options;
  options.remote_write = false;
  options.lent_bytes = 1000;
  for (const std::size_t size : {8, 500, 30000, 1 << 20}) {
    EXPECT_EQ(allocations_of_play(options, size, 1024), 0u) << size;
  }
}

TEST(Allocation, AMessageOfAnySizeStaysWithinTheStagingBudget) {
  LoopbackOptions options;
  options.remote_write = false;
  MessengerConfig config;
  config.staging_bytes = 1 << 20;
  auto network = std::make_shared<LoopbackNetwork>(options);
  Side a(network, config), b(network, config);
  a.reference_from = ~std::size_t{0};
  Endpoint& to_b = a.to(b);
  ASSERT_TRUE(a.messenger->touch(to_b).ok());
  settle(a, b);
  b.on_arrival = [](Arrived&) {};
  a.send(to_b, 1, pattern(100 << 20));
  settle(a, b);
  BytesSink sink(100 << 20);
  // What is left to allocate: staging packets here, receive buffers of the fabric there.
  const std::size_t before = test::allocations().bytes;
  Arrived& arrived = b.arrived[0];
  ASSERT_TRUE(
      b.messenger->accept(*arrived.message, sink, sink.bytes.size(), &arrived).in_progress());
  ASSERT_TRUE(settle(a, b, [&] { return arrived.done == 1; }));
  EXPECT_TRUE(sink.bytes == a.sent[0].bytes);
  EXPECT_LT(test::allocations().bytes - before, (1u << 20) + 64 * 65536 + 100000);
}

// Streams to a receiver that is behind would spend most of their time giving it back and taking it.
TEST(Allocation, HeadsThatWaitAreKeptInTheMemoryOfEarlierOnes) {
  if (HeadPool::kMostIdle == 0) GTEST_SKIP() << "AddressSanitizer sees more where none is kept";
  constexpr std::size_t kBytes = 20000, kMessages = 8;
  auto network = std::make_shared<LoopbackNetwork>();
  MessengerConfig config;
  config.peer_credit = 10 * kMessages * kBytes;
  Side a(network, config), b(network, config);
  Endpoint& to_b = a.to(b);
  b.on_arrival = [](Arrived&) {};
  BytesSink sink(kBytes);
  for (std::size_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < kMessages; ++i) a.send(to_b, 1, pattern(kBytes, i));
    test::fail_allocations_from(round == 3 ? kBytes : 0);
    const bool came = settle(a, b, [&] { return b.arrived.size() == round * kMessages; });
    test::fail_allocations_from(0);
    ASSERT_TRUE(came);
    for (std::size_t i = 0; i < kMessages; ++i) {
      Arrived& arrived = b.arrived[(round - 1) * kMessages + i];
      ASSERT_TRUE(b.messenger->accept(*arrived.message, sink, kBytes, &arrived).ok()) << round;
      EXPECT_TRUE(sink.bytes == pattern(kBytes, i));
    }
  }
}

TEST(Allocation, AHeaderThatCannotBeKeptIsNotSent) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Endpoint& to_b = a.to(b);
  ASSERT_TRUE(a.messenger->touch(to_b).ok());  // what is sent now waits for b
  const std::string header(20000, 'h');
  test::fail_allocations_from(10000);
  const Status without = a.send_header(to_b, 1, header);
  Sent& with = a.send(to_b, 1, {}, header);
  test::fail_allocations_from(0);
  EXPECT_EQ(without.code(), StatusCode::kNoMemory);
  EXPECT_EQ(with.status.code(), StatusCode::kNoMemory);
  settle(a, b);
  EXPECT_TRUE(b.arrived.empty());
  EXPECT_EQ(with.done, 0);
  EXPECT_TRUE(a.messenger->idle());
  ASSERT_TRUE(a.send_header(to_b, 1, header).ok());
  settle(a, b);
  EXPECT_EQ(b.arrived.size(), 1u);
}

TEST(Allocation, AHeadThatCannotBeKeptEndsItsPeer) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Endpoint& to_b = a.to(b);
  ASSERT_TRUE(a.messenger->touch(to_b).ok());
  settle(a, b);
  b.on_arrival = [](Arrived&) {};
  a.send(to_b, 1, pattern(50000), "kept");
  settle(a, b);
  a.send(to_b, 1, pattern(50000, 2), "lost");
  test::fail_allocations_from(40000);
  settle(a, b);
  test::fail_allocations_from(0);
  ASSERT_EQ(b.arrived.size(), 2u);
  ASSERT_EQ(b.gone.size(), 1u);
  EXPECT_EQ(b.gone[0].second.code(), StatusCode::kNoMemory);
  b.accept(b.arrived[0]);
  EXPECT_TRUE(b.arrived[0].sink->bytes == pattern(50000));
  b.accept(b.arrived[1]);
  EXPECT_EQ(b.arrived[1].status.code(), StatusCode::kNoMemory);
  EXPECT_EQ(a.gone.size(), 1u);
}

}  // namespace
}  // namespace mad
