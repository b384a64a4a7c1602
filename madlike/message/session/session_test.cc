// Madeleine sessions over two or three messengers on one loopback network.
#include <gtest/gtest.h>

#include <cstring>

#include "madlike/message/session/session_hub.h"
#include "tests/fault/session_party.h"

namespace mad {
namespace {

using test::run_together;
using test::SessionParty;
using Bytes = std::vector<std::byte>;

constexpr int kLong = 10000;  // milliseconds; nothing takes that long

Bytes pattern(std::size_t size, unsigned seed) {
  Bytes bytes(size);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

Segment of(Bytes& bytes) { return {bytes.data(), bytes.size()}; }

template <typename T>
Segment of(T& value) {
  return {&value, sizeof(value)};
}

class SessionTest : public ::testing::Test {
 protected:
  std::shared_ptr<LoopbackNetwork> network = std::make_shared<LoopbackNetwork>();
  SessionParty a{network, FaultPlan{}};
  SessionParty b{network, FaultPlan{}};

  // b takes the next message apart with `unpack`.
  Status receive(const std::function<void(UnpackingSession&)>& unpack) {
    UnpackingSession* const session = b.hub().begin_unpacking(kLong);
    if (session == nullptr) return Status(StatusCode::kNotFound, "no message came");
    unpack(*session);
    return b.hub().end(*session);
  }
};

TEST_F(SessionTest, SizeExpressThenDataCheaper) {
  Bytes data = pattern(100000, 1);
  Bytes got;
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   std::uint64_t size = data.size();
                   EXPECT_TRUE(session.pack(of(size), SendMode::kSafer).ok());
                   size = 0;  // SAFER: it may be reused
                   EXPECT_TRUE(session.pack(of(data), SendMode::kCheaper).ok());
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   const Status status = receive([&](UnpackingSession& session) {
                     std::uint64_t size = 0;
                     EXPECT_TRUE(session.unpack(of(size), ReceiveMode::kExpress).ok());
                     ASSERT_EQ(size, data.size());
                     got.resize(size);
                     EXPECT_TRUE(session.unpack(of(got), ReceiveMode::kCheaper).ok());
                   });
                   EXPECT_TRUE(status.ok()) << status.message();
                 }}});
  EXPECT_EQ(got, data);
}

TEST_F(SessionTest, EveryModeAndSizeComesThroughInOrder) {
  const std::vector<std::size_t> sizes = {0, 1, 7, 4095, 4096, 20000, 32000, 70000, 300000, 3};
  for (const SendMode send : {SendMode::kSafer, SendMode::kLater, SendMode::kCheaper}) {
    for (const ReceiveMode receive_mode : {ReceiveMode::kExpress, ReceiveMode::kCheaper}) {
      std::vector<Bytes> sent, got;
      for (std::size_t i = 0; i < sizes.size(); ++i) {
        sent.push_back(pattern(sizes[i], static_cast<unsigned>(i)));
        got.emplace_back(sizes[i]);
      }
      run_together({{&a,
                     [&] {
                       PackingSession& session = a.begin_packing(b);
                       for (Bytes& bytes : sent) EXPECT_TRUE(session.pack(of(bytes), send).ok());
                       EXPECT_TRUE(a.hub().end(session).ok());
                     }},
                    {&b, [&] {
                       const Status status = receive([&](UnpackingSession& session) {
                         for (std::size_t i = 0; i < sizes.size(); ++i) {
                           EXPECT_TRUE(session.unpack(of(got[i]), receive_mode).ok());
                           if (receive_mode == ReceiveMode::kExpress) {
                             EXPECT_EQ(got[i], sent[i]) << "not there when unpack() returned";
                           }
                         }
                       });
                       EXPECT_TRUE(status.ok()) << status.message();
                     }}});
      EXPECT_EQ(got, sent);
    }
  }
}

TEST_F(SessionTest, SaferMemoryIsFreeAtOnce) {
  std::vector<Bytes> sent = {pattern(50, 1), pattern(200000, 2)};
  std::vector<Bytes> got = {Bytes(50), Bytes(200000)};
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   for (Bytes bytes : sent) {
                     EXPECT_TRUE(session.pack(of(bytes), SendMode::kSafer).ok());
                     std::fill(bytes.begin(), bytes.end(), std::byte{0});
                   }
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got[0]), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got[1]), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got, sent);
}

TEST_F(SessionTest, LaterMemoryIsReadAtTheEndAndKeepsItsPlace) {
  int first = 1, later = 2, safer = 3;
  Bytes big = pattern(50000, 4);
  int got_first = 0, got_later = 0, got_safer = 0;
  Bytes got_big(big.size());
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   EXPECT_TRUE(session.pack(of(first), SendMode::kCheaper).ok());
                   EXPECT_TRUE(session.pack(of(later), SendMode::kLater).ok());
                   EXPECT_TRUE(session.pack(of(safer), SendMode::kSafer).ok());
                   EXPECT_TRUE(session.pack(of(big), SendMode::kLater).ok());
                   later = 20;
                   safer = 30;
                   const Bytes changed = pattern(big.size(), 5);
                   std::copy(changed.begin(), changed.end(), big.begin());
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_first), ReceiveMode::kExpress);
                                 (void)session.unpack(of(got_later), ReceiveMode::kExpress);
                                 EXPECT_EQ(got_later, 20);
                                 (void)session.unpack(of(got_safer), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_big), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got_first, 1);
  EXPECT_EQ(got_safer, 3) << "SAFER behind LATER is copied";
  EXPECT_EQ(got_big, pattern(big.size(), 5));
}

TEST_F(SessionTest, CopiesBehindALaterPieceAreBounded) {
  Bytes big = pattern(2 * 1024 * 1024, 1);
  int later = 7, got = 0;
  Bytes got_big(big.size());
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   EXPECT_TRUE(session.pack(of(later), SendMode::kLater).ok());
                   EXPECT_EQ(session.pack(of(big), SendMode::kSafer).code(),
                             StatusCode::kInvalidArgument);
                   EXPECT_TRUE(session.pack(of(big), SendMode::kCheaper).ok())
                       << "the refused piece was not taken, the message goes on";
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_big), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got, 7);
  EXPECT_EQ(got_big, big);
}

// What a wrong unpacking call gives; `pieces` are packed, then `unpack` is done.
struct Mismatch {
  const char* name;
  std::vector<std::size_t> packed;
  std::vector<std::size_t> unpacked;
  StatusCode expected;
};

class MismatchTest : public SessionTest, public ::testing::WithParamInterface<Mismatch> {};

TEST_P(MismatchTest, GivesAnErrorAndTheNextMessageIsWhole) {
  const Mismatch& param = GetParam();
  Bytes data = pattern(200000, 3);
  Bytes room(300000);
  int next = 5, got_next = 0;
  for (const ReceiveMode mode : {ReceiveMode::kExpress, ReceiveMode::kCheaper}) {
    run_together({{&a,
                   [&] {
                     PackingSession& session = a.begin_packing(b);
                     for (const std::size_t size : param.packed) {
                       (void)session.pack({data.data(), size}, SendMode::kCheaper);
                     }
                     EXPECT_TRUE(a.hub().end(session).ok()) << "refused pieces do no harm";
                     PackingSession& second = a.begin_packing(b);
                     (void)second.pack(of(next), SendMode::kCheaper);
                     EXPECT_TRUE(a.hub().end(second).ok());
                   }},
                  {&b, [&] {
                     const Status status = receive([&](UnpackingSession& session) {
                       for (const std::size_t size : param.unpacked) {
                         (void)session.unpack({room.data(), size}, mode);
                       }
                     });
                     EXPECT_EQ(status.code(), param.expected) << status.message();
                     EXPECT_NE(status.message().find("mirror"), std::string_view::npos)
                         << status.message();
                     const Status second = receive([&](UnpackingSession& session) {
                       (void)session.unpack(of(got_next), mode);
                     });
                     EXPECT_TRUE(second.ok()) << second.message();
                   }}});
    EXPECT_EQ(got_next, 5);
    got_next = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, MismatchTest,
    ::testing::Values(Mismatch{"short_asks_less", {8}, {4}, StatusCode::kTruncated},
                      Mismatch{"short_asks_more", {8}, {9}, StatusCode::kProtocol},
                      Mismatch{"short_one_too_many", {8}, {8, 8}, StatusCode::kProtocol},
                      Mismatch{"short_one_missing", {8, 8}, {8}, StatusCode::kTruncated},
                      Mismatch{"long_asks_less", {100000}, {99999}, StatusCode::kTruncated},
                      Mismatch{"long_asks_more", {100000}, {100001}, StatusCode::kProtocol},
                      Mismatch{"long_asks_little", {100000, 3}, {3, 3}, StatusCode::kTruncated},
                      Mismatch{"long_missing", {4, 100000, 4}, {4}, StatusCode::kTruncated},
                      Mismatch{"long_one_too_many", {100000}, {100000, 1}, StatusCode::kProtocol},
                      Mismatch{"nothing_unpacked", {1, 200000}, {}, StatusCode::kTruncated},
                      Mismatch{"two_for_one", {10}, {5, 5}, StatusCode::kTruncated}),
    [](const auto& info) { return info.param.name; });

TEST_F(SessionTest, EmptyMessagesArrive) {
  run_together({{&a,
                 [&] {
                   EXPECT_TRUE(a.hub().end(a.begin_packing(b)).ok());
                   PackingSession& session = a.begin_packing(b);
                   EXPECT_TRUE(session.pack(Segment{}, SendMode::kLater).ok());
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([](UnpackingSession&) {}).ok());
                   EXPECT_TRUE(receive([](UnpackingSession& session) {
                                 EXPECT_TRUE(session.unpack(Segment{}, ReceiveMode::kExpress).ok());
                               }).ok());
                 }}});
}

TEST_F(SessionTest, WaitingForAMessageEnds) {
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr);
  EXPECT_EQ(b.hub().begin_unpacking(20), nullptr);
}

// Pieces scattered in memory: every second block of eight bytes.
class StridedSource final : public PayloadSource {
 public:
  explicit StridedSource(const Bytes& bytes) : bytes_(bytes) {}
  void fill(Packet& packet, std::uint64_t limit) override {
    const auto end = done_ + limit;
    while (done_ < end) {
      const std::byte* const from = bytes_.data() + (done_ / 8) * 16 + done_ % 8;
      const std::size_t size = std::min<std::size_t>(8 - done_ % 8, end - done_);
      std::size_t taken = 0;
      if (done_ % 3 == 0 && packet.can_reference()) {
        taken = packet.reference({const_cast<std::byte*>(from), size});
      } else {
        taken = std::min(size, packet.staging_room().size);
        if (taken > 0) std::memcpy(packet.staging_room().data, from, taken);
        packet.stage(taken);
      }
      if (taken == 0) return;
      done_ += taken;
    }
  }

 private:
  const Bytes& bytes_;
  std::size_t done_ = 0;
};

class StridedSink final : public PayloadSink {
 public:
  explicit StridedSink(Bytes& bytes) : bytes_(bytes) {}
  void place(std::uint64_t offset, Segment bytes) override {
    for (std::size_t i = 0; i < bytes.size; ++i) {
      const std::size_t at = static_cast<std::size_t>(offset) + i;
      bytes_[(at / 8) * 16 + at % 8] = bytes.begin()[i];
    }
  }
  Segment in_place(std::uint64_t, std::uint64_t) override { return {}; }

 private:
  Bytes& bytes_;
};

TEST_F(SessionTest, ScatteredPiecesOfEverySize) {
  for (const SendMode mode : {SendMode::kSafer, SendMode::kLater, SendMode::kCheaper}) {
    for (const std::size_t bytes : {std::size_t{24}, std::size_t{4096}, std::size_t{200000}}) {
      Bytes sent = pattern(2 * bytes, 1);
      Bytes got(2 * bytes);
      int marker = 3, got_marker = 0, later = 4, got_later = 0;
      run_together(
          {{&a,
            [&] {
              PackingSession& session = a.begin_packing(b);
              (void)session.pack(of(marker), SendMode::kSafer);
              (void)session.pack(of(later), SendMode::kLater);
              EXPECT_TRUE(
                  session.pack({std::make_unique<StridedSource>(sent), bytes, 0}, mode).ok());
              EXPECT_TRUE(a.hub().end(session).ok());
              PackingSession& direct = a.begin_packing(b);
              EXPECT_TRUE(
                  direct.pack({std::make_unique<StridedSource>(sent), bytes, 0}, mode).ok());
              EXPECT_TRUE(a.hub().end(direct).ok());
            }},
           {&b, [&] {
              EXPECT_TRUE(receive([&](UnpackingSession& session) {
                            (void)session.unpack(of(got_marker), ReceiveMode::kExpress);
                            (void)session.unpack(of(got_later), ReceiveMode::kCheaper);
                            (void)session.unpack({std::make_unique<StridedSink>(got), bytes},
                                                 ReceiveMode::kCheaper);
                          }).ok());
              for (std::size_t i = 0; i < got.size(); ++i) {
                ASSERT_EQ(got[i], i % 16 < 8 ? sent[i] : std::byte{0}) << i;
              }
              Bytes row(bytes);
              EXPECT_TRUE(receive([&](UnpackingSession& session) {
                            (void)session.unpack(of(row), ReceiveMode::kExpress);
                          }).ok());
              for (std::size_t i = 0; i < row.size(); ++i) {
                ASSERT_EQ(row[i], sent[(i / 8) * 16 + i % 8]) << i;
              }
            }}});
      EXPECT_EQ(got_marker, 3);
      EXPECT_EQ(got_later, 4);
    }
  }
}

TEST_F(SessionTest, MessagesOfSeveralSendersKeepTheirOrder) {
  SessionParty c(network, FaultPlan{});
  constexpr int kMessages = 40;
  const auto sender = [&](SessionParty& from, int base) {
    for (int i = 0; i < kMessages; ++i) {
      Bytes data = pattern(static_cast<std::size_t>(i) * 997, static_cast<unsigned>(base + i));
      int number = base + i;
      PackingSession& session = from.begin_packing(b);
      EXPECT_TRUE(session.pack(of(number), SendMode::kCheaper).ok());
      EXPECT_TRUE(session.pack(of(data), SendMode::kCheaper).ok());
      EXPECT_TRUE(from.hub().end(session).ok());
    }
  };
  int next_of_a = 0, next_of_c = 1000;
  run_together({{&a, [&] { sender(a, 0); }},
                {&c, [&] { sender(c, 1000); }},
                {&b, [&] {
                   for (int i = 0; i < 2 * kMessages; ++i) {
                     const Status status = receive([&](UnpackingSession& session) {
                       int number = -1;
                       (void)session.unpack(of(number), ReceiveMode::kExpress);
                       const bool from_a = &session.message().from() == &b.endpoint(a);
                       int& expected = from_a ? next_of_a : next_of_c;
                       ASSERT_EQ(number, expected);
                       Bytes data(static_cast<std::size_t>(number % 1000) * 997);
                       (void)session.unpack(of(data), ReceiveMode::kExpress);
                       EXPECT_EQ(data, pattern(data.size(), static_cast<unsigned>(number)));
                       ++expected;
                     });
                     ASSERT_TRUE(status.ok()) << status.message();
                   }
                 }}});
  EXPECT_EQ(next_of_a, kMessages);
  EXPECT_EQ(next_of_c, 1000 + kMessages);
}

TEST_F(SessionTest, TwoMessagesToOnePeerMayBePackedAtOnce) {
  Bytes first = pattern(40000, 1), second = pattern(50000, 2);
  Bytes got_first(first.size()), got_second(second.size());
  run_together({{&a,
                 [&] {
                   PackingSession& one = a.begin_packing(b);
                   PackingSession& two = a.begin_packing(b);
                   EXPECT_TRUE(one.pack(of(first), SendMode::kCheaper).ok());
                   EXPECT_TRUE(two.pack(of(second), SendMode::kCheaper).ok());
                   EXPECT_TRUE(one.pack(of(first), SendMode::kCheaper).ok());
                   EXPECT_TRUE(a.hub().end(one).ok());
                   EXPECT_TRUE(a.hub().end(two).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_first), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_first), ReceiveMode::kCheaper);
                               }).ok());
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_second), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got_first, first);
  EXPECT_EQ(got_second, second);
}

TEST_F(SessionTest, OtherMessagesPassBetweenThePieces) {
  Bytes data = pattern(100000, 1), got(100000);
  run_together({{&a,
                 [&] {
                   char word[8] = "between";
                   PackingSession& session = a.begin_packing(b);
                   (void)session.pack(of(data), SendMode::kSafer);
                   EXPECT_FALSE(a.messenger().send_header(a.endpoint(b), 7, of(word)).error());
                   (void)session.pack(of(data), SendMode::kSafer);
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got, data);
  ASSERT_EQ(b.other_messages.size(), 1u);
  EXPECT_EQ(b.other_messages[0].substr(0, 7), "between");
}

TEST_F(SessionTest, ADeadReceiverIsAnErrorOfThePackingCalls) {
  Bytes data = pattern(1000000, 1);
  std::atomic<bool> begun{false};
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   (void)session.pack(of(data), SendMode::kCheaper);
                   (void)a.messenger().progress();
                   begun = true;
                   const Status status = session.pack(of(data), SendMode::kSafer);
                   EXPECT_EQ(status.code(), StatusCode::kPeerFailed) << status.message();
                   EXPECT_EQ(session.pack(of(data), SendMode::kCheaper).code(),
                             StatusCode::kPeerFailed);
                   EXPECT_EQ(a.hub().end(session).code(), StatusCode::kPeerFailed);
                 }},
                {&b, [&] {
                   EXPECT_NE(b.hub().begin_unpacking(kLong), nullptr);
                   while (!begun) (void)b.messenger().progress();
                   b.die();
                 }}});
}

TEST_F(SessionTest, ADeadSenderIsAnErrorOfTheUnpackingCalls) {
  int word = 1, got = 0;
  Bytes room(100000);
  std::atomic<bool> taken{false};
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   Bytes chunk = pattern(100000, 1);
                   (void)session.pack(of(word), SendMode::kSafer);
                   (void)session.pack(of(chunk),
                                      SendMode::kSafer);  // it has left, and so has `word`
                   while (!taken) (void)a.messenger().progress();
                   a.die();
                 }},
                {&b, [&] {
                   const Status status = receive([&](UnpackingSession& session) {
                     EXPECT_TRUE(session.unpack(of(got), ReceiveMode::kExpress).ok());
                     EXPECT_TRUE(session.unpack(of(room), ReceiveMode::kExpress).ok());
                     EXPECT_EQ(room, pattern(100000, 1));
                     taken = true;
                     const Status lost = session.unpack(of(room), ReceiveMode::kExpress);
                     EXPECT_EQ(lost.code(), StatusCode::kPeerFailed) << lost.message();
                   });
                   EXPECT_EQ(status.code(), StatusCode::kPeerFailed);
                 }}});
  EXPECT_EQ(got, 1);
}

TEST_F(SessionTest, ShortMessagesToOneselfArriveLongOnesAreRefused) {
  Bytes data = pattern(10000, 1), got(10000);
  PackingSession& session = a.begin_packing(a);
  EXPECT_TRUE(session.pack(of(data), SendMode::kSafer).ok());
  EXPECT_TRUE(a.hub().end(session).ok());
  UnpackingSession* unpacking = a.hub().begin_unpacking(kLong);
  ASSERT_NE(unpacking, nullptr);
  EXPECT_TRUE(unpacking->unpack(of(got), ReceiveMode::kCheaper).ok());
  EXPECT_TRUE(a.hub().end(*unpacking).ok());
  EXPECT_EQ(got, data);

  Bytes big = pattern(5000000, 2);
  PackingSession& too_long = a.begin_packing(a);
  (void)too_long.pack(of(big), SendMode::kSafer);
  const Status status = a.hub().end(too_long);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
  EXPECT_EQ(a.hub().begin_unpacking(20), nullptr) << "half a message must not be left";
}

TEST_F(SessionTest, ForeignChunksAreAnErrorNotAHang) {
  struct Raw final : OutgoingOperation {
    void finished(const Status&) override { busy = false; }
    bool busy = false;
    BytesSource run;
  };
  Bytes payload = pattern(20, 1);
  const auto send = [&](const ChunkHeader& chunk, std::size_t header_bytes) {
    Raw raw;
    raw.run = BytesSource(of(payload));
    raw.source = &raw.run;
    raw.payload_bytes = payload.size();
    auto header = chunk.encode();
    raw.busy = true;
    const Status status =
        a.messenger().send(a.endpoint(b), kMadeleineHandler, {header.data(), header_bytes}, raw);
    if (!status.in_progress()) raw.busy = false;
    while (raw.busy) (void)a.messenger().progress();
  };
  ChunkHeader first;
  first.message = 77;
  ChunkHeader gap = first;
  gap.sequence = 2;
  ChunkHeader nonsense = first;  // its records are noise, and it claims to be all
  nonsense.message = 78;
  nonsense.last = true;
  payload[0] = std::byte{0xFF};
  run_together({{&a,
                 [&] {
                   send(first, 5);  // no header at all
                   send(first, ChunkHeader::kBytes);
                   send(gap, ChunkHeader::kBytes);
                   send(nonsense, ChunkHeader::kBytes);
                 }},
                {&b, [&] {
                   Bytes room(6);
                   for (int i = 0; i < 3; ++i) {
                     const Status status = receive([&](UnpackingSession& session) {
                       for (int k = 0; k < 10; ++k) {
                         (void)session.unpack(of(room), ReceiveMode::kExpress);
                       }
                     });
                     EXPECT_EQ(status.code(), StatusCode::kProtocol) << status.message();
                   }
                 }}});
}

TEST_F(SessionTest, ManyShortPiecesFillFewChunks) {
  constexpr int kPieces = 20000;
  std::vector<int> sent(kPieces), got(kPieces);
  for (int i = 0; i < kPieces; ++i) sent[static_cast<std::size_t>(i)] = i * 7;
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   for (int& value : sent) {
                     ASSERT_TRUE(session.pack(of(value), SendMode::kCheaper).ok());
                   }
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 for (int& value : got) {
                                   ASSERT_TRUE(
                                       session.unpack(of(value), ReceiveMode::kCheaper).ok());
                                 }
                               }).ok());
                 }}});
  EXPECT_EQ(got, sent);
  EXPECT_LT(a.messenger().counters().packets_sent, 40u) << "100 KB in chunks of 32 KiB";
}

}  // namespace
}  // namespace mad
