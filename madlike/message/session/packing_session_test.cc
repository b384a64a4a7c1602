// Packing: when memory is the caller's again, how pieces share chunks, a receiver that dies.
#include <algorithm>
#include <cstring>

#include "madlike/message/session/session_fixture.h"

namespace mad {
namespace {

using test::run_together;
using test::SessionParty;

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

TEST_F(SessionTest, CopiesBehindALaterPieceMayFillTheirRoom) {
  SessionTuning tuning;
  tuning.held_bytes = 100;
  SessionParty c(network, FaultPlan{}, tuning);
  Bytes later = pattern(10, 1), most = pattern(60, 2), rest = pattern(40, 3), one(1);
  Bytes got_later(10), got_most(60), got_rest(40);
  run_together({{&c,
                 [&] {
                   PackingSession& session = c.begin_packing(b);
                   EXPECT_TRUE(session.pack(of(later), SendMode::kLater).ok());
                   EXPECT_TRUE(session.pack(of(most), SendMode::kSafer).ok());
                   EXPECT_TRUE(session.pack(of(rest), SendMode::kSafer).ok());
                   EXPECT_TRUE(session.pack(Segment{}, SendMode::kSafer).ok()) << "nothing to copy";
                   EXPECT_EQ(session.pack(of(one), SendMode::kSafer).code(),
                             StatusCode::kInvalidArgument);
                   EXPECT_TRUE(c.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_later), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_most), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_rest), ReceiveMode::kCheaper);
                                 (void)session.unpack(Segment{}, ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got_later, later);
  EXPECT_EQ(got_most, most);
  EXPECT_EQ(got_rest, rest);
}

TEST_F(SessionTest, LongPiecesAreMessagesOfTheirOwn) {
  SessionTuning tuning;
  tuning.long_bytes = 500;
  SessionParty c(network, FaultPlan{}, tuning);
  Bytes data = pattern(500, 1);
  for (const std::size_t size : {std::size_t{499}, std::size_t{500}}) {
    Bytes got(size);
    run_together({{&c,
                   [&] {
                     PackingSession& session = c.begin_packing(b);
                     (void)session.pack({data.data(), size}, SendMode::kCheaper);
                     EXPECT_TRUE(c.hub().end(session).ok());
                   }},
                  {&b, [&] {
                     EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                   EXPECT_EQ(session.message().front().kind,
                                             size < 500 ? ChunkHeader::Kind::kStaged
                                                        : ChunkHeader::Kind::kLong);
                                   (void)session.unpack(of(got), ReceiveMode::kCheaper);
                                 }).ok());
                   }}});
    EXPECT_TRUE(std::equal(got.begin(), got.end(), data.begin())) << size;
  }
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
  EXPECT_LT(a.messenger().counters().drivers[0].packets_sent, 40u) << "100 KB in chunks of 32 KiB";
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

}  // namespace
}  // namespace mad
