// Writes that the receiver reads from the sender's memory: what only ucx has of them.
#include "tests/conformance/ucx/engine.h"

namespace mad {
namespace {

const char* const kCma = "ucx:posix,cma";

class UcxPullsTest : public ::testing::Test {
 protected:
  explicit UcxPullsTest(const UcxOptions& of_a = on_lo(kCma), const UcxOptions& of_b = on_lo(kCma))
      : a_(std::make_unique<UcxEngine>(of_a)), b_(std::make_unique<UcxEngine>(of_b)) {}
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
  std::vector<UcxEngine*> both() { return {a_.get(), b_.get()}; }
  UcxEngine& a() { return *a_; }
  UcxEngine& b() { return *b_; }

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

  Bytes source_ = pattern(100000), target_ = Bytes(512 * 1024), word_ = pattern(8);
  std::unique_ptr<UcxEngine> a_, b_;
  ConnectionId to_b_ = 0, from_a_ = 0;
  ExposureToken token_;
};

// Who sleeps is awake until it has said that it read.
TEST_F(UcxPullsTest, AnswersThatFindNoRoomAreNotForgotten) {
  Bytes small = pattern(8, 3);
  const Segment segment{small.data(), small.size()};
  while (b().driver->post_send(from_a_, {&segment, 1}, nullptr).ok()) {
  }
  ASSERT_TRUE(write(source_).in_progress());
  for (int i = 0; i < 1000; ++i) b().station.poll();
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
  std::vector<pollfd> sources;
  EXPECT_EQ(b().driver->watch(&sources).code(), StatusCode::kAgain);
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
}

UcxOptions pulling(std::size_t least_bytes) {
  UcxOptions options = on_lo(kCma);
  options.least_pull_bytes = least_bytes;
  return options;
}

class UcxLongPulls : public UcxPullsTest {
 protected:
  UcxLongPulls() : UcxPullsTest(pulling(4096)) {}
};

TEST_F(UcxLongPulls, AreAsLongAsAskedFor) {
  EXPECT_TRUE(a().driver->link(to_b_).prefers_writes(4096));
  EXPECT_FALSE(a().driver->link(to_b_).prefers_writes(4095)) << "packets are as good";
  source_.resize(4096);
  EXPECT_TRUE(write(source_).in_progress());
  source_.resize(4095);
  EXPECT_TRUE(write(source_).ok()) << "a message";
}

class UcxLongestMessages : public UcxPullsTest {
 protected:
  UcxLongestMessages() : UcxPullsTest(pulling(1 << 20)) {}
};

TEST_F(UcxLongestMessages, AreAllThatOneHolds) {
  source_.resize(a().driver->caps().nearest().max_write_bytes);
  EXPECT_TRUE(write(source_).ok());
  source_.resize(source_.size() + 1);
  EXPECT_TRUE(write(source_).in_progress()) << "it is read instead";
}

// Every write of one of them is a message, as without cma.
class UcxWithAndWithout : public UcxPullsTest {
 protected:
  UcxWithAndWithout() : UcxPullsTest(on_lo("ucx:posix"), on_lo(kCma)) {}
};

TEST_F(UcxWithAndWithout, WriteByMessages) {
  EXPECT_EQ(a().driver->link(to_b_).max_write_bytes, a().driver->caps().nearest().max_write_bytes);
  EXPECT_EQ(b().driver->link(from_a_).max_write_bytes,
            b().driver->caps().nearest().max_write_bytes);
  source_.resize(a().driver->caps().nearest().max_write_bytes);
  ASSERT_TRUE(write(source_).ok());
  ASSERT_TRUE(send(word_).ok());
  ASSERT_TRUE(pump(both(), [&] { return b().station.received.size() == 1; }));
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
}

}  // namespace
}  // namespace mad
