// The hub: which message an unpacking gets, which chunk belongs to it, and what becomes of messages
// whose rest does not come.
#include "madlike/message/session/session_hub.h"

#include <cstring>

#include "madlike/message/session/chunk_fixture.h"

namespace mad {
namespace {

using test::run_together;
using test::SessionParty;

using SessionHubTest = ChunkTest;

TEST_F(SessionHubTest, MessagesAreTakenInTheOrderOfTheirFirstChunks) {
  send_byte(7, 0, false, 70);
  send_byte(8, 0, true, 80);
  send_byte(7, 1, true, 71);
  UnpackingSession* const first = b.hub().begin_unpacking(0);
  UnpackingSession* const second = b.hub().begin_unpacking(0);
  ASSERT_TRUE(first != nullptr && second != nullptr);
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr);
  EXPECT_EQ(first->message().number(), 7u);
  EXPECT_EQ(second->message().number(), 8u);
  EXPECT_EQ(&first->message().from(), &b.endpoint(a));
  EXPECT_TRUE(unpack_byte(*second, 80).ok());
  EXPECT_TRUE(b.hub().end(*second).ok());
  EXPECT_TRUE(unpack_byte(*first, 70).ok());
  EXPECT_TRUE(unpack_byte(*first, 71).ok());
  EXPECT_TRUE(b.hub().end(*first).ok());
}

TEST_F(SessionHubTest, ChunksThatComeLaterReachTheSession) {
  send_byte(7, 0, false, 70);
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  Bytes got(2);
  EXPECT_TRUE(session->unpack({&got[0], 1}, ReceiveMode::kCheaper).ok());
  EXPECT_TRUE(session->unpack({&got[1], 1}, ReceiveMode::kCheaper).ok());
  send_byte(7, 1, true, 71);
  EXPECT_EQ(got[1], std::byte{71}) << "placed as it arrives";
  EXPECT_TRUE(b.hub().end(*session).ok());
}

TEST_F(SessionHubTest, TheRestOfAMessageThatWasGivenUpIsDropped) {
  send_byte(7, 0, false, 70);
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  Bytes wrong(5);
  EXPECT_EQ(session->unpack(of(wrong), ReceiveMode::kExpress).code(), StatusCode::kProtocol);
  EXPECT_EQ(b.hub().end(*session).code(), StatusCode::kProtocol);
  EXPECT_TRUE(send_byte(7, 1, false, 71).done) << "its sender is not kept waiting";
  EXPECT_TRUE(send_byte(7, 2, true, 72).done);
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr);
  send_byte(8, 0, true, 80);
  UnpackingSession* const next = b.hub().begin_unpacking(0);
  ASSERT_NE(next, nullptr);
  EXPECT_TRUE(unpack_byte(*next, 80).ok());
  EXPECT_TRUE(b.hub().end(*next).ok());
}

TEST_F(SessionHubTest, TheEndOfAPeerFailsWhatIsIncompleteOnly) {
  send_byte(7, 0, false, 70);
  send_byte(8, 0, true, 80);
  a.die();
  pump();
  EXPECT_EQ(b.peers_gone, 1);
  UnpackingSession* const incomplete = b.hub().begin_unpacking(0);
  UnpackingSession* const whole = b.hub().begin_unpacking(0);
  ASSERT_TRUE(incomplete != nullptr && whole != nullptr);
  EXPECT_TRUE(unpack_byte(*incomplete, 70).ok()) << "it had come";
  const Status lost = unpack_byte(*incomplete, 71);
  EXPECT_EQ(lost.code(), StatusCode::kPeerFailed);
  EXPECT_NE(lost.message().find("before it was complete"), std::string_view::npos);
  EXPECT_EQ(b.hub().end(*incomplete).code(), StatusCode::kPeerFailed);
  EXPECT_TRUE(unpack_byte(*whole, 80).ok());
  EXPECT_TRUE(b.hub().end(*whole).ok());
}

TEST_F(SessionHubTest, NamesAPeerAsLongAsASessionDoes) {
  Endpoint& peer = b.endpoint(a);
  EXPECT_FALSE(b.hub().names(peer));
  send_byte(7, 0, true, 70);
  EXPECT_TRUE(b.hub().names(peer)) << "nobody has begun to unpack";
  a.die();
  pump();
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(b.hub().names(peer));
  EXPECT_TRUE(unpack_byte(*session, 70).ok());
  EXPECT_TRUE(b.hub().end(*session).ok());
  EXPECT_FALSE(b.hub().names(peer));
  PackingSession& packing = b.hub().begin_packing(peer, false);
  EXPECT_TRUE(b.hub().names(peer));
  EXPECT_EQ(b.hub().end(packing).code(), StatusCode::kPeerFailed);
  EXPECT_FALSE(b.hub().names(peer));
}

TEST_F(SessionHubTest, AChunkThatNobodyCanReadBreaksWhatIsUnderWay) {
  send_byte(7, 0, false, 70);
  send(ChunkHeader(), Bytes(20), 5);  // no header at all
  send(ChunkHeader(), Bytes(20), 5);
  UnpackingSession* const broken = b.hub().begin_unpacking(0);
  ASSERT_NE(broken, nullptr);
  EXPECT_TRUE(unpack_byte(*broken, 70).ok());
  EXPECT_EQ(b.hub().end(*broken).code(), StatusCode::kProtocol);
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr) << "the fault has been told";
  send(ChunkHeader(), Bytes(20), 5);
  send(ChunkHeader(), Bytes(20), 5);
  UnpackingSession* const teller = b.hub().begin_unpacking(0);
  ASSERT_NE(teller, nullptr) << "no message was under way, so the fault is one";
  EXPECT_EQ(b.hub().end(*teller).code(), StatusCode::kProtocol);
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr) << "one is enough";
}

TEST_F(SessionHubTest, AFaultIsToldThoughAWholeMessageWaits) {
  send_byte(7, 0, true, 70);
  send(ChunkHeader(), Bytes(20), 5);
  UnpackingSession* const whole = b.hub().begin_unpacking(0);
  UnpackingSession* const teller = b.hub().begin_unpacking(0);
  ASSERT_TRUE(whole != nullptr && teller != nullptr);
  EXPECT_TRUE(unpack_byte(*whole, 70).ok());
  EXPECT_TRUE(b.hub().end(*whole).ok());
  EXPECT_EQ(b.hub().end(*teller).code(), StatusCode::kProtocol);
}

TEST_F(SessionHubTest, AFaultOfOneSenderIsNotOfAnother) {
  SessionParty c(network, FaultPlan{});
  engines.push_back(&c);
  std::uint32_t number = 1;
  for (const auto& [faulty, other] : {std::pair(&a, &c), std::pair(&c, &a)}) {
    for (SessionParty* const from : {faulty, other}) send_byte(number, 0, false, 70, from);
    send(ChunkHeader(), Bytes(20), 5, faulty);
    send_byte(number, 1, true, 71, other);
    UnpackingSession* const broken = b.hub().begin_unpacking(0);
    UnpackingSession* const whole = b.hub().begin_unpacking(0);
    ASSERT_TRUE(broken != nullptr && whole != nullptr);
    EXPECT_EQ(&broken->message().from(), &b.endpoint(*faulty));
    EXPECT_TRUE(unpack_byte(*broken, 70).ok());
    EXPECT_EQ(b.hub().end(*broken).code(), StatusCode::kProtocol);
    EXPECT_TRUE(unpack_byte(*whole, 70).ok());
    EXPECT_TRUE(unpack_byte(*whole, 71).ok());
    EXPECT_TRUE(b.hub().end(*whole).ok());
    ++number;
  }
}

TEST_F(SessionHubTest, GapsAndNoiseAreAnErrorNotAHang) {
  ChunkHeader gap;
  gap.message = 77;
  gap.sequence = 2;
  ChunkHeader nonsense;
  nonsense.message = 78;
  nonsense.last = true;
  send_byte(77, 0, false, 1);
  send(gap, pattern(20, 1));
  send(nonsense, Bytes(20, std::byte{0xFF}));
  for (int i = 0; i < 2; ++i) {
    UnpackingSession* const session = b.hub().begin_unpacking(0);
    ASSERT_NE(session, nullptr);
    Bytes room(6);
    for (int k = 0; k < 10; ++k) (void)session->unpack(of(room), ReceiveMode::kExpress);
    EXPECT_EQ(b.hub().end(*session).code(), StatusCode::kProtocol);
  }
}

TEST_F(SessionHubTest, MessagesOfSeveralSendersKeepTheirOrder) {
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

TEST_F(SessionHubTest, ShortMessagesToOneselfArriveLongOnesAreRefused) {
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

TEST_F(SessionHubTest, ARefusedMessageToOneselfTakesNoOtherWithIt) {
  const auto send_number = [&](int number) {
    PackingSession& session = a.begin_packing(a);
    EXPECT_TRUE(session.pack(of(number), SendMode::kSafer).ok());
    EXPECT_TRUE(a.hub().end(session).ok());
  };
  const auto expect_number = [&](UnpackingSession* session, int number) {
    ASSERT_NE(session, nullptr);
    int got = 0;
    EXPECT_TRUE(session->unpack(of(got), ReceiveMode::kExpress).ok());
    EXPECT_EQ(got, number);
    EXPECT_TRUE(a.hub().end(*session).ok());
  };
  send_number(1);
  send_number(2);
  UnpackingSession* const first = a.hub().begin_unpacking(kLong);
  Bytes big = pattern(5000000, 2);
  PackingSession& too_long = a.begin_packing(a);
  send_number(3);
  EXPECT_EQ(too_long.pack(of(big), SendMode::kSafer).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(a.hub().end(too_long).code(), StatusCode::kInvalidArgument);
  expect_number(first, 1);
  expect_number(a.hub().begin_unpacking(kLong), 2);
  expect_number(a.hub().begin_unpacking(kLong), 3);
  EXPECT_EQ(a.hub().begin_unpacking(0), nullptr);
}

TEST_F(SessionHubTest, WaitingForAMessageEnds) {
  EXPECT_EQ(b.hub().begin_unpacking(0), nullptr);
  EXPECT_EQ(b.hub().begin_unpacking(20), nullptr);
}

}  // namespace
}  // namespace mad
