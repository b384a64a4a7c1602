// Remote writes of the shm driver: what only it has, and what peers may get wrong.  What all
// fabrics whose receiver reads have in common stands in tests/conformance/pulls.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <thread>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

class ShmPullsTest : public ::testing::Test {
 protected:
  explicit ShmPullsTest(const ShmOptions& of_a = single_copy())
      : a_(std::make_unique<ShmEngine>(of_a)), b_(std::make_unique<ShmEngine>(single_copy())) {}
  static ShmOptions single_copy() {
    ShmOptions options;
    options.single_copy = ShmOptions::SingleCopy::kAlways;
    return options;
  }
  void SetUp() override {
    to_b_ = a().connect(b());
    from_a_ = b().connect(a());
    ASSERT_TRUE(pump(both(), [&] {
      return a().station.connected.count(to_b_) == 1 && b().station.connected.count(from_a_) == 1;
    }));
    const auto token = b().driver->expose(from_a_, {target_.data(), target_.size()});
    ASSERT_TRUE(token.ok());
    token_ = *token;
  }
  std::vector<ShmEngine*> both() { return {a_.get(), b_.get()}; }
  ShmEngine& a() { return *a_; }
  ShmEngine& b() { return *b_; }
  ShmConnection& at_a() { return *a().shm().connection(to_b_); }
  ShmConnection& at_b() { return *b().shm().connection(from_a_); }

  Status write() {
    const Segment segment{source_.data(), source_.size()};
    return a().driver->post_write(to_b_, {&segment, 1}, token_, 0, &source_);
  }
  /// Has a write what only who has no driver of ours would: a record of kind pull.
  void forge(const void* content, std::size_t bytes) {
    ShmWriter& out = *at_a().out;
    ASSERT_TRUE(out.reserve(bytes, kShmSmallLimit));
    std::memcpy(out.memory().at(out.content()), content, bytes);
    out.publish({RingMark::Kind::kPull, static_cast<std::uint32_t>(bytes), 0});
    call_reader(out.memory());
  }
  void expect_refused_by_b() {
    ASSERT_TRUE(pump(both(), [&] { return b().station.disconnected.count(from_a_) == 1; }));
    EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kProtocol);
    EXPECT_EQ(target_, Bytes(target_.size()));
  }

  struct Forged {
    std::uint64_t key, offset;
    std::array<Segment, 4> runs;
  };
  Forged forged() {
    Forged record{token_.key, token_.address, {}};
    record.runs.fill({source_.data(), 100});
    return record;
  }
  static constexpr std::size_t kHead = 2 * sizeof(std::uint64_t);

  Bytes source_ = pattern(100000), target_ = Bytes(3 << 20);
  std::unique_ptr<ShmEngine> a_, b_;
  ConnectionId to_b_ = 0, from_a_ = 0;
  ExposureToken token_;
};

TEST_F(ShmPullsTest, AreForLongRuns) {
  constexpr std::uint64_t kPage = 4096;
  EXPECT_TRUE(a().driver->link(to_b_).prefers_writes(kPage));
  EXPECT_FALSE(a().driver->link(to_b_).prefers_writes(kPage - 1));
}

// Nothing that the sender said counts once its lane is not open.  That its process is the same is
// looked at again when some time has passed.
TEST_F(ShmPullsTest, AnOfferIsOfWhoIsStillThere) {
  RestMemory memory(source_.size());
  const auto read = [&] {
    return b().driver->read_offered(from_a_, reinterpret_cast<std::uintptr_t>(source_.data()),
                                    source_.size(), memory);
  };
  ASSERT_TRUE(read().ok());
  EXPECT_EQ(memory.bytes, source_);
  std::atomic<std::uint32_t>& state = at_a().out->memory().head().state;
  for (const ShmLaneState over : {ShmLaneState::kClosed, ShmLaneState::kAbandoned}) {
    state = static_cast<std::uint32_t>(over);
    EXPECT_EQ(read().code(), StatusCode::kPeerFailed);
  }
  state = static_cast<std::uint32_t>(ShmLaneState::kOpen);
  EXPECT_TRUE(read().ok());
  at_a().word = 0;
  at_b().proven_at = PolledClock::Steady::now() + std::chrono::hours(1);
  EXPECT_TRUE(read().ok()) << "not so soon after";
  at_b().proven_at = {};
  EXPECT_EQ(read().code(), StatusCode::kPeerFailed);
  at_b().we_read = false;
  EXPECT_EQ(read().code(), StatusCode::kInvalidArgument);
}

TEST_F(ShmPullsTest, AreOfNobodyWhoDoesNotRead) {
  at_a().they_read = false;
  EXPECT_EQ(write().code(), StatusCode::kInvalidArgument);
}

// Found out when the two meet, and both know.
TEST_F(ShmPullsTest, AreOfProcessesWhoseMemoryCanBeRead) {
  ShmEngine unreadable(single_copy());
  const ConnectionId to_a = unreadable.connect(a());
  unreadable.shm().connection(to_a)->word = 0;
  const ConnectionId to_unreadable = a().connect(unreadable);
  ASSERT_TRUE(pump({&a(), &unreadable}, [&] {
    return a().station.connected.count(to_unreadable) == 1 &&
           unreadable.station.connected.count(to_a) == 1;
  }));
  EXPECT_FALSE(a().shm().connection(to_unreadable)->we_read);
  EXPECT_FALSE(a().driver->link(to_unreadable).prefers_writes(1 << 20));
  EXPECT_FALSE(unreadable.driver->link(to_a).prefers_writes(1 << 20));
}

TEST_F(ShmPullsTest, AreOfPayloadThatIsWorthAReading) {
  EXPECT_EQ(a().driver->link(to_b_).offered_from, 12u * 1024);
  EXPECT_EQ(a().driver->link(to_b_).write_whole_from, 32u * 1024);
}

// It is a matter of the two: either may have been asked for it or not.
TEST_F(ShmPullsTest, AreOfThoseWhoWantThem) {
  for (const auto wish : {ShmOptions::SingleCopy::kNever, ShmOptions::SingleCopy::kIfFaster}) {
    const bool reads = wish == ShmOptions::SingleCopy::kIfFaster;
    ShmOptions options;
    options.single_copy = wish;
    ShmEngine plain(options);
    const ConnectionId to_plain = a().connect(plain), to_a = plain.connect(a());
    ASSERT_TRUE(pump({&a(), &plain}, [&] {
      return a().station.connected.count(to_plain) == 1 && plain.station.connected.count(to_a) == 1;
    }));
    EXPECT_EQ(plain.driver->caps().remote_write, reads);
    EXPECT_EQ(a().driver->link(to_plain).prefers_writes(1 << 20), reads);
    EXPECT_EQ(plain.driver->link(to_a).prefers_writes(1 << 20), reads);
    EXPECT_EQ(a().driver->link(to_plain).most_offered > 0, reads);
    EXPECT_EQ(plain.driver->link(to_a).most_offered > 0, reads);
    EXPECT_EQ(a().driver->link(to_plain).offers_are_weighed, reads);
    EXPECT_FALSE(plain.driver->link(to_a).offers_are_weighed) << "the other reads them always";
  }
}

TEST_F(ShmPullsTest, AWriteOfNothingOrOfTooManyRunsIsInvalid) {
  const auto posted = [&](SegmentList runs) {
    return a().driver->post_write(to_b_, runs, token_, 0, nullptr).code();
  };
  const std::vector<Segment> many(a().driver->caps().nearest().max_write_iov + 1,
                                  {source_.data(), 8});
  EXPECT_EQ(posted({many.data(), many.size()}), StatusCode::kInvalidArgument);
  EXPECT_EQ(posted({many.data(), many.size() - 1}), StatusCode::kInProgress);
  const Segment empty{source_.data(), 0};
  EXPECT_EQ(posted({&empty, 1}), StatusCode::kInvalidArgument);
}

TEST_F(ShmPullsTest, AListThatIsNoneIsRefused) {
  const Forged record = forged();
  forge(&record, kHead);
  expect_refused_by_b();
}

TEST_F(ShmPullsTest, AListThatEndsWithinARunIsRefused) {
  const Forged record = forged();
  forge(&record, kHead + sizeof(Segment) + 8);
  expect_refused_by_b();
}

TEST_F(ShmPullsTest, MoreBytesThanAWriteHasAreRefused) {
  Forged record = forged();
  record.runs[3].size = a().driver->caps().nearest().max_write_bytes - 299;
  forge(&record, sizeof(record));
  expect_refused_by_b();
}

TEST_F(ShmPullsTest, WhoSaidThatItCannotReadIsNotAsked) {
  at_b().we_read = false;
  const Forged record = forged();
  forge(&record, sizeof(record));
  expect_refused_by_b();
}

TEST_F(ShmPullsTest, AWriteBesideTheMemoryIsRefused) {
  Forged record = forged();
  record.offset += target_.size() - 399;
  forge(&record, sizeof(record));
  expect_refused_by_b();
}

TEST_F(ShmPullsTest, AnswersToNothingAreRefused) {
  ASSERT_TRUE(write().in_progress());
  at_b().in->memory().store_pulled(2);
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.disconnected.count(to_b_) == 1; }));
  EXPECT_EQ(a().station.disconnected[to_b_].code(), StatusCode::kProtocol);
  EXPECT_TRUE(a().station.finished_status[&source_].error());
}

TEST_F(ShmPullsTest, WhatWasReadBeforeTheEndWasWritten) {
  Bytes open(8);
  ASSERT_TRUE(a().driver->expose(to_b_, {open.data(), open.size()}).ok());
  ASSERT_TRUE(write().in_progress());
  EXPECT_FALSE(a().driver->arrived(to_b_));
  ASSERT_TRUE(pump({&b()}, [&] { return at_b().pulled == 1; }));
  a().driver->disconnect(to_b_);  // at once, as memory is exposed
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
  EXPECT_TRUE(a().driver->arrived(to_b_));
}

// Who has left wants to hear nothing, only that what it wrote is read.
TEST_F(ShmPullsTest, WhatComesToWhoHasLeftIsDropped) {
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);
  Bytes word = pattern(8);
  ASSERT_TRUE(send(b(), from_a_, word, {&a()}).ok());
  for (int i = 0; i < 100; ++i) a().station.poll();
  ASSERT_TRUE(pump(both(), [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
  EXPECT_TRUE(a().station.received.empty());
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
}

// What the peer wrote before it knew is none of its business either, though the memory is
// withdrawn.
TEST_F(ShmPullsTest, WritesToWhoHasLeftAreDropped) {
  Bytes open(source_.size());
  const auto token = a().driver->expose(to_b_, {open.data(), open.size()});
  ASSERT_TRUE(token.ok());
  const Segment segment{source_.data(), source_.size()};
  Bytes context;
  ASSERT_TRUE(b().driver->post_write(from_a_, {&segment, 1}, *token, 0, &context).in_progress());
  ASSERT_TRUE(write().in_progress());
  a().driver->withdraw(to_b_, *token);
  a().driver->disconnect(to_b_);
  for (int i = 0; i < 100; ++i) a().station.poll();
  ASSERT_TRUE(pump(both(), [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
  EXPECT_TRUE(b().station.finished_status[&context].error());
  EXPECT_EQ(open, Bytes(open.size()));
}

// However long that takes, and however often it is looked after.
TEST_F(ShmPullsTest, WhoHasLeftWaitsForItsReader) {
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);
  for (int i = 0; i < 20000; ++i) a().station.poll();
  EXPECT_EQ(a().station.finished_count, 0u);
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].ok());
}

// An engine that has all the time there is for its end.
class ShmPullsOfThePatient : public ShmPullsTest {
 protected:
  ShmPullsOfThePatient() : ShmPullsTest(patient()) {}
  static ShmOptions patient() {
    ShmOptions options = single_copy();
    options.close_timeout = options.linger = std::chrono::hours(1);
    return options;
  }
  /// Closes a's engine, which ends once b has read.
  void close_a() {
    std::thread closing([this] { a_.reset(); });
    std::this_thread::sleep_for(milliseconds(20));  // it would be gone, otherwise
    EXPECT_TRUE(pump({&b()}, [&] { return b().station.disconnected.count(from_a_) == 1; }));
    closing.join();
  }
};

TEST_F(ShmPullsOfThePatient, AreReadWhileTheirEngineCloses) {
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);
  close_a();
  EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kClosed);
  EXPECT_TRUE(std::equal(source_.begin(), source_.end(), target_.begin()));
}

TEST_F(ShmPullsOfThePatient, WhoComesWhileAnEngineClosesIsNotLeftAlone) {
  ShmEngine c;
  const ConnectionId to_a = c.connect(a());
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);
  close_a();
  EXPECT_TRUE(pump({&c}, [&] { return c.station.disconnected.count(to_a) == 1; }));
}

TEST_F(ShmPullsTest, WhoIsGoneIsGivenNoMemoryAndNoWrites) {
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);  // closing
  Bytes open(8);
  EXPECT_FALSE(a().driver->expose(to_b_, {open.data(), open.size()}).ok());
  EXPECT_TRUE(write().error());
  b_.reset();
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.finished_count == 1; }));
  EXPECT_FALSE(a().driver->expose(to_b_, {open.data(), open.size()}).ok());
  EXPECT_TRUE(write().error());
}

TEST_F(ShmPullsTest, WhoDiedIsGivenNoMemoryAndNoWrites) {
  b_.reset();
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.disconnected.count(to_b_) == 1; }));
  Bytes open(8);
  EXPECT_FALSE(a().driver->expose(to_b_, {open.data(), open.size()}).ok());
  EXPECT_TRUE(write().error());
}

TEST_F(ShmPullsTest, NothingIsWrittenBeforeTheTwoHaveMet) {
  ShmEngine c;
  const ConnectionId to_c = a().connect(c);
  const Segment segment{source_.data(), source_.size()};
  EXPECT_TRUE(a().driver->post_write(to_c, {&segment, 1}, token_, 0, nullptr).again());
}

// Lists of many runs fill the lane before there are as many writes as there may be.
TEST_F(ShmPullsTest, AListThatFindsNoRoomIsTakenLater) {
  std::vector<Segment> runs(a().driver->caps().nearest().max_write_iov, {source_.data(), 8});
  const SegmentList list{runs.data(), runs.size()};
  const std::size_t bytes = list.bytes();
  std::size_t posted = 0;
  while (a().driver->post_write(to_b_, list, token_, posted * bytes, nullptr).in_progress()) {
    ++posted;
  }
  EXPECT_LT(posted, ShmPulls::kMost);
  ASSERT_TRUE(pump(both(), [&] { return a().station.finished_count == posted; }));
  for (std::size_t i = 0; i < posted * bytes; i += 8) {
    ASSERT_TRUE(std::equal(source_.begin(), source_.begin() + 8, target_.begin() + i)) << i;
  }
  EXPECT_EQ(target_[posted * bytes], std::byte{0});
  EXPECT_TRUE(a().driver->post_write(to_b_, list, token_, 0, nullptr).in_progress());
}

// An answer that came while its sender fell asleep.
TEST_F(ShmPullsTest, NobodySleepsOverAnAnswer) {
  ASSERT_TRUE(write().in_progress());
  std::vector<pollfd> sources;
  ASSERT_TRUE(
      poll_all(std::vector<ShmEngine*>{&a()}, [&] { return a().driver->watch(&sources).ok(); }));
  ASSERT_TRUE(pump({&b()}, [&] { return at_b().pulled == 1; }));
  EXPECT_TRUE(a().driver->watch(&sources).again());
}

class ShmPullsOfTheHasty : public ShmPullsTest {
 protected:
  ShmPullsOfTheHasty() : ShmPullsTest(hasty()) {}
  static ShmOptions hasty() {
    ShmOptions options = single_copy();
    options.close_timeout = milliseconds(20);
    return options;
  }
};

TEST_F(ShmPullsOfTheHasty, AreGivenUpWhenTheReceiverTakesTooLong) {
  ASSERT_TRUE(write().in_progress());
  a().driver->disconnect(to_b_);
  ASSERT_TRUE(pump({&a()}, [&] { return a().station.finished_count == 1; }));
  EXPECT_TRUE(a().station.finished_status[&source_].error());
  ASSERT_TRUE(pump(both(), [&] { return b().station.disconnected.count(from_a_) == 1; }));
  EXPECT_EQ(b().station.disconnected[from_a_].code(), StatusCode::kPeerFailed)
      << "what was given up does not count";
}

TEST_F(ShmPullsOfTheHasty, NorDoesAPauseBeforeCount) {
  ASSERT_TRUE(write().in_progress());
  // If it counted, the end would be a pause late.
  constexpr milliseconds kPause(5000), kInTime(4500);
  std::this_thread::sleep_for(kPause);
  a().driver->disconnect(to_b_);
  EXPECT_TRUE(pump(
      {&a()}, [&] { return a().station.finished_count == 1; }, kInTime));
}

}  // namespace
}  // namespace mad
