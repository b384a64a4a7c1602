#include "madlike/driver/tcp/outbox.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Bytes = std::vector<std::byte>;

// A socket that takes little, and its other end.
class TcpOutboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair_), 0);
    const int small = 4096;
    ASSERT_EQ(setsockopt(pair_[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
  }
  void TearDown() override {
    close(pair_[0]);
    close(pair_[1]);
  }
  int near() const { return pair_[0]; }
  /// Reads at most `limit` bytes of what is there.
  void read(std::size_t limit) {
    Bytes bytes(limit);
    const ssize_t got = ::read(pair_[1], bytes.data(), bytes.size());
    if (got > 0) read_.insert(read_.end(), bytes.begin(), bytes.begin() + got);
  }
  void expect(const TcpRecord& record, const Bytes& bytes) {
    Bytes header(record.header_bytes());
    encode_record(record, header.data());
    expected_.insert(expected_.end(), header.begin(), header.end());
    expected_.insert(expected_.end(), bytes.begin(), bytes.end());
    expected_.resize(expected_.size() + record.padding_bytes(), std::byte{0});
  }
  int pair_[2] = {-1, -1};
  Bytes read_, expected_;
};

TEST_F(TcpOutboxTest, WhatFitsGoesAtOnce) {
  TcpOutbox outbox;
  Bytes a(13, std::byte{1}), b(0), c(100, std::byte{3});
  const Segment segments[] = {{a.data(), a.size()}, {b.data(), b.size()}, {c.data(), c.size()}};
  TcpRecord record;
  record.bytes = 113;
  EXPECT_EQ(outbox.send(near(), record, {segments, 3}, {}), TcpOutbox::Outcome::kSent);
  EXPECT_TRUE(outbox.empty());
  Bytes all(a);
  all.insert(all.end(), c.begin(), c.end());
  expect(record, all);
  read(1000);
  EXPECT_EQ(read_, expected_);
}

TEST_F(TcpOutboxTest, WhatDoesNotFitFollowsInOrder) {
  std::mt19937 random(5);
  TcpOutbox outbox;
  std::vector<Bytes> memory;
  std::vector<int> contexts(400);
  std::vector<TcpOutbox::Finished> finished;
  std::size_t waiting = 0, full = 0;
  for (std::size_t i = 0; i < contexts.size(); ++i) {
    Bytes bytes(1 + random() % (random() % 2 ? 20 : 12000));
    if (random() % 8 == 0) outbox.cork();
    if (random() % 8 == 0) outbox.uncork();
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    memory.push_back(bytes);
    Bytes& own = memory.back();
    TcpRecord record;
    record.kind = random() % 2 ? TcpRecord::Kind::kPacket : TcpRecord::Kind::kWrite;
    record.bytes = static_cast<std::uint32_t>(own.size());
    record.key = i;
    const std::size_t cut = random() % own.size();
    const Segment segments[] = {{own.data(), cut}, {own.data() + cut, own.size() - cut}};
    TcpOutbox::Outcome outcome = TcpOutbox::Outcome::kFull;
    for (;;) {
      outcome = outbox.send(near(), record, {segments, 2}, {Completion::Kind::kSent, &contexts[i]});
      if (outcome != TcpOutbox::Outcome::kFull) break;
      ++full;
      read(random() % 9000);
      outbox.flush(near(), &finished);
    }
    ASSERT_NE(outcome, TcpOutbox::Outcome::kBroken);
    if (outcome == TcpOutbox::Outcome::kWaits) ++waiting;
    expect(record, bytes);
    // What is over was taken or copied: its memory may change.
    if (outcome == TcpOutbox::Outcome::kSent) std::fill(own.begin(), own.end(), std::byte{0xEE});
    EXPECT_TRUE(own.size() > TcpOutbox::kCopyBytes || outcome == TcpOutbox::Outcome::kSent);
    if (outbox.ripe()) outbox.flush(near(), &finished);
    if (random() % 3 == 0) read(random() % 9000);
    if (random() % 3 == 0) outbox.flush(near(), &finished);
  }
  while (!outbox.empty()) {
    read(5000);
    outbox.flush(near(), &finished);
  }
  while (read_.size() < expected_.size()) {
    const std::size_t before = read_.size();
    read(100000);
    ASSERT_GT(read_.size(), before);
  }
  EXPECT_TRUE(read_ == expected_);
  EXPECT_GT(full, 0u);
  ASSERT_EQ(finished.size(), waiting);
  for (std::size_t i = 1; i < finished.size(); ++i) {
    EXPECT_LT(finished[i - 1].context, finished[i].context) << "one each, in order";
  }
}

TEST_F(TcpOutboxTest, ACorkKeepsShortRecordsUntilItIsDrawn) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  outbox.cork();
  for (std::size_t i = 1; i <= 20; ++i) {
    Bytes bytes(i, static_cast<std::byte>(i));
    const Segment segment{bytes.data(), bytes.size()};
    TcpRecord record;
    record.bytes = static_cast<std::uint32_t>(i);
    ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, {}), TcpOutbox::Outcome::kSent);
    expect(record, bytes);
  }
  read(1000);
  EXPECT_TRUE(read_.empty());
  EXPECT_FALSE(outbox.ripe());
  outbox.uncork();
  EXPECT_TRUE(outbox.ripe());
  EXPECT_TRUE(outbox.flush(near(), &finished));
  EXPECT_TRUE(outbox.empty());
  read(1000);
  EXPECT_EQ(read_, expected_);
}

TEST_F(TcpOutboxTest, ALongRecordOrManyBytesEndTheWaitUnderACork) {
  TcpOutbox outbox;
  std::vector<TcpOutbox::Finished> finished;
  Bytes little(8), longer(TcpOutbox::kBatchBytes);
  const Segment one{little.data(), little.size()}, all{longer.data(), longer.size()};
  TcpRecord record;
  record.bytes = 8;
  outbox.cork();
  ASSERT_EQ(outbox.send(near(), record, {&one, 1}, {}), TcpOutbox::Outcome::kSent);
  EXPECT_FALSE(outbox.ripe());
  record.bytes = static_cast<std::uint32_t>(longer.size());
  ASSERT_EQ(outbox.send(near(), record, {&all, 1}, {}), TcpOutbox::Outcome::kWaits);
  EXPECT_TRUE(outbox.ripe());
  outbox.flush(near(), &finished);
  EXPECT_FALSE(outbox.ripe()) << "the socket is full";
}

TEST_F(TcpOutboxTest, ABrokenSocketIsToldAndWhatWaitsIsGivenBack) {
  TcpOutbox outbox;
  Bytes bytes(100000, std::byte{1});
  const Segment segment{bytes.data(), bytes.size()};
  TcpRecord record;
  record.bytes = static_cast<std::uint32_t>(bytes.size());
  int context = 0;
  ASSERT_EQ(outbox.send(near(), record, {&segment, 1}, {Completion::Kind::kWritten, &context}),
            TcpOutbox::Outcome::kWaits);
  close(pair_[1]);
  pair_[1] = -1;
  std::vector<TcpOutbox::Finished> finished;
  outbox.flush(near(), &finished);
  EXPECT_TRUE(finished.empty());
  EXPECT_EQ(outbox.send(near(), record, {&segment, 1}, {}), TcpOutbox::Outcome::kBroken);
  outbox.drop_all(&finished);
  ASSERT_EQ(finished.size(), 1u);
  EXPECT_EQ(finished[0].context, &context);
  EXPECT_EQ(finished[0].kind, Completion::Kind::kWritten);
}

}  // namespace
}  // namespace mad
