// Messages that are written into memory of the fabric: small ones leave at once or not at
// all, heads leave piece by piece, and nothing comes between the pieces.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "madlike/message/endpoint.h"
#include "madlike/message/pair.h"
#include "madlike/message/wire.h"

namespace mad {
namespace {

constexpr std::size_t kPiece = 300;
constexpr std::size_t kHead = 3000;

LoopbackOptions lending(std::size_t queue_depth) {
  LoopbackOptions options;
  options.queue_depth = queue_depth;
  options.remote_write = false;
  options.lent_bytes = kPiece;
  return options;
}

MessengerConfig short_heads() {
  MessengerConfig config;
  config.eager_limit = kHead;
  config.peer_credit = 4 * kHead;
  return config;
}

class Lent : public ::testing::Test {
 protected:
  explicit Lent(const LoopbackOptions& options = lending(4)) : p_(options, short_heads()) {}

  Status at_once(std::size_t bytes, std::size_t header = 0) {
    const Bytes payload = pattern(bytes, 5);
    Bytes text = pattern(header, 6);
    BytesSource source(payload, 1, 1 << 20);
    return p_.a.messenger->send_at_once(p_.to_b, 1, {text.data(), text.size()}, source, bytes);
  }
  std::uint64_t packets() const { return p_.a.messenger->counters().drivers[0].packets_sent; }
  /// Payload bytes that were built into packets, in whatever way.
  std::uint64_t built() const {
    const MessageCounters& counters = p_.a.messenger->counters();
    return counters.staged_bytes + counters.referenced_bytes;
  }
  void expect_not_at_once(std::size_t bytes, std::size_t header = 0) {
    const std::uint64_t credit = p_.to_b.credit.available(), sent = packets(), before = built();
    EXPECT_TRUE(at_once(bytes, header).again());
    EXPECT_EQ(p_.to_b.credit.available(), credit);
    EXPECT_EQ(packets(), sent);
    EXPECT_EQ(built(), before);
  }

  Pair p_;
};

/// One piece is on its way at most.
class LentSlowly : public Lent {
 protected:
  LentSlowly() : Lent(lending(1)) {}

  void step(int times) {
    for (int i = 0; i < times; ++i) {
      (void)p_.b.messenger->progress();
      (void)p_.a.messenger->progress();
    }
  }
  /// Some pieces of its head left.
  Sent& begin(std::size_t bytes) {
    Sent& sent = p_.a.send(p_.to_b, 1, pattern(bytes), "header");
    EXPECT_TRUE(sent.status.in_progress());
    step(3);
    EXPECT_EQ(p_.b.arrived.size(), 1u);
    EXPECT_GT(p_.to_b.queue.unfinished.left, 0u);
    EXPECT_EQ(sent.done, 0);
    return sent;
  }
};

TEST_F(Lent, SmallMessagesLeaveAtOnceInAPacketEach) {
  const std::size_t sizes[] = {1, 8, 88, 89, 200, kPiece - kFrameBytes};
  std::size_t count = 0, bytes = 0;
  EXPECT_EQ(Messenger::max_at_once(p_.to_b, true), kPiece);
  for (const std::size_t size : sizes) {
    const std::uint64_t credit = p_.to_b.credit.available(), before = packets();
    ASSERT_TRUE(at_once(size).ok());
    EXPECT_EQ(packets(), before + 1);
    EXPECT_EQ(credit - p_.to_b.credit.available(), size);
    EXPECT_EQ(built(), bytes += size);
    EXPECT_TRUE(p_.a.messenger->idle());
    (void)p_.b.messenger->progress();
    ASSERT_EQ(p_.b.arrived.size(), ++count);
    EXPECT_TRUE(p_.b.arrived.back().sink->bytes == pattern(size, 5)) << size;
  }
  EXPECT_FALSE(p_.b.misaligned);
}

/// The same with short frames.
class LentShort : public Lent {
 protected:
  explicit LentShort(const LoopbackOptions& options = lending(4)) : Lent(options) {
    p_.b.on_take = [this](const TaggedHeader& header, Segment payload) {
      EXPECT_EQ(header.envelope, kEnvelope);
      EXPECT_EQ(header.flags, 5);
      taken_.emplace_back(payload.begin(), payload.end());
      return true;
    };
  }
  bool send(std::size_t bytes) {
    Bytes payload = pattern(bytes, 5);
    return p_.a.messenger->send_short(p_.to_b, {kEnvelope, 5}, {payload.data(), payload.size()});
  }
  void expect_not(std::size_t bytes) {
    const std::uint64_t credit = p_.to_b.credit.available(), sent = packets(), before = built();
    EXPECT_FALSE(send(bytes));
    EXPECT_EQ(p_.to_b.credit.available(), credit);
    EXPECT_EQ(packets(), sent);
    EXPECT_EQ(built(), before);
  }

  static constexpr Envelope kEnvelope{7, 3, 99};
  std::vector<Bytes> taken_;
};

TEST_F(LentShort, LeaveAtOnceInAPacketEach) {
  std::size_t bytes = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{8}, std::size_t{200},
                                 kPiece - short_frame_bytes(kTaggedHeaderBytes)}) {
    const std::uint64_t credit = p_.to_b.credit.available(), before = packets();
    const std::uint64_t sent = p_.a.messenger->counters().drivers[0].bytes_sent;
    ASSERT_TRUE(send(size));
    EXPECT_EQ(packets(), before + 1);
    EXPECT_EQ(p_.a.messenger->counters().drivers[0].bytes_sent - sent,
              size + short_frame_bytes(kTaggedHeaderBytes));
    EXPECT_EQ(credit - p_.to_b.credit.available(), size);
    EXPECT_EQ(built(), bytes += size);
    EXPECT_TRUE(p_.a.messenger->idle());
    (void)p_.b.messenger->progress();
    ASSERT_FALSE(taken_.empty());
    EXPECT_EQ(taken_.back(), pattern(size, 5));
  }
  EXPECT_EQ(taken_.size(), 5u);
}

TEST_F(LentShort, MayBeOfManyRuns) {
  class Doubled final : public WholePayload {
   public:
    explicit Doubled(const Bytes& half) : WholePayload(2 * half.size()), half_(half) {}
    std::uint64_t run_bytes() const override { return half_.size(); }
    void write(std::byte* out) const override {
      std::copy(half_.begin(), half_.end(), std::copy(half_.begin(), half_.end(), out));
    }

   private:
    const Bytes& half_;
  };
  Bytes half = pattern(100, 5);
  const std::uint64_t credit = p_.to_b.credit.available();
  ASSERT_TRUE(p_.a.messenger->send_short(p_.to_b, {kEnvelope, 5}, Doubled(half)));
  EXPECT_EQ(credit - p_.to_b.credit.available(), 200u);
  EXPECT_EQ(built(), 200u);
  (void)p_.b.messenger->progress();
  ASSERT_EQ(taken_.size(), 1u);
  half.insert(half.end(), half.begin(), half.end());
  EXPECT_EQ(taken_[0], half);
  const Bytes long_half = pattern(kPiece / 2, 5);
  EXPECT_FALSE(p_.a.messenger->send_short(p_.to_b, {kEnvelope, 5}, Doubled(long_half)));
}

TEST_F(LentShort, CarryCreditBack) {
  ASSERT_TRUE(send(200));
  (void)p_.b.messenger->progress();
  EXPECT_EQ(p_.to_a.credit.to_return(), 200u);
  const std::uint64_t before = p_.to_b.credit.available();
  p_.a.on_take = [](const TaggedHeader&, Segment) { return true; };
  ASSERT_TRUE(p_.b.messenger->send_short(p_.to_a, {kEnvelope, 5}, {}));
  EXPECT_EQ(p_.to_a.credit.to_return(), 0u);
  (void)p_.a.messenger->progress();
  EXPECT_EQ(p_.to_b.credit.available(), before + 200);
}

TEST_F(LentShort, DoNotLeaveWhereTheyHaveNoRoom) {
  expect_not(kPiece - short_frame_bytes(kTaggedHeaderBytes) + 1);
  MessengerConfig config = short_heads();
  config.eager_limit = 100;
  Bytes payload = pattern(101);
  Pair limited(lending(4), config);
  EXPECT_FALSE(limited.a.messenger->send_short(limited.to_b, {}, {payload.data(), 101}));
  EXPECT_TRUE(limited.a.messenger->send_short(limited.to_b, {}, {payload.data(), 100}));
  config.checksum = true;
  Pair summed(lending(4), config);
  EXPECT_FALSE(summed.a.messenger->send_short(summed.to_b, {}, {payload.data(), 8}));
  Pair not_lent({}, short_heads());
  EXPECT_FALSE(not_lent.a.messenger->send_short(not_lent.to_b, {}, {payload.data(), 8}));
}

TEST_F(LentShort, DoNotLeaveWithoutCreditOrBeforeOthers) {
  p_.b.on_take = nullptr;
  p_.b.on_arrival = [](Arrived&) {};
  while (p_.to_b.credit.available() >= 200) {
    ASSERT_TRUE(send(200));
    (void)p_.b.messenger->progress();
  }
  expect_not(200);
  for (Arrived& each : p_.b.arrived) p_.b.accept(each);
  settle(p_.a, p_.b);
  while (p_.to_b.queue.first_frames.empty())
    ASSERT_TRUE(p_.a.send_header(p_.to_b, 2, "waits").ok());
  (void)p_.b.messenger->progress();  // there is room again
  expect_not(8);
  settle(p_.a, p_.b);
  EXPECT_TRUE(send(8));
}

/// Short frames of a fabric that makes no pieces, and lets small packets leave together.
class ShortOnly : public LentShort {
 protected:
  ShortOnly() : LentShort(short_only()) {}
  static LoopbackOptions short_only() {
    LoopbackOptions options;
    options.queue_depth = 40;
    options.cork_bytes = 4096;
    options.short_bytes = kPiece;
    return options;
  }
};

TEST_F(ShortOnly, LeaveAtOnceUpToTheLimit) {
  const std::size_t most = kPiece - short_frame_bytes(kTaggedHeaderBytes);
  expect_not(most + 1);
  const std::uint64_t credit = p_.to_b.credit.available(), before = packets();
  ASSERT_TRUE(send(most));
  EXPECT_EQ(packets(), before + 1);
  EXPECT_EQ(credit - p_.to_b.credit.available(), most);
  EXPECT_TRUE(p_.a.messenger->idle());
  (void)p_.b.messenger->progress();
  ASSERT_EQ(taken_.size(), 1u);
  EXPECT_EQ(taken_[0], pattern(most, 5));
}

// Of many in a row the later ones are better collected.
TEST_F(ShortOnly, LeaveOneByOneWhereTheyAreFew) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < SendQueue::kAtOnce; ++i) ASSERT_TRUE(send(8));
    expect_not(8);
    (void)p_.a.messenger->progress();
  }
}

TEST_F(ShortOnly, DoNotLeaveWhereTheFabricTakesNothing) {
  int sent = 0;
  for (;; ++sent) {
    ASSERT_LE(sent, 40);
    const std::uint64_t credit = p_.to_b.credit.available(), before = built();
    if (!send(100)) {
      EXPECT_EQ(p_.to_b.credit.available(), credit);
      EXPECT_EQ(built(), before);
      break;
    }
    (void)p_.a.messenger->progress();
  }
  EXPECT_EQ(sent, 40);
  while (taken_.size() < 40) (void)p_.b.messenger->progress();
  EXPECT_TRUE(send(100));
}

TEST_F(Lent, HeadersGoAlong) {
  for (const std::size_t header : {1, 8, 30, 100}) {
    ASSERT_TRUE(at_once(150, header).ok());
    (void)p_.b.messenger->progress();
    EXPECT_EQ(p_.b.arrived.back().header.size(), header);
    EXPECT_TRUE(p_.b.arrived.back().sink->bytes == pattern(150, 5));
  }
}

TEST_F(Lent, WhatIsLongerThanAPieceOrAHeadDoesNotLeaveAtOnce) {
  expect_not_at_once(kPiece - kFrameBytes + 1);
  expect_not_at_once(kPiece - kFrameBytes - 7, 8);
  MessengerConfig config = short_heads();
  config.eager_limit = 100;
  Pair other(lending(4), config);
  const Bytes payload = pattern(101);
  BytesSource source(payload, 1, 1 << 20);
  EXPECT_TRUE(other.a.messenger->send_at_once(other.to_b, 1, {}, source, 101).again());
  EXPECT_TRUE(other.a.messenger->send_at_once(other.to_b, 1, {}, source, 100).ok());
}

TEST_F(Lent, NothingLeavesAtOnceWithoutCreditOrBeforeOthers) {
  p_.b.on_arrival = [](Arrived&) {};
  while (p_.to_b.credit.available() >= 200) {
    ASSERT_TRUE(at_once(200).ok());
    (void)p_.b.messenger->progress();
  }
  expect_not_at_once(200);
  p_.b.on_arrival = nullptr;
  for (Arrived& each : p_.b.arrived) p_.b.accept(each);
  settle(p_.a, p_.b);
  while (p_.to_b.queue.first_frames.empty())
    ASSERT_TRUE(p_.a.send_header(p_.to_b, 2, "waits").ok());
  (void)p_.b.messenger->progress();  // there is room again
  expect_not_at_once(8);
  settle(p_.a, p_.b);
  EXPECT_TRUE(at_once(8).ok());
}

TEST_F(Lent, NothingLeavesAtOnceBeforeThePeerIsKnown) {
  Side c(p_.network, short_heads());
  Endpoint& to_c = p_.a.to(c);
  const Bytes payload = pattern(8);
  BytesSource source(payload, 1, 1 << 20);
  EXPECT_EQ(Messenger::max_at_once(to_c, true), 0u);
  EXPECT_TRUE(p_.a.messenger->send_at_once(to_c, 1, {}, source, 8).again());
}

TEST_F(Lent, AFullFabricChangesNothing) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{200}}) {
    std::size_t sent = 0;
    const std::size_t before = p_.b.arrived.size();
    while (at_once(size).ok()) ASSERT_LT(++sent, 10u);
    EXPECT_EQ(sent, 4u);
    expect_not_at_once(size);
    Sent& waits = p_.a.send(p_.to_b, 1, pattern(size, 9));
    EXPECT_TRUE(waits.status.in_progress());
    settle(p_.a, p_.b);
    EXPECT_EQ(waits.done, 1);
    ASSERT_EQ(p_.b.arrived.size(), before + sent + 1);
    EXPECT_TRUE(p_.b.arrived.back().sink->bytes == waits.bytes);
  }
  EXPECT_TRUE(p_.a.messenger->idle());
}

TEST_F(Lent, MessagesOfAllSizesArrive) {
  for (const bool one_run : {true, false}) {
    for (const std::uint64_t flush_bytes : {0, 100}) {
      for (const std::size_t step : {70, 1 << 20}) {
        Pair p(lending(3), short_heads());
        p.b.one_run = one_run;
        p.a.flush_bytes = flush_bytes;
        p.a.fill_step = step;
        p.a.reference_from = 1;
        for (const std::size_t size : {1, 100, 259, 260, 261, 2999, 3000, 3001, 20000}) {
          p.a.send(p.to_b, 1, pattern(size, static_cast<unsigned>(size)), "header");
          p.b.send(p.to_a, 1, pattern(size), "the other way");
        }
        settle(p.a, p.b);
        p.expect_all_whole();
        EXPECT_TRUE(p.b.all_sent());
        EXPECT_EQ(p.a.messenger->counters().referenced_bytes, 0u) << "copied is copied";
      }
    }
  }
}

TEST_F(Lent, TheLongestHeaderIsNotCut) {
  const std::string header(p_.a.messenger->max_header_bytes(), 'h');
  for (const std::size_t bytes : {1, 200, 2000, 10000})
    p_.a.send(p_.to_b, 1, pattern(bytes), header);
  ASSERT_TRUE(p_.a.send_header(p_.to_b, 2, header).ok());
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_TRUE(p_.b.arrived[i].header == header) << i;
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(p_.b.arrived[i].sink->bytes == p_.a.sent[i].bytes) << i;
  }
}

// The first of two pieces may be half as long as the longest one.
TEST_F(Lent, AHeaderOfHalfAPieceHasItsHeadBehindIt) {
  LoopbackOptions options = lending(4);
  options.lent_bytes = 320;
  Pair p(options, short_heads());
  const std::string header(options.lent_bytes / 2 - kFrameBytes, 'h');
  const std::uint64_t before = p.a.messenger->counters().drivers[0].packets_sent;
  p.a.send(p.to_b, 1, pattern(kHead), header);
  settle(p.a, p.b);
  p.expect_all_whole();
  EXPECT_TRUE(p.b.arrived[0].header == header);
  EXPECT_EQ(p.a.messenger->counters().drivers[0].packets_sent, before + 1);
}

TEST_F(LentSlowly, AHeadIsSentWhenItsLastPieceLeft) {
  Sent& sent = begin(kHead);
  EXPECT_FALSE(p_.a.messenger->idle());
  EXPECT_FALSE(p_.a.messenger->flushed());
  ASSERT_TRUE(settle(p_.a, p_.b, [&] { return p_.to_b.queue.unfinished.left == 0; }));
  settle(p_.a, p_.b);
  EXPECT_EQ(sent.done, 1);
  EXPECT_EQ(packets(), 2u) << "HELLO, and one packet however many pieces it has";
  p_.expect_all_whole();
  EXPECT_EQ(p_.to_b.packets.of_messages, 0u);
}

// Whatever came between would be taken for payload.
TEST_F(LentSlowly, NothingOvertakesThePiecesOfAHead) {
  p_.b.send(p_.to_a, 1, pattern(3 * kHead), "CLEAR waits");
  settle(p_.a, p_.b, [&] { return !p_.a.arrived.empty() && p_.a.arrived[0].done == 0; });
  settle(p_.a, p_.b);
  p_.a.arrived.clear();
  p_.a.on_arrival = [](Arrived&) {};
  p_.b.send(p_.to_a, 1, pattern(3 * kHead, 2), "CLEAR waits");
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.a.arrived.size(), 1u);
  Sent& sent = begin(kHead);
  (void)p_.b.messenger->progress();  // there is room for a piece
  expect_not_at_once(8);
  p_.a.accept(p_.a.arrived[0]);  // CLEAR and credit
  ASSERT_TRUE(p_.a.send_header(p_.to_b, 2, "short").ok());
  p_.a.send(p_.to_b, 1, pattern(3 * kHead, 3), "header");
  EXPECT_EQ(sent.done, 0);
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 3u);
  EXPECT_TRUE(p_.b.arrived[0].sink->bytes == sent.bytes);
  EXPECT_EQ(p_.b.arrived[1].header, "short");
  EXPECT_TRUE(p_.b.arrived[2].sink->bytes == pattern(3 * kHead, 3));
  EXPECT_TRUE(p_.a.arrived[0].sink->bytes == pattern(3 * kHead, 2));
  EXPECT_TRUE(p_.a.all_sent() && p_.b.all_sent());
  EXPECT_TRUE(p_.a.messenger->idle() && p_.b.messenger->idle());
}

TEST_F(LentSlowly, TheReceiverTakesWhatItWantsWhenItWants) {
  for (const std::size_t bytes : {kHead, 3 * kHead}) {
    for (const std::size_t wanted : {std::size_t{0}, std::size_t{100}, std::size_t{1000}, kHead - 1,
                                     kHead, kHead + 1, 3 * kHead}) {
      for (const int late : {0, 4, 50}) {
        SCOPED_TRACE(testing::Message() << wanted << " of " << bytes << ", late " << late);
        Pair p(lending(1), short_heads());
        const auto answer = [&](Arrived& a) {
          wanted == 0 ? p.b.discard(a) : p.b.accept(a, wanted);
        };
        p.b.on_arrival = [&](Arrived& a) {
          if (late == 0) answer(a);
        };
        Sent& sent = p.a.send(p.to_b, 1, pattern(bytes), "header");
        for (int i = 0; i < late; ++i) {
          (void)p.b.messenger->progress();
          (void)p.a.messenger->progress();
        }
        if (late > 0) answer(p.b.arrived[0]);
        settle(p.a, p.b);
        EXPECT_EQ(sent.done, 1);
        EXPECT_TRUE(sent.status.ok());
        EXPECT_TRUE(p.a.messenger->idle() && p.b.messenger->idle());
        if (wanted > 0) {
          Bytes expected = pattern(bytes);
          expected.resize(std::min(bytes, wanted));
          Bytes got = p.b.arrived[0].sink->bytes;
          got.resize(expected.size());
          EXPECT_EQ(p.b.arrived[0].done, 1);
          EXPECT_TRUE(got == expected);
          EXPECT_FALSE(p.b.arrived[0].sink->overrun);
        }
        p.b.on_arrival = nullptr;
        p.a.send(p.to_b, 1, pattern(kHead, 7));
        settle(p.a, p.b);
        EXPECT_TRUE(p.b.arrived.back().sink->bytes == pattern(kHead, 7));
      }
    }
  }
}

TEST_F(LentSlowly, AnAnswerArrivesWhileTheHeadLeaves) {
  Sent& sent = begin(3 * kHead);  // b has accepted
  step(2);
  EXPECT_GT(p_.to_b.queue.unfinished.left, 0u);
  EXPECT_FALSE(p_.to_b.queue.streaming.empty()) << "CLEAR is here";
  settle(p_.a, p_.b);
  EXPECT_EQ(sent.done, 1);
  p_.expect_all_whole();
}

TEST_F(LentSlowly, ADeadPeerFailsAHeadThatIsLeaving) {
  for (const std::size_t bytes : {kHead, 3 * kHead}) {
    for (const bool accepts : {true, false}) {
      const auto network = std::make_shared<LoopbackNetwork>(lending(1));
      Side a(network, short_heads());
      auto b = std::make_unique<Side>(network, short_heads());
      if (!accepts) b->on_arrival = [](Arrived&) {};
      Endpoint& to_b = a.to(*b);
      ASSERT_TRUE(a.messenger->touch(to_b).ok());
      settle(a, *b);
      Sent& sent = a.send(to_b, 1, pattern(bytes));
      for (int i = 0; i < 4; ++i) {
        (void)b->messenger->progress();
        (void)a.messenger->progress();
      }
      ASSERT_GT(to_b.queue.unfinished.left, 0u);
      b.reset();
      for (int i = 0; i < 20; ++i) (void)a.messenger->progress();
      ASSERT_EQ(a.gone.size(), 1u);
      EXPECT_EQ(sent.done, 1);
      EXPECT_EQ(sent.status.code(), StatusCode::kPeerFailed);
      EXPECT_TRUE(a.messenger->idle());
      EXPECT_TRUE(a.messenger->flushed());
      EXPECT_EQ(to_b.queue.unfinished.message, nullptr);
      EXPECT_EQ(to_b.packets.of_messages, 0u);
    }
  }
}

TEST_F(LentSlowly, CloseWaitsForTheHead) {
  Sent& sent = begin(kHead);
  std::atomic<bool> closed{false};
  Status status;
  std::thread closing([&] {
    status = p_.a.messenger->close(10000);
    closed = true;
  });
  while (!closed) (void)p_.b.messenger->progress();  // close() ends it
  closing.join();
  EXPECT_TRUE(status.ok()) << status.message();
  settle(p_.b, p_.b);
  EXPECT_EQ(sent.done, 1);
  EXPECT_TRUE(p_.b.arrived[0].sink->bytes == sent.bytes);
  ASSERT_EQ(p_.b.gone.size(), 1u);
  EXPECT_EQ(p_.b.gone[0].second.code(), StatusCode::kClosed);
}

TEST_F(LentSlowly, CallbacksSend) {
  int left = 5;
  p_.a.on_left = [&](Sent&) {
    if (left-- > 0) p_.a.send(p_.to_b, 1, pattern(kHead, static_cast<unsigned>(left)));
  };
  p_.b.on_complete = [&](Arrived&) { p_.b.send(p_.to_a, 1, pattern(2 * kHead)); };
  p_.a.send(p_.to_b, 1, pattern(kHead));
  settle(p_.a, p_.b);
  EXPECT_EQ(p_.a.sent.size(), 6u);
  EXPECT_EQ(p_.b.sent.size(), 6u);
  EXPECT_TRUE(p_.b.all_sent());
  p_.expect_all_whole();
}

TEST_F(Lent, WithoutCreditThePayloadComesLater) {
  p_.b.on_arrival = [](Arrived&) {};
  for (unsigned i = 0; i < 8; ++i) p_.a.send(p_.to_b, 1, pattern(kHead, i));
  settle(p_.a, p_.b);
  ASSERT_EQ(p_.b.arrived.size(), 8u);
  EXPECT_EQ(p_.b.messenger->counters().unexpected_bytes, 4 * kHead);
  for (Arrived& each : p_.b.arrived) p_.b.accept(each);
  settle(p_.a, p_.b);
  p_.expect_all_whole();
}

TEST_F(Lent, ChecksummedHeadsLeaveInOnePiece) {
  MessengerConfig config = short_heads();
  config.checksum = true;
  Pair p(lending(3), config);
  std::uint64_t bytes = 0;
  for (const std::size_t size : {1, 260, 261, 3000, 10000}) {
    p.a.send(p.to_b, 1, pattern(size), "header");
    bytes += size;
    EXPECT_EQ(p.to_b.queue.unfinished.left, 0u);
  }
  settle(p.a, p.b);
  p.expect_all_whole();
  EXPECT_EQ(p.b.messenger->counters().checked_bytes, bytes);
  const Bytes payload = pattern(8);
  BytesSource source(payload, 1, 1 << 20);
  EXPECT_TRUE(p.a.messenger->send_at_once(p.to_b, 1, {}, source, 8).again());
}

}  // namespace
}  // namespace mad
