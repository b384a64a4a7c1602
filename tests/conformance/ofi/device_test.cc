// What the driver does for an RDMA device, seen on libfabric's tcp.
#include <rdma/fi_domain.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "madlike/driver/ip/address.h"
#include "tests/conformance/ofi/stranger.h"

namespace mad {
namespace {

/// Writes a packet of these bytes.
class BytesWriter final : public PacketWriter {
 public:
  explicit BytesWriter(const Bytes& bytes) : PacketWriter(bytes.size()), bytes_(bytes) {}

 private:
  void write_next(Segment room) override {
    std::memcpy(room.data, bytes_.data() + written_, room.size);
    written_ += room.size;
  }

  const Bytes& bytes_;
  std::size_t written_ = 0;
};

class DevicePair : public OfiPair {
 protected:
  DevicePair() : OfiPair(as_device()) {}
};

TEST_F(DevicePair, WhatIsSentAndReceivedIsRegisteredOnceAndBounded) {
  const std::size_t registered = a.provider.registered_bytes;
  EXPECT_GT(registered, 0u);
  EXPECT_LE(registered, 4u * 1024 * 1024) << "two engines of a process, and windows, within 8 MiB";
  std::vector<std::unique_ptr<OfiEngine>> others;
  for (int i = 0; i < 5; ++i) {
    others.push_back(std::make_unique<OfiEngine>(as_device()));
    const ConnectionId id = a.connect(*others.back());
    ASSERT_TRUE(
        pump({&a, others.back().get()}, [&] { return a.station.connected.count(id) == 1; }));
  }
  Bytes bytes(a.driver->caps().nearest().max_packet_bytes);
  for (int i = 0; i < 100; ++i) ASSERT_FALSE(send(a, to_b, bytes, both).error());
  EXPECT_EQ(a.provider.registered_bytes, registered) << "of peers and messages";
  EXPECT_EQ(a.provider.without_descriptor, 0u);
}

// Nobody is sent what it has no buffer for: who does not look is sent its grant and no more.
TEST_F(DevicePair, APeerThatDoesNotLookIsSentItsGrantOnly) {
  Bytes bytes(8);
  for (int round = 0; round < 3; ++round) {
    const std::size_t before = b.station.received.size();
    std::size_t posted = 0;
    for (int idle = 0; idle < 1000; ++idle) {
      if (post(bytes).again()) {
        a.station.poll();
      } else {
        ++posted;
      }
      ASSERT_LE(posted, CreditPool::kMost);
    }
    EXPECT_GE(posted, CreditPool::kLeast - 1u);
    ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == before + posted; }));
    ASSERT_TRUE(pump(both, [&] {
      const bool taken = !post(bytes).again();
      return taken;
    }));
    ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == before + posted + 1; }));
  }
}

// Buffers that the receiver's caller keeps are not granted again.
TEST_F(DevicePair, KeptBuffersHoldTheirSenderBack) {
  b.station.keep = true;
  Bytes bytes(8);
  std::size_t posted = 0;
  for (int i = 0; i < 2000; ++i) {
    if (!post(bytes).again()) ++posted;
    a.station.poll();
    b.station.poll();
  }
  EXPECT_LE(posted, CreditPool::kFirst);
  EXPECT_EQ(b.station.received.size(), posted);
  for (void* const buffer : b.station.kept) b.driver->release(buffer);
  b.station.kept.clear();
  b.station.keep = false;
  EXPECT_FALSE(send(a, to_b, bytes, both).error());
}

// What was written to lent memory is the driver's, though the provider takes it later.
TEST_F(DevicePair, APacketThatTheProviderDoesNotTakeAtOnceLeavesLater) {
  const Bytes first(1000, std::byte{1}), second(10, std::byte{2});
  BytesWriter writer(first), later(second);
  a.provider.send = -FI_EAGAIN;
  ASSERT_TRUE(a.driver->post_lent(to_b, writer).ok());
  EXPECT_EQ(writer.left(), 0u);
  EXPECT_TRUE(a.driver->post_lent(to_b, later).again()) << "it would overtake";
  EXPECT_EQ(later.left(), second.size());
  for (int i = 0; i < 100; ++i) a.station.poll();
  a.provider.send = 0;
  ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == 1; }));
  EXPECT_TRUE(b.station.received[0].bytes == first);
  ASSERT_TRUE(pump(both, [&] { return a.driver->post_lent(to_b, later).ok(); }));
  ASSERT_TRUE(pump(both, [&] { return b.station.received.size() == 2; }));
  EXPECT_TRUE(b.station.received[1].bytes == second);
}

TEST_F(DevicePair, APacketThatTheProviderDoesNotTakeAtOnceLeavesBeforeTheLastOne) {
  const Bytes bytes(1000, std::byte{1});
  BytesWriter writer(bytes);
  a.provider.send = -FI_EAGAIN;
  ASSERT_TRUE(a.driver->post_lent(to_b, writer).ok());
  a.driver->disconnect(to_b);
  a.provider.send = 0;
  ASSERT_TRUE(pump(both, [&] { return b.station.disconnected.count(to_a) == 1; }));
  EXPECT_EQ(b.station.received.size(), 1u);
  EXPECT_EQ(b.station.disconnected[to_a].code(), StatusCode::kClosed);
}

/// Writes of 1 MiB, in segments, into memory of the peer.
class DeviceWrites : public DevicePair {
 protected:
  void SetUp() override {
    DevicePair::SetUp();
    token_ = b.driver->expose(to_a, {target_.data(), target_.size()});
    ASSERT_TRUE(token_.ok());
    a.provider.registered_bytes = 0;
  }
  void TearDown() override {
    if (b.driver) b.driver->withdraw(to_a, *token_);
  }
  Status write(const std::vector<Segment>& segments, int* context) {
    return a.driver->post_write(to_b, list(segments), *token_, kOffset, context);
  }
  bool is_written(const std::vector<Segment>& segments) {
    int context = 0;
    a.station.finished.clear();
    const Status posted = write(segments, &context);
    if (!posted.in_progress()) return false;
    Bytes word(8);
    const std::size_t before = b.station.received.size();
    if (send(a, to_b, word, both).error()) return false;
    const bool came = pump(both, [&] { return b.station.received.size() == before + 1; });
    Bytes bytes;
    for (const Segment& each : segments) bytes.insert(bytes.end(), each.begin(), each.end());
    const bool placed = std::equal(bytes.begin(), bytes.end(), target_.begin() + kOffset);
    return came && placed && pump(both, [&] { return a.station.finished.count(&context) == 1; }) &&
           a.station.finished_status[&context].ok();
  }

  static constexpr std::size_t kMiB = 1024 * 1024, kOffset = 24;
  Bytes source_ = pattern(8 * kMiB, 3);
  Bytes target_ = Bytes(kMiB + 64);
  Result<ExposureToken> token_{Status(StatusCode::kNotFound)};
};

TEST_F(DeviceWrites, LongOnesAreRegisteredWithAllTheySpan) {
  EXPECT_TRUE(is_written({{source_.data(), kMiB}}));
  EXPECT_EQ(a.provider.registered_bytes, kMiB);
  EXPECT_TRUE(is_written({{source_.data() + kMiB, kMiB / 2}, {source_.data(), kMiB / 4}}));
  EXPECT_EQ(a.provider.registered_bytes, kMiB + kMiB + kMiB / 2);
  EXPECT_EQ(a.provider.without_descriptor, 0u);
}

TEST_F(DeviceWrites, ShortOnesAndThoseOfFarSegmentsAreStaged) {
  EXPECT_TRUE(is_written({{source_.data(), 100}, {source_.data() + 200, 20000}}));
  EXPECT_TRUE(is_written({{source_.data(), kMiB / 2}, {source_.data() + 7 * kMiB, kMiB / 2}}));
  EXPECT_EQ(a.provider.registered_bytes, 0u);
  EXPECT_EQ(a.provider.without_descriptor, 0u);
}

TEST_F(DeviceWrites, WhereNoMoreMemoryMayBeLockedTheyAreStaged) {
  a.provider.expose = -FI_ENOMEM;
  EXPECT_TRUE(is_written({{source_.data(), kMiB}}));
  EXPECT_EQ(a.provider.without_descriptor, 0u);
}

// No more than the engine's share is registered at once, and all are written.
TEST_F(DeviceWrites, ManyTakeTurns) {
  constexpr std::size_t kWrites = 40;
  std::vector<int> contexts(kWrites);
  std::size_t posted = 0;
  a.provider.holds = true;
  for (; posted < kWrites; ++posted) {
    if (!write({{source_.data(), kMiB}}, &contexts[posted]).in_progress()) break;
  }
  EXPECT_EQ(a.provider.registered_bytes, 4 * kMiB);
  a.provider.holds = false;
  ASSERT_TRUE(pump(both, [&] {
    while (posted < kWrites && write({{source_.data(), kMiB}}, &contexts[posted]).in_progress()) {
      ++posted;
    }
    return a.station.finished.size() == kWrites;
  }));
}

TEST_F(DeviceWrites, AStagedOneIsToldOfWhenItsConnectionEnds) {
  a.provider.expose = -FI_ENOMEM;
  a.provider.holds = true;  // so that its buffers do not come back
  int context = 0;
  ASSERT_TRUE(write({{source_.data(), kMiB}}, &context).in_progress());
  Bytes word(8);
  EXPECT_TRUE(post(word).again()) << "it would overtake";
  b.driver.reset();
  ASSERT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_EQ(a.station.finished.count(&context), 1u);
  EXPECT_TRUE(a.station.finished_status[&context].error());
  a.provider.holds = false;
}

// A device that gave up sending takes nothing more, and need not tell otherwise.
TEST_F(DevicePair, APacketThatFailsEndsItsConnection) {
  Bytes bytes(8);
  a.provider.swallows = true;
  ASSERT_TRUE(post(bytes).ok());
  ASSERT_EQ(a.provider.swallowed.size(), 1u);
  a.provider.failed.push_back(a.provider.swallowed[0]);
  ASSERT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(to_b) == 1; }));
  EXPECT_EQ(a.station.disconnected[to_b].code(), StatusCode::kPeerFailed);
}

// Opening asks for the peer's host, which need not answer.
TEST(OfiDevice, WhoConnectsDoesNotWaitForAHostThatDoesNotAnswer) {
  OfiEngine a(as_device()), b(as_device()), silent(as_device());
  a.provider.slow_to = silent.driver->address();
  const ConnectionId to_silent = a.connect(silent);
  const ConnectionId to_b = a.connect(b);
  EXPECT_TRUE(a.watch().again());
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.station.connected.count(to_b) == 1; }));
  EXPECT_EQ(a.station.connected.count(to_silent), 0u);
  EXPECT_EQ(a.provider.answers_waited_for, 0) << "it waited for the silent host";
  a.provider.host_answers = true;
  ASSERT_TRUE(pump({&a, &silent}, [&] { return a.station.connected.count(to_silent) == 1; }));
}

TEST(OfiDevice, WhoIsLeftWhileItIsOpenedIsForgotten) {
  OfiEngine a(as_device()), silent(as_device());
  a.provider.slow_to = silent.driver->address();
  const ConnectionId id = a.connect(silent);
  a.driver->disconnect(id);
  EXPECT_TRUE(pump({&a}, [&] { return a.driver->connections() == 0; }));
  const ConnectionId again = a.connect(silent);
  EXPECT_EQ(a.provider.answers_waited_for, 0) << "nothing was being opened any more";
  a.provider.host_answers = true;
  EXPECT_TRUE(pump({&a, &silent}, [&] { return a.station.connected.count(again) == 1; }));
}

// The peer's own request comes while ours is being opened.
TEST(OfiDevice, AConnectionThatThePeerMakesMeanwhileIsTaken) {
  OfiEngine one(as_device()), other(as_device());
  OfiEngine& greater = one.driver->address() < other.driver->address() ? other : one;
  OfiEngine& smaller = &greater == &one ? other : one;
  greater.provider.slow_to = smaller.driver->address();
  const ConnectionId to_smaller = greater.connect(smaller);
  (void)smaller.connect(greater);
  ASSERT_TRUE(pump({&one, &other}, [&] {
    return greater.station.connected.count(to_smaller) == 1 &&
           smaller.station.connected.size() == 1;
  }));
  EXPECT_EQ(greater.provider.answers_waited_for, 0) << "ours was not being opened any more";
  greater.provider.host_answers = true;
  ASSERT_TRUE(pump({&one, &other}, [&] { return greater.provider.answers_waited_for == 1; }));
  const auto later = Clock::now() + milliseconds(100);
  ASSERT_TRUE(pump({&one, &other}, [&] { return Clock::now() > later; }));
  EXPECT_TRUE(one.station.disconnected.empty() && other.station.disconnected.empty());
  Bytes bytes(8);
  EXPECT_FALSE(send(greater, to_smaller, bytes, {&one, &other}).error());
}

TEST(OfiDevice, MemoryThatWasExposedIsNotKeptRegistered) {
  OfiEngine engine(as_device());
  ASSERT_NE(getenv("FI_MR_CACHE_MAX_COUNT"), nullptr);
  EXPECT_STREQ(getenv("FI_MR_CACHE_MAX_COUNT"), "0");
}

/// A stranger whose connection with an engine on a device stands.
class DeviceAcquaintance : public ::testing::Test {
 protected:
  void SetUp() override {
    id_ = engine_.connect(stranger_.address());
    ASSERT_TRUE(pump(engine_, stranger_, [&] { return stranger_.was_asked(); }));
    ASSERT_TRUE(stranger_.greeting());
    header_.tag = stranger_.greeting()->tag;
    credit_ = stranger_.greeting()->credit;
    stranger_.accept(Stranger::acceptance(Stranger::kCredit).pack());
    ASSERT_TRUE(pump(engine_, stranger_, [&] {
      return stranger_.is_connected() && engine_.station.connected.count(id_) == 1;
    }));
  }
  bool ends_with(StatusCode code) {
    return pump(engine_, stranger_, [&] { return engine_.station.disconnected.count(id_) == 1; }) &&
           engine_.station.disconnected[id_].code() == code;
  }

  OfiEngine engine_{as_device()};
  Stranger stranger_;
  ConnectionId id_ = 0;
  OfiHeader header_;
  std::uint16_t credit_ = 0;
};

TEST_F(DeviceAcquaintance, WhoSendsMoreThanItMayIsEnded) {
  EXPECT_EQ(credit_, CreditPool::kFirst);
  engine_.station.keep = true;
  for (int i = 0; i < credit_; ++i) stranger_.send(header_, Bytes(8));
  ASSERT_TRUE(pump(engine_, stranger_, [&] { return engine_.station.received.size() == credit_; }));
  EXPECT_TRUE(engine_.station.disconnected.empty());
  stranger_.send(header_, Bytes(8));
  EXPECT_TRUE(ends_with(StatusCode::kProtocol));
  EXPECT_EQ(engine_.station.received.size(), credit_);
}

TEST_F(DeviceAcquaintance, WhoGivesMoreThanAnybodyHasIsEnded) {
  header_.kind = OfiHeader::Kind::kCredit;
  header_.credit = CreditPool::kMost - Stranger::kCredit;
  stranger_.send(header_);
  stranger_.send(header_);
  EXPECT_TRUE(ends_with(StatusCode::kProtocol));
}

TEST(OfiDevice, WhoGrantsTooLittleOrCountsNothingIsNoEngineOfThisVersion) {
  for (const std::uint16_t credit : {std::uint16_t{1}, CreditPool::kUncounted}) {
    OfiEngine engine(as_device());
    Stranger stranger;
    const ConnectionId id = engine.connect(stranger.address());
    ASSERT_TRUE(pump(engine, stranger, [&] { return stranger.was_asked(); }));
    stranger.accept(Stranger::acceptance(credit).pack());
    ASSERT_TRUE(pump(engine, stranger, [&] { return engine.station.disconnected.count(id) == 1; }));
    EXPECT_EQ(engine.station.disconnected[id].code(), StatusCode::kVersion) << credit;
  }
}

TEST_F(DeviceAcquaintance, APieceThatIsNoneOfItsPacketsEndsTheConnection) {
  header_.rest = 16;
  stranger_.send(header_, Bytes(5000));
  header_.rest = 0;
  stranger_.send(header_, Bytes(15));
  EXPECT_TRUE(ends_with(StatusCode::kProtocol));
}

TEST_F(DeviceAcquaintance, WhatIsOwedIsGivenOnceItIsHalfOfTheGrant) {
  for (int i = 0; i < credit_ / 2; ++i) stranger_.send(header_, Bytes(8));
  ASSERT_TRUE(pump(engine_, stranger_, [&] { return !stranger_.headers().empty(); }));
  EXPECT_EQ(stranger_.headers()[0].kind, OfiHeader::Kind::kCredit);
  EXPECT_GE(stranger_.headers()[0].credit, credit_ / 2);
}

TEST_F(DeviceAcquaintance, NothingIsSentBeyondWhatWasGiven) {
  Bytes bytes(8);
  const Segment segment{bytes.data(), bytes.size()};
  const auto post = [&] { return engine_.driver->post_send(id_, {&segment, 1}, &bytes); };
  for (int i = 1; i < Stranger::kCredit; ++i) ASSERT_TRUE(post().ok()) << i;
  EXPECT_TRUE(post().again()) << "the last unit is for credit";
  OfiHeader credit = header_;
  credit.kind = OfiHeader::Kind::kCredit;
  credit.credit = 1;
  stranger_.send(credit);
  ASSERT_TRUE(pump(engine_, stranger_, [&] { return post().ok(); }));
  EXPECT_TRUE(post().again());
}

}  // namespace
}  // namespace mad
