#include "tests/fault/faulty_driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <set>

#include "gtest/gtest.h"
#include "madlike/driver/loopback/loopback.h"

namespace mad {
namespace {

constexpr int kManyPolls = 20000;

// Two engines on one network, the first of them faulty; `other` takes what arrives.
class FaultyDriverTest : public ::testing::Test {
 protected:
  void open(FaultPlan plan) {
    network = std::make_shared<LoopbackNetwork>();
    faulty = std::make_unique<FaultyDriver>(std::make_unique<LoopbackDriver>(network), plan);
    other = std::make_unique<LoopbackDriver>(network);
    const auto connected = faulty->connect(other->address().data(), other->address().size());
    ASSERT_TRUE(connected.ok());
    to_other = connected.value();
    for (int i = 0; i < kManyPolls && connections == 0; ++i) poll();
    ASSERT_EQ(connections, 1);
    const auto back = other->connect(faulty->address().data(), faulty->address().size());
    ASSERT_TRUE(back.ok());
    to_faulty = back.value();
  }

  void poll() {
    std::array<Completion, 8> completions;
    std::size_t count = other->poll(completions.data(), completions.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (completions[i].kind == Completion::Kind::kReceived) {
        ++arrived_at_other;
        bytes_at_other.emplace_back(completions[i].bytes.begin(), completions[i].bytes.end());
        other->release(completions[i].buffer);
      } else if (completions[i].kind == Completion::Kind::kDisconnected) {
        other_ends.push_back(completions[i].status);
      }
    }
    count = faulty->poll(completions.data(), completions.size());
    for (std::size_t i = 0; i < count; ++i) note(completions[i]);
    most_at_once = std::max(most_at_once, count);
  }

  void note(const Completion& completion) {
    switch (completion.kind) {
      case Completion::Kind::kConnected:
        ++connections;
        break;
      case Completion::Kind::kReceived: {
        EXPECT_TRUE(ends.empty()) << "a packet after the end of its connection";
        int number = -1;
        std::memcpy(&number, completion.bytes.data, sizeof(number));
        numbers.push_back(number);
        faulty->release(completion.buffer);
        break;
      }
      case Completion::Kind::kDisconnected:
        ends.push_back(completion.status);
        break;
      case Completion::Kind::kSent:
      case Completion::Kind::kWritten:
        finished.push_back(completion.context);
        if (completion.status.error()) ++failed;
        break;
    }
  }

  // Posts a packet of 1 KiB that starts with `number`; polls while the driver says kAgain.
  Status send(Driver& from, ConnectionId connection, int number, void* context) {
    std::vector<std::byte>& bytes = sent_bytes.emplace_back(1024);
    std::memcpy(bytes.data(), &number, sizeof(number));
    const Segment segment{bytes.data(), bytes.size()};
    Status status = StatusCode::kAgain;
    for (int i = 0; i < kManyPolls && status.again(); ++i) {
      status = from.post_send(connection, {&segment, 1}, context);
      if (status.again()) poll();
    }
    return status;
  }

  std::shared_ptr<LoopbackNetwork> network;
  std::unique_ptr<FaultyDriver> faulty;
  std::unique_ptr<LoopbackDriver> other;
  ConnectionId to_other = 0;
  ConnectionId to_faulty = 0;
  int connections = 0;
  int failed = 0;
  int arrived_at_other = 0;
  std::size_t most_at_once = 0;
  std::vector<int> numbers;
  std::vector<void*> finished;
  std::vector<Status> ends;
  std::vector<Status> other_ends;
  std::deque<std::vector<std::byte>> sent_bytes;
  std::deque<std::vector<std::byte>> bytes_at_other;
};

// Payload is the second half of a packet whose number is even.
class SecondHalves final : public PacketTap {
 public:
  Segment payload(Segment packet, std::size_t) override {
    if ((*packet.begin() & std::byte{1}) != std::byte{0}) return {};
    return {packet.begin() + packet.size / 2, packet.size / 2};
  }
  void posting(Segment, std::size_t) override { ++announced; }
  void damaged(Segment packet, std::size_t) override {
    int number = 0;
    std::memcpy(&number, packet.begin(), sizeof(number));
    EXPECT_TRUE(flipped.insert(number).second) << number;
  }
  int announced = 0;
  std::set<int> flipped;  // numbers of packets
};

TEST_F(FaultyDriverTest, RefusedPostsDoNothing) {
  FaultPlan plan;
  plan.refuse_post = 500;
  open(plan);
  int context = 0;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(send(*faulty, to_other, i, &context).in_progress());
  for (int i = 0; i < kManyPolls && finished.size() < 100; ++i) poll();
  EXPECT_EQ(finished.size(), 100u);
  EXPECT_EQ(arrived_at_other, 100);
  EXPECT_GT(faulty->counts().refused_posts, 50u);
}

TEST_F(FaultyDriverTest, BitsFlipOnTheirWay) {
  SecondHalves tap;
  FaultPlan plan;
  plan.flip_bit = 500;
  plan.refuse_post = 300;
  plan.tap = &tap;
  open(plan);
  int context = 0;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(send(*faulty, to_other, i, &context).in_progress());
  for (int i = 0; i < kManyPolls && finished.size() < 100; ++i) poll();
  ASSERT_EQ(bytes_at_other.size(), 100u);
  EXPECT_EQ(tap.announced, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    int bits = 0;
    for (std::size_t k = 0; k < 1024; ++k) {
      const auto change = static_cast<unsigned>(bytes_at_other[i][k] ^ sent_bytes[i][k]);
      EXPECT_TRUE(change == 0 || (i % 2 == 0 && k >= 512)) << i << " " << k;
      bits += __builtin_popcount(change);
      EXPECT_TRUE(k < sizeof(int) || sent_bytes[i][k] == std::byte{0}) << "the sender's memory";
    }
    EXPECT_EQ(bits, tap.flipped.count(static_cast<int>(i)) == 0 ? 0 : 1) << i;
  }
  EXPECT_EQ(faulty->counts().flipped_bits, tap.flipped.size());
  EXPECT_TRUE(tap.flipped.size() > 10 && tap.flipped.size() < 40) << tap.flipped.size();
}

TEST_F(FaultyDriverTest, LateAndOvertakenCompletionsKeepTheOrderOfPackets) {
  FaultPlan plan;
  plan.delay = 700;
  plan.max_delay = 20;
  plan.reorder = true;
  open(plan);
  std::vector<int> contexts(50);
  for (int i = 0; i < 50; ++i) {
    ASSERT_FALSE(send(*other, to_faulty, i, nullptr).error());
    ASSERT_TRUE(send(*faulty, to_other, i, &contexts[static_cast<std::size_t>(i)]).in_progress());
  }
  other->disconnect(to_faulty);
  for (int i = 0; i < kManyPolls && (ends.empty() || finished.size() < 50); ++i) poll();
  ASSERT_EQ(numbers.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(numbers[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(finished.size(), 50u);
  EXPECT_FALSE(std::is_sorted(finished.begin(), finished.end())) << "nothing was overtaken";
  EXPECT_GT(faulty->counts().delayed, 20u);
  EXPECT_GT(faulty->counts().overtakings, 10u);
}

TEST_F(FaultyDriverTest, ShortPollsHandOutOneCompletion) {
  FaultPlan plan;
  plan.short_poll = 1000;
  open(plan);
  for (int i = 0; i < 20; ++i) ASSERT_FALSE(send(*other, to_faulty, i, nullptr).error());
  for (int i = 0; i < kManyPolls && numbers.size() < 20; ++i) poll();
  EXPECT_EQ(numbers.size(), 20u);
  EXPECT_EQ(most_at_once, 1u);
}

TEST_F(FaultyDriverTest, TheConnectionBreaksAtTheChosenPost) {
  FaultPlan plan;
  plan.dies_at = 3;
  open(plan);
  int context = 0;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(send(*faulty, to_other, i, &context).in_progress());
  EXPECT_EQ(send(*faulty, to_other, 3, &context).code(), StatusCode::kPeerFailed);
  for (int i = 0; i < kManyPolls && (ends.empty() || other_ends.empty()); ++i) poll();
  for (int i = 0; i < 100; ++i) poll();
  ASSERT_EQ(ends.size(), 1u) << "exactly one end";
  EXPECT_EQ(ends[0].code(), StatusCode::kPeerFailed);
  EXPECT_EQ(other_ends.size(), 1u);
  EXPECT_EQ(finished.size(), 3u) << "what was accepted has its completion";
  EXPECT_EQ(faulty->counts().deaths, 1u);
  EXPECT_FALSE(faulty->expose(to_other, {&context, sizeof(context)}).ok());
}

TEST_F(FaultyDriverTest, DeathCanBeTheTestsOwn) {
  FaultPlan plan;
  plan.dies_at = 2;
  plan.at_death = [this] { other->fail(); };
  open(plan);
  int context = 0;
  ASSERT_TRUE(send(*faulty, to_other, 0, &context).in_progress());
  ASSERT_TRUE(send(*faulty, to_other, 1, &context).in_progress());
  EXPECT_EQ(send(*faulty, to_other, 2, &context).code(), StatusCode::kPeerFailed);
  for (int i = 0; i < kManyPolls && ends.empty(); ++i) poll();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].code(), StatusCode::kPeerFailed);
}

TEST_F(FaultyDriverTest, WritesAndExposuresAreRefused) {
  FaultPlan plan;
  plan.fail_write = 1000;
  plan.refuse_expose = 1000;
  open(plan);
  std::uint64_t target = 7;
  EXPECT_EQ(faulty->expose(to_other, {&target, sizeof(target)}).status().code(),
            StatusCode::kNoMemory);
  const auto token = other->expose(to_faulty, {&target, sizeof(target)});
  ASSERT_TRUE(token.ok());
  std::uint64_t word = 9;
  const Segment segment{&word, sizeof(word)};
  std::size_t refused = 0;
  Status status = StatusCode::kOk;
  for (int i = 0; i < 40 && !status.in_progress(); ++i) {
    status = faulty->post_write(to_other, {&segment, 1}, token.value(), 0, &word);
    ASSERT_TRUE(status.error() || status.in_progress());
    if (status.error()) ++refused;
  }
  ASSERT_TRUE(status.in_progress()) << "both ways of failing are to be seen";
  EXPECT_GT(refused, 0u);
  EXPECT_TRUE(faulty->post_send(to_other, {&segment, 1}, &word).error())
      << "a packet after the write would say that the bytes are there";
  for (int i = 0; i < kManyPolls && (finished.empty() || ends.empty()); ++i) poll();
  EXPECT_EQ(finished.size(), 1u);
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(ends.size(), 1u);
  EXPECT_EQ(target, 7u) << "nothing may be placed";
}

TEST_F(FaultyDriverTest, TheSameSeedDoesTheSame) {
  FaultPlan plan;
  plan.seed = 42;
  plan.refuse_post = 300;
  plan.delay = 300;
  plan.max_delay = 5;
  std::vector<std::uint64_t> refused;
  for (int run = 0; run < 2; ++run) {
    connections = 0;
    open(plan);
    for (int i = 0; i < 50; ++i) ASSERT_FALSE(send(*faulty, to_other, i, nullptr).error());
    refused.push_back(faulty->counts().refused_posts * 1000 + faulty->counts().delayed);
  }
  EXPECT_EQ(refused[0], refused[1]);
}

}  // namespace
}  // namespace mad
