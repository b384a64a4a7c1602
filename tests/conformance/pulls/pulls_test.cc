// Writes that the receiver reads from the sender's memory: what holds while it has not.
#include <poll.h>

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/conformance/pulls/fabrics.h"
#include "tests/support/bytes.h"

namespace mad {
namespace {

class PullsTest : public ::testing::TestWithParam<PullFabric> {
 protected:
  void SetUp() override {
    to_b_ = a_->connect(*b_);
    from_a_ = b_->connect(*a_);
    ASSERT_TRUE(pump(both(), [&] {
      return a_->station.connected.count(to_b_) == 1 && b_->station.connected.count(from_a_) == 1;
    }));
    const auto token = b_->driver->expose(from_a_, {target_.data(), target_.size()});
    ASSERT_TRUE(token.ok());
    token_ = *token;
  }
  std::vector<PullEngine*> both() { return {a_.get(), b_.get()}; }
  PullEngine& a() { return *a_; }
  PullEngine& b() { return *b_; }

  /// Neither engine is polled.
  Status write(Bytes& bytes, std::uint64_t offset = 0) {
    const Segment segment{bytes.data(), bytes.size()};
    return a().driver->post_write(to_b_, {&segment, 1}, token_, offset, &bytes);
  }
  Status send(Bytes& bytes) {
    const Segment segment{bytes.data(), bytes.size()};
    return a().driver->post_send(to_b_, {&segment, 1}, &bytes);
  }
  void expect_failed(const Bytes& bytes) {
    EXPECT_EQ(a().station.finished[const_cast<Bytes*>(&bytes)], 1);
    EXPECT_TRUE(a().station.finished_status[const_cast<Bytes*>(&bytes)].error());
  }

  Bytes source_ = pattern(100000), target_ = Bytes(2 * 1024 * 1024), word_ = pattern(8);
  std::unique_ptr<PullEngine> a_ = std::make_unique<PullEngine>(GetParam()),
                              b_ = std::make_unique<PullEngine>(GetParam());
  ConnectionId to_b_ = 0, from_a_ = 0;
  ExposureToken token_;
};

TEST_P(PullsTest, AreLongAndAnsweredWhenTheBytesArePlaced) {
  const std::size_t most = a().driver->link(to_b_).max_write_bytes;
  EXPECT_GE(most, a().driver->caps().nearest().max_write_bytes);
  Bytes bytes = pattern(most, 7);
  ASSERT_TRUE(write(bytes, 5).in_progress());
  ASSERT_TRUE(send(word_).ok());
  for (int i = 0; i < 100; ++i) a().station.poll();
  EXPECT_EQ(a().station.finished_count, 0u) << "nobody has read it";
  ASSERT_TRUE(pump({&b()}, [&] { return b().station.received.size() == 1; }));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), target_.begin() + 5));
  EXPECT_EQ(a().station.finished_count, 0u);
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&bytes].ok());
}

TEST_P(PullsTest, BeyondTheLimitAreInvalid) {
  Bytes bytes(a().driver->link(to_b_).max_write_bytes + 1);
  EXPECT_EQ(write(bytes).code(), StatusCode::kInvalidArgument);
}

TEST_P(PullsTest, AreFewAtOnceAndAnsweredInOrder) {
  std::vector<Bytes> sources;
  for (unsigned i = 0; i < 5 * GetParam().most; ++i) sources.push_back(pattern(1000, i));
  std::size_t posted = 0;
  while (posted < sources.size() && write(sources[posted], posted * 1000).in_progress()) ++posted;
  EXPECT_EQ(posted, GetParam().most);
  ASSERT_TRUE(pump(both(), [&] {
    if (posted < sources.size() && write(sources[posted], posted * 1000).in_progress()) ++posted;
    return a().station.finished_count == sources.size();
  }));
  for (std::size_t i = 0; i < sources.size(); ++i) {
    EXPECT_TRUE(std::equal(sources[i].begin(), sources[i].end(), target_.begin() + i * 1000)) << i;
    EXPECT_TRUE(a().station.finished_status[&sources[i]].ok());
  }
}

TEST_P(PullsTest, OfMemoryThatWasWithdrawnEndTheConnection) {
  ASSERT_TRUE(write(source_).in_progress());
  ASSERT_TRUE(send(word_).ok());
  b().driver->withdraw(from_a_, token_);
  ASSERT_TRUE(pump(both(), [&] { return a().station.disconnected.count(to_b_) == 1; }));
  expect_failed(source_);
  EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kProtocol);
  EXPECT_TRUE(b().station.received.empty());
  EXPECT_EQ(target_, Bytes(target_.size()));
}

TEST_P(PullsTest, OfMemoryThatCannotBeReadEndTheConnection) {
  const Segment nowhere{reinterpret_cast<void*>(4096), 100000};
  ASSERT_TRUE(a().driver->post_write(to_b_, {&nowhere, 1}, token_, 0, &source_).in_progress());
  ASSERT_TRUE(send(word_).ok());
  ASSERT_TRUE(pump(both(), [&] { return a().station.disconnected.count(to_b_) == 1; }));
  expect_failed(source_);
  EXPECT_TRUE(b().station.received.empty());
}

TEST_P(PullsTest, AreReadBeforeTheirSenderIsGone) {
  ASSERT_TRUE(write(source_).in_progress());
  ASSERT_TRUE(send(word_).ok());
  a().driver->disconnect(to_b_);
  ASSERT_TRUE(pump(both(), [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kClosed);
  EXPECT_EQ(b().station.received.size(), 1u);
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
}

TEST_P(PullsTest, FailWhenTheReceiverLeaves) {
  ASSERT_TRUE(write(source_).in_progress());
  b().driver->withdraw(from_a_, token_);
  b().driver->disconnect(from_a_);
  ASSERT_TRUE(pump(both(), [&] { return a().station.disconnected.count(to_b_) == 1; }));
  expect_failed(source_);
  EXPECT_EQ(target_, Bytes(target_.size()));
}

TEST_P(PullsTest, HoldNobodyUpWhenBothLeave) {
  ASSERT_TRUE(write(source_).in_progress());
  a().driver->disconnect(to_b_);
  b().driver->withdraw(from_a_, token_);
  b().driver->disconnect(from_a_);
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == 1; }));
  expect_failed(source_);
}

// Its memory is the caller's again at once, and may change before the other side reads it.
TEST_P(PullsTest, AreNotReadAfterTheirSenderGaveThemUp) {
  ASSERT_TRUE(write(source_).in_progress());
  ASSERT_TRUE(send(word_).ok());
  Bytes open(8);
  ASSERT_TRUE(a().driver->expose(to_b_, {open.data(), open.size()}).ok());
  a().driver->disconnect(to_b_);  // in no good order
  source_.assign(source_.size(), std::byte{0x77});
  ASSERT_TRUE(pump({&b()}, [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_TRUE(b().station.received.empty());
  a().station.poll();
  expect_failed(source_);
}

TEST_P(PullsTest, AreNotReadAfterTheirEngineIsGone) {
  ASSERT_TRUE(write(source_).in_progress());
  ASSERT_TRUE(send(word_).ok());
  a_.reset();
  source_.assign(source_.size(), std::byte{0x77});
  ASSERT_TRUE(pump({&b()}, [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_TRUE(b().station.received.empty());
  EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kPeerFailed);
}

TEST_P(PullsTest, FailWhenTheReceiversEngineIsGone) {
  ASSERT_TRUE(write(source_).in_progress());
  b_.reset();
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.disconnected.count(to_b_) == 1; }));
  expect_failed(source_);
}

// Whoever sleeps until its write was read is woken.
TEST_P(PullsTest, WakeTheirSender) {
  ASSERT_TRUE(write(source_).in_progress());
  std::vector<pollfd> sources;
  for (Status asleep = StatusCode::kAgain; asleep.again();) {
    a().station.poll();
    sources.clear();
    asleep = a().driver->watch(&sources);
    ASSERT_FALSE(asleep.error()) << asleep.message();
  }
  ASSERT_TRUE(pump({&b()}, [&] {
    return std::equal(source_.begin(), source_.end(), target_.begin()) &&
           poll(sources.data(), sources.size(), 0) > 0;
  }));
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
}

INSTANTIATE_TEST_SUITE_P(Fabrics, PullsTest, ::testing::ValuesIn(pull_fabrics()), pull_fabric_name);

}  // namespace
}  // namespace mad
