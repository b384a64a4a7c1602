// Payload of one run that is offered: its receiver reads it from the sender's memory, or has it
// sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "madlike/message/endpoint.h"
#include "madlike/message/pair.h"
#include "madlike/message/raw_peer.h"

namespace mad {
namespace {

constexpr std::size_t kFrom = 1000, kMost = 50000;

LoopbackOptions reading() {
  LoopbackOptions options;
  options.remote_write = false;
  options.offered_from = kFrom;
  options.most_offered = kMost;
  return options;
}

LoopbackOptions weighing() {
  LoopbackOptions options = reading();
  options.weighs_offers = true;
  return options;
}

class Offers : public ::testing::Test {
 protected:
  explicit Offers(const MessengerConfig& config = {}, const LoopbackOptions& options = reading())
      : p_(options, config) {}

  std::uint64_t read() const { return p_.a.messenger->counters().written_bytes; }
  std::uint64_t packets() const { return p_.a.messenger->counters().drivers[0].packets_sent; }
  /// One message, whole; the bytes of it that its receiver read.
  std::uint64_t read_of(std::size_t bytes) {
    const std::uint64_t before = read();
    p_.a.send(p_.to_b, 1, pattern(bytes, 7), "header");
    settle(p_.a, p_.b);
    p_.expect_all_whole();
    return read() - before;
  }
  void keep_what_arrives() {
    p_.b.on_arrival = [](Arrived&) {};
  }
  /// A message that arrived and that nobody took yet.
  Arrived& kept(std::size_t bytes) {
    keep_what_arrives();
    p_.a.send(p_.to_b, 1, pattern(bytes, 7));
    settle(p_.a, p_.b);
    EXPECT_EQ(p_.a.sent.back().done, 0) << "its memory is still to be read";
    return p_.b.arrived.back();
  }

  Pair p_;
};

TEST_F(Offers, AreReadToWhereTheyBelong) {
  const std::uint64_t before = packets();
  EXPECT_EQ(read_of(20000), 20000u);
  EXPECT_EQ(packets(), before + 1);
  EXPECT_EQ(p_.b.arrived[0].sink->places, 0);
  EXPECT_EQ(p_.a.messenger->counters().referenced_bytes, 20000u);
  EXPECT_EQ(p_.a.messenger->counters().staged_bytes, 0u);
}

TEST_F(Offers, AreAsLongAsTheLinkSays) {
  for (const std::size_t bytes : {kFrom, kMost}) EXPECT_EQ(read_of(bytes), bytes);
  for (const std::size_t bytes : {kFrom - 1, kMost + 1}) EXPECT_EQ(read_of(bytes), 0u) << bytes;
}

/// Of tagged messages, which may be read where they are found.
class TaggedOffers : public Offers {
 protected:
  explicit TaggedOffers(const LoopbackOptions& options = reading()) : Offers({}, options) {
    p_.b.on_take_offered = [this](const TaggedHeader& header, std::uint64_t bytes,
                                  OfferedPayload& payload) {
      EXPECT_EQ(header.envelope, kHeader.envelope);
      place_.assign(bytes, std::byte{0xee});
      return wanted_ && payload.read(place_.data());
    };
  }
  Sent& send(std::size_t bytes, unsigned seed = 7) {
    std::string header(bytes_of(kHeader), ' ');
    encode_tagged_header(kHeader, reinterpret_cast<std::byte*>(header.data()));
    return p_.a.send(p_.to_b, kTaggedHandler, pattern(bytes, seed), header);
  }

  static constexpr TaggedHeader kHeader{{7, 3, 99}, 2};
  bool wanted_ = true;
  Bytes place_;
};

TEST_F(TaggedOffers, AreReadWhereTheyAreFound) {
  const std::uint64_t before = packets();
  Sent& message = send(20000);
  settle(p_.a, p_.b);
  EXPECT_TRUE(place_ == pattern(20000, 7));
  EXPECT_EQ(message.done, 1);
  EXPECT_TRUE(p_.b.arrived.empty()) << "no record was made of it";
  EXPECT_EQ(packets(), before + 1);
  EXPECT_EQ(read(), 20000u);
  EXPECT_TRUE(p_.a.messenger->idle() && p_.b.messenger->idle());
}

TEST_F(TaggedOffers, ThatAreNotWantedYetStand) {
  wanted_ = false;
  Sent& message = send(20000);
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 1u);
  EXPECT_EQ(p_.b.arrived[0].done, 1) << "by its record";
  EXPECT_EQ(message.done, 1);
  p_.expect_all_whole();
}

// The answer waits with those before it.
TEST_F(TaggedOffers, AreAnsweredInAnyCase) {
  constexpr unsigned kMessages = 300;
  for (unsigned i = 0; i < kMessages; ++i) send(1000 + i, i);
  settle(p_.a, p_.b);
  EXPECT_TRUE(p_.a.all_sent());
  EXPECT_TRUE(place_ == pattern(1000 + kMessages - 1, kMessages - 1));
  EXPECT_TRUE(p_.a.messenger->idle() && p_.b.messenger->idle());
}

class WeighedTaggedOffers : public TaggedOffers {
 protected:
  WeighedTaggedOffers() : TaggedOffers(weighing()) {}
};

// What is to be sent leaves a record, as what is not wanted yet.
TEST_F(WeighedTaggedOffers, AreReadAndSentBeforeTheFasterWayIsTaken) {
  for (std::uint32_t i = 0; i < 2 * OfferTimes::kFirst; ++i) {
    send(20000, i);
    settle(p_.a, p_.b);
    const bool sent = i >= OfferTimes::kFirst;
    ASSERT_EQ(p_.b.arrived.size(), sent ? i + 1 - OfferTimes::kFirst : 0) << i;
    const Bytes& got = sent ? p_.b.arrived.back().sink->bytes : place_;
    EXPECT_TRUE(got == pattern(20000, i)) << i;
  }
  EXPECT_TRUE(p_.a.all_sent());
}

class WeighedOffers : public Offers {
 protected:
  WeighedOffers() : Offers({}, weighing()) {}
};

TEST_F(WeighedOffers, AreReadAndSentBeforeTheFasterWayIsTaken) {
  for (std::uint32_t i = 0; i < OfferTimes::kFirst; ++i) EXPECT_EQ(read_of(20000), 20000u);
  for (std::uint32_t i = 0; i < OfferTimes::kFirst; ++i) EXPECT_EQ(read_of(20000), 0u);
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t read = read_of(20000);
    EXPECT_TRUE(read == 0 || read == 20000) << read;
  }
}

// A message that is not offered leaves at once, and is not its receiver's to read.
TEST_F(WeighedOffers, AreFewOnceThePeerHadSomeSent) {
  const auto is_offered = [this] {
    p_.a.send(p_.to_b, 1, pattern(20000, 7));
    settle(p_.a, p_.b);
    const bool waits = p_.a.sent.back().done == 0;
    p_.b.accept(p_.b.arrived.back());
    settle(p_.a, p_.b);
    return waits;
  };
  keep_what_arrives();
  for (std::uint32_t i = 0; i < 2 * OfferTimes::kFirst; ++i) EXPECT_TRUE(is_offered()) << i;
  OffersMade& made = p_.to_b.offered.of(20000);
  for (std::uint32_t i = 0; i < OffersMade::kInARow; ++i) made.count_answer(false);
  std::uint32_t offers = 0;
  for (std::uint32_t i = 0; i < OffersMade::kOfferEvery * OfferTimes::kRun; ++i) {
    offers += is_offered() ? 1 : 0;
  }
  EXPECT_EQ(offers, OfferTimes::kRun);
  p_.expect_all_whole();
}

TEST_F(WeighedOffers, AreSentInTheirOrderWhereSeveralAre) {
  (void)read_of(20000);
  for (unsigned i = 0; i < 8; ++i) p_.a.send(p_.to_b, 1, pattern(20000, i));
  settle(p_.a, p_.b);
  p_.expect_all_whole();
}

/// Memory in runs of 100 bytes.
class ShortRuns final : public PayloadSink {
 public:
  explicit ShortRuns(std::size_t size) : bytes(size) {}
  void place(std::uint64_t offset, Segment piece) override {
    std::memcpy(bytes.data() + offset, piece.data, piece.size);
  }
  std::size_t runs(std::uint64_t offset, std::uint64_t size, Segment* out, std::size_t) override {
    *out = {bytes.data() + offset, std::min<std::size_t>(100 - offset % 100, size)};
    return 1;
  }
  Bytes bytes;
};

// What comes in packets is unpacked as it comes; the kernel would want a list of them.
TEST_F(Offers, AreNotReadToShortRuns) {
  Arrived& message = kept(20000);
  ShortRuns memory(20000);
  Status accepted =
      p_.b.messenger->accept(*std::exchange(message.message, nullptr), memory, 20000, &message);
  EXPECT_TRUE(accepted.in_progress());
  settle(p_.a, p_.b);
  EXPECT_EQ(message.done, 1);
  EXPECT_TRUE(memory.bytes == p_.a.sent.back().bytes);
  EXPECT_EQ(read(), 0u);
}

TEST(OffersOfNothing, AreNotMadeOnAnyLink) {
  for (const std::size_t most : {std::size_t{0}, kMost}) {
    LoopbackOptions options;
    options.most_offered = most;
    Pair p(options);
    const Sent& sent = p.a.send(p.to_b, 1, {}, "header");
    ASSERT_NE(sent.run, nullptr);
    settle(p.a, p.b);
    EXPECT_EQ(sent.done, 1);
    EXPECT_EQ(p.b.arrived.size(), 1u);
    EXPECT_TRUE(p.b.gone.empty());
  }
}

TEST_F(Offers, AreReadOnlyAsFarAsTheyAreWanted) {
  p_.b.on_arrival = [this](Arrived& a) { p_.b.accept(a, 5000); };
  const Sent& sent = p_.a.send(p_.to_b, 1, pattern(20000, 7));
  settle(p_.a, p_.b);
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(read(), 5000u);
  Bytes first = pattern(20000, 7);
  first.resize(5000);
  EXPECT_EQ(p_.b.arrived[0].sink->bytes, first);
}

TEST_F(Offers, StandUntilSomebodyWants) {
  Arrived& arrived = kept(20000);
  EXPECT_EQ(read(), 0u);
  p_.b.accept(arrived);
  EXPECT_EQ(arrived.done, 1);
  settle(p_.a, p_.b);
  EXPECT_EQ(read(), 20000u);
  p_.expect_all_whole();
}

TEST_F(Offers, AreRefusedWhereNobodyWants) {
  p_.b.discard(kept(20000));
  settle(p_.a, p_.b);
  EXPECT_EQ(p_.a.sent[0].done, 1);
  EXPECT_EQ(read(), 0u);
}

TEST_F(Offers, AreSentWhereTheReceiversMemoryListsNoRuns) {
  p_.b.one_run = false;
  EXPECT_EQ(read_of(20000), 0u);
}

// Here the sender has left meanwhile.
TEST_F(Offers, AreAskedForWhereTheyCannotBeRead) {
  Arrived& arrived = kept(20000);
  p_.a.driver->disconnect(p_.to_b.state.connection());
  p_.b.accept(arrived);
  EXPECT_TRUE(arrived.status.in_progress()) << "only the connection's end ends it";
  settle(p_.a, p_.b);
  EXPECT_EQ(arrived.done, 1);
  EXPECT_TRUE(arrived.status.error());
}

MessengerConfig with_sums() {
  MessengerConfig config;
  config.checksum = true;
  return config;
}

class OffersWithSums : public Offers {
 protected:
  OffersWithSums() : Offers(with_sums()) {}
};

TEST_F(OffersWithSums, AreNotMade) { EXPECT_EQ(read_of(20000), 0u); }

MessengerConfig eager() {
  MessengerConfig config;
  config.eager_limit = 30000;
  return config;
}

class OffersOfTheEager : public Offers {
 protected:
  OffersOfTheEager() : Offers(eager()) {}
};

TEST_F(OffersOfTheEager, AreNotMade) { EXPECT_EQ(read_of(20000), 0u); }

class HostileTaker : public Hostile {
 protected:
  HostileTaker() : Hostile(reading()) {}
};

TEST_F(HostileTaker, TakesWhatItWasOffered) {
  raw_.hello();
  const std::uint32_t id = victim_sends(20000);
  EXPECT_TRUE(raw_.heard_last(FrameKind::kMessage).offered);
  raw_.post(frame_of(FrameKind::kTaken, id, 20000));
  expect_alive();
  EXPECT_EQ(victim_.sent[0].done, 1);
}

TEST_F(HostileTaker, TakesMore) {
  raw_.hello();
  raw_.post(frame_of(FrameKind::kTaken, victim_sends(20000), 20001));
  expect_end(StatusCode::kProtocol);
}

TEST_F(HostileTaker, TakesWhatIsNoMessage) {
  raw_.hello();
  raw_.post(frame_of(FrameKind::kTaken, victim_sends(20000) + 1, 20000));
  expect_end(StatusCode::kProtocol);
}

TEST_F(HostileTaker, TakesWhatItWasNotOffered) {
  raw_.hello(0);
  const std::uint32_t id = victim_sends(kMost + 1);
  EXPECT_FALSE(raw_.heard_last(FrameKind::kMessage).offered);
  raw_.post(frame_of(FrameKind::kTaken, id, 100));
  expect_end(StatusCode::kProtocol);
}

class HostileWriter : public Hostile {
 protected:
  static LoopbackOptions weighing_writes() {
    LoopbackOptions options = weighing();
    options.remote_write = true;
    return options;
  }
  HostileWriter() : Hostile(weighing_writes()) {}
};

// A payload that does not come with its header may just have found no room: it is its sender that
// says whether it is to be written.
TEST_F(HostileWriter, IsGivenAWindowWhereItWishesForOne) {
  raw_.hello();
  for (const bool wish : {false, true}) {
    Frame message = frame_of(FrameKind::kMessage, wish ? 4 : 3, 30000);
    message.window = wish;
    raw_.post(message);
    expect_alive();
    const Frame& clear = raw_.heard_last(FrameKind::kClear);
    EXPECT_EQ(clear.length, 30000u);
    EXPECT_EQ(clear.window, wish);
  }
}

// What it offers is longer than the link's, so that nobody reads it.
TEST_F(HostileTaker, OffersWhatCannotBeRead) {
  raw_.hello();
  Frame offer = frame_of(FrameKind::kMessage, 3, kMost + 1);
  offer.offered = true;
  offer.offset = 64;
  raw_.post(offer);
  expect_alive();
  EXPECT_EQ(raw_.heard_last(FrameKind::kClear).length, kMost + 1);
}

}  // namespace
}  // namespace mad
