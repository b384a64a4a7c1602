// Unpacking: what does not mirror the packing, a sender that dies.
#include <algorithm>
#include <string>

#include "madlike/message/session/chunk_fixture.h"

namespace mad {
namespace {

using test::run_together;
using test::SessionParty;

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
  const Bytes untouched = pattern(300000, 4);
  Bytes room = untouched;
  const std::size_t most =
      param.unpacked.empty() ? 0 : *std::max_element(param.unpacked.begin(), param.unpacked.end());
  const auto rest = static_cast<std::ptrdiff_t>(most);
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
    EXPECT_TRUE(std::equal(room.begin() + rest, room.end(), untouched.begin() + rest))
        << "more was written than asked for";
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
                      Mismatch{"long_behind_missing", {3, 100000}, {}, StatusCode::kTruncated},
                      Mismatch{"two_for_one", {10}, {5, 5}, StatusCode::kTruncated}),
    [](const auto& info) { return info.param.name; });

TEST_F(SessionTest, TheFirstPieceThatNobodyAskedForIsNamed) {
  MessengerConfig config;
  config.eager_limit = 0;  // the chunk comes after the next one is announced
  SessionParty c(network, FaultPlan{}, {}, config);
  Bytes data = pattern(100000, 1);
  run_together({{&c,
                 [&] {
                   PackingSession& session = c.begin_packing(b);
                   (void)session.pack({data.data(), 3000}, SendMode::kCheaper);
                   (void)session.pack(of(data), SendMode::kCheaper);
                   EXPECT_TRUE(c.hub().end(session).ok());
                 }},
                {&b, [&] {
                   const Status status = receive([](UnpackingSession&) {});
                   EXPECT_EQ(status.code(), StatusCode::kTruncated);
                   const std::string_view said = status.message();
                   EXPECT_EQ(said.substr(0, said.find(',')),
                             "piece 1 of the message has 3000 bytes");
                 }}});
}

TEST_F(SessionTest, MoreLongPiecesThanComeAtOnceArrive) {
  constexpr std::size_t kPieces = 3 * UnpackingSession::kSlots;
  std::vector<Bytes> sent, got(kPieces, Bytes(100000));
  for (std::size_t i = 0; i < kPieces; ++i) {
    sent.push_back(pattern(100000, static_cast<unsigned>(i)));
  }
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   for (Bytes& bytes : sent) (void)session.pack(of(bytes), SendMode::kCheaper);
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 for (Bytes& bytes : got) {
                                   (void)session.unpack(of(bytes), ReceiveMode::kCheaper);
                                 }
                               }).ok());
                 }}});
  EXPECT_EQ(got, sent);
}

// What is asked for and has not come is kept in mind, so that there is a most of it.
TEST_F(SessionTest, WhoAsksForMuchWaitsForTheFirst) {
  constexpr std::size_t kMost = UnpackingSession::kMostPending;
  std::vector<int> sent(kMost), got(kMost);
  for (std::size_t i = 0; i < kMost; ++i) sent[i] = static_cast<int>(i) + 1;
  Bytes long_one = pattern(10000, 1), got_long(10000);
  std::atomic<bool> asked{false};
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   (void)session.pack(of(long_one), SendMode::kSafer);  // it has left
                   while (!asked) (void)a.messenger().progress();
                   for (int i = 0; i < 1000; ++i) (void)a.messenger().progress();
                   for (int& value : sent) (void)session.pack(of(value), SendMode::kCheaper);
                   EXPECT_TRUE(a.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_long), ReceiveMode::kExpress);
                                 for (std::size_t i = 0; i + 1 < kMost; ++i) {
                                   (void)session.unpack(of(got[i]), ReceiveMode::kCheaper);
                                   EXPECT_EQ(got[i], 0) << "asked for before it was packed";
                                 }
                                 asked = true;
                                 (void)session.unpack(of(got.back()), ReceiveMode::kCheaper);
                                 EXPECT_EQ(got[0], 1);
                               }).ok());
                 }}});
  EXPECT_EQ(got, sent);
}

using RecordsTest = ChunkTest;

ChunkHeader only_chunk(std::uint32_t message, bool last) {
  ChunkHeader chunk;
  chunk.message = message;
  chunk.last = last;
  return chunk;
}

TEST_F(RecordsTest, ARecordDoesNotReachBeyondItsChunk) {
  send(only_chunk(7, false), {std::byte{4}, std::byte{1}, std::byte{2}});  // three bytes, and two
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  Bytes got(3);
  EXPECT_EQ(session->unpack(of(got), ReceiveMode::kExpress).code(), StatusCode::kProtocol);
  EXPECT_EQ(got, Bytes(3)) << "nothing is written";
  EXPECT_EQ(b.hub().end(*session).code(), StatusCode::kProtocol);
}

TEST_F(RecordsTest, AMessageThatStopsWithoutItsEndIsBroken) {
  send(only_chunk(7, true), {std::byte{2}, std::byte{70}});
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  std::byte got{};
  EXPECT_EQ(session->unpack(of(got), ReceiveMode::kExpress).code(), StatusCode::kProtocol);
  EXPECT_EQ(b.hub().end(*session).code(), StatusCode::kProtocol);
}

TEST_F(RecordsTest, TheEndStandsOnceAndLast) {
  const std::byte end{0}, empty_piece{1}, unfinished{0x80};
  struct {
    Bytes records;
    bool last;
    StatusCode expected;
  } const cases[] = {
      {{end}, true, StatusCode::kOk},
      {{end}, false, StatusCode::kProtocol},
      {{end, end}, true, StatusCode::kProtocol},
      {{end, empty_piece}, true, StatusCode::kProtocol},
      {{unfinished}, true, StatusCode::kProtocol},
      {{empty_piece}, true, StatusCode::kTruncated},
      {{empty_piece, end}, true, StatusCode::kTruncated},
  };
  std::uint32_t message = 1;
  for (const auto& [records, last, expected] : cases) {
    send(only_chunk(message, last), records);
    UnpackingSession* const session = b.hub().begin_unpacking(0);
    ASSERT_NE(session, nullptr);
    const Status status = b.hub().end(*session);  // no piece is asked for
    EXPECT_EQ(status.code(), expected) << message << ": " << status.message();
    ++message;
  }
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

}  // namespace
}  // namespace mad
