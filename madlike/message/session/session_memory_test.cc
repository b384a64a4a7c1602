// Sessions without memory: whichever allocation fails, nothing waits for what will not come,
// nothing is lost that was there before, and every session can be ended.
#include <memory>
#include <new>
#include <string>

#include "madlike/message/session/chunk_fixture.h"
#include "tests/support/allocations.h"

namespace mad {
namespace {

using test::AllocationsLeft;
using test::run_together;
using test::SessionParty;

/// Whether `call` found all the memory that it asked for, with `count` allocations.
template <typename Call>
bool enough(std::size_t count, const Call& call) {
  const AllocationsLeft left(count);
  try {
    call();
  } catch (const std::bad_alloc&) {
  }
  return !AllocationsLeft::failed();
}

class SessionMemoryTest : public ChunkTest {
 protected:
  static constexpr std::size_t kMost = 1000;  // allocations of a test

  /// Calls `once` with 0, 1, 2, ... allocations, until they are enough for it.
  template <typename Once>
  void with_every_lack(const Once& once) {
    for (std::size_t count = 0; count < kMost; ++count) {
      SCOPED_TRACE("with " + std::to_string(count) + " allocations");
      const bool was_enough = once(count);
      if (HasFatalFailure() || was_enough) return;
    }
    FAIL() << "there are never enough";
  }
  /// A message, so that whatever a first one needs is there.
  void meet() {
    send_byte(1, 0, true, 70);
    UnpackingSession* const session = b.hub().begin_unpacking(0);
    ASSERT_NE(session, nullptr);
    EXPECT_TRUE(unpack_byte(*session, 70).ok());
    EXPECT_TRUE(b.hub().end(*session).ok());
  }
  static ChunkHeader first_of(std::uint32_t message) {
    ChunkHeader header;
    header.message = message;
    return header;
  }
};

TEST_F(SessionMemoryTest, APackingBeginsWithTheMemoryThatItsEndNeeds) {
  int value = 7, got = 0;
  Endpoint& to_b = a.endpoint(b);
  meet();
  with_every_lack([&](std::size_t count) {
    PackingSession* session = nullptr;
    const bool begun = enough(count, [&] { session = &a.hub().begin_packing(to_b, false); });
    EXPECT_EQ(begun, session != nullptr);
    EXPECT_EQ(begun, a.hub().names(to_b));
    if (session == nullptr) return false;
    run_together({{&a,
                   [&] {
                     const AllocationsLeft none(0);
                     EXPECT_TRUE(session->pack(of(value), SendMode::kCheaper).ok());
                     EXPECT_TRUE(a.hub().end(*session).ok());
                   }},
                  {&b, [&] {
                     EXPECT_TRUE(receive([&](UnpackingSession& unpacking) {
                                   (void)unpacking.unpack(of(got), ReceiveMode::kCheaper);
                                 }).ok());
                   }}});
    EXPECT_EQ(got, 7);
    return true;
  });
}

TEST_F(SessionMemoryTest, WithoutMemoryForAnotherChunkTheFirstOneLeavesAgain) {
  constexpr int kPieces = 20000;
  std::vector<int> sent(kPieces), got(kPieces);
  for (int i = 0; i < kPieces; ++i) sent[static_cast<std::size_t>(i)] = i * 7;
  Bytes big = pattern(100000, 1), got_big(big.size());
  const std::size_t chunk = SessionTuning().chunk_bytes;
  run_together({{&a,
                 [&] {
                   PackingSession& session = a.begin_packing(b);
                   test::fail_allocations_from(chunk, chunk);
                   EXPECT_NO_THROW({
                     for (int& value : sent) {
                       ASSERT_TRUE(session.pack(of(value), SendMode::kCheaper).ok());
                       if (value % 1000 == 0) {
                         ASSERT_TRUE(session.pack(of(big), SendMode::kCheaper).ok());
                       }
                     }
                     EXPECT_TRUE(a.hub().end(session).ok());
                   });
                   test::fail_allocations_from(0);
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 for (std::size_t i = 0; i < got.size(); ++i) {
                                   (void)session.unpack(of(got[i]), ReceiveMode::kCheaper);
                                   if (sent[i] % 1000 == 0) {
                                     (void)session.unpack(of(got_big), ReceiveMode::kExpress);
                                   }
                                 }
                               }).ok());
                 }}});
  EXPECT_EQ(got, sent);
  EXPECT_EQ(got_big, big);
}

TEST_F(SessionMemoryTest, APieceThatCannotBeHeldBackIsNotTaken) {
  SessionTuning tuning;
  tuning.held_bytes = sizeof(int);
  SessionParty c(network, FaultPlan{}, tuning);
  int later = 1, safer = 2, got_later = 0, got_safer = 0;
  run_together({{&c,
                 [&] {
                   PackingSession& session = c.begin_packing(b);
                   (void)session.pack(of(later), SendMode::kLater);
                   with_every_lack([&](std::size_t count) {
                     Status status = StatusCode::kNoMemory;
                     const bool taken =
                         enough(count, [&] { status = session.pack(of(safer), SendMode::kSafer); });
                     EXPECT_EQ(status.code(), taken ? StatusCode::kOk : StatusCode::kNoMemory);
                     return taken;
                   });
                   EXPECT_TRUE(c.hub().end(session).ok());
                 }},
                {&b, [&] {
                   EXPECT_TRUE(receive([&](UnpackingSession& session) {
                                 (void)session.unpack(of(got_later), ReceiveMode::kCheaper);
                                 (void)session.unpack(of(got_safer), ReceiveMode::kCheaper);
                               }).ok());
                 }}});
  EXPECT_EQ(got_later, 1);
  EXPECT_EQ(got_safer, 2);
}

TEST_F(SessionMemoryTest, AMessageThatCannotBeUnpackedWaits) {
  send_byte(7, 0, true, 70);
  UnpackingSession* session = nullptr;
  with_every_lack([&](std::size_t count) {
    const bool begun = enough(count, [&] { session = b.hub().begin_unpacking(0); });
    EXPECT_EQ(begun, session != nullptr);
    EXPECT_TRUE(b.hub().names(b.endpoint(a)));
    return begun;
  });
  ASSERT_NE(session, nullptr);
  EXPECT_TRUE(unpack_byte(*session, 70).ok());
  EXPECT_TRUE(b.hub().end(*session).ok());
}

TEST_F(SessionMemoryTest, AnUnpackingBeginsWithTheMemoryOfItsChunks) {
  send_byte(7, 0, false, 70);
  UnpackingSession* const session = b.hub().begin_unpacking(0);
  ASSERT_NE(session, nullptr);
  Bytes got(2);
  test::fail_allocations_from(1000);
  EXPECT_NO_THROW({
    EXPECT_TRUE(session->unpack({&got[0], 1}, ReceiveMode::kCheaper).ok());
    EXPECT_TRUE(session->unpack({&got[1], 1}, ReceiveMode::kCheaper).ok());
  });
  test::fail_allocations_from(0);
  send_byte(7, 1, true, 71);
  EXPECT_TRUE(b.hub().end(*session).ok());
  EXPECT_EQ(got, (Bytes{std::byte{70}, std::byte{71}}));
}

// Where its peer ends instead, whoever unpacks the message is told.
TEST_F(SessionMemoryTest, WithoutMemoryToHearOfAMessageNobodyWaitsForItsRest) {
  with_every_lack([&](std::size_t count) {
    SessionParty c(network, FaultPlan{});
    engines = {&c, &b};
    const auto unpack_whole = [&] {
      UnpackingSession* const session = b.hub().begin_unpacking(0);
      ASSERT_NE(session, nullptr);
      EXPECT_TRUE(unpack_byte(*session, 70).ok());
      EXPECT_TRUE(b.hub().end(*session).ok());
    };
    send_byte(7, 0, true, 70, &c);
    unpack_whole();
    post(first_of(8), {std::byte{2}, std::byte{80}}, ChunkHeader::kBytes, &c);
    for (int i = 0; i < 20; ++i) (void)c.messenger().progress();
    const bool heard = enough(count, [&] {
      for (int i = 0; i < 20; ++i) (void)b.messenger().progress();
    });
    c.die();
    pump();
    UnpackingSession* const session = b.hub().begin_unpacking(0);
    EXPECT_TRUE(!heard || session != nullptr);
    if (session != nullptr) {
      EXPECT_TRUE(session->message().rest().error());
      (void)b.hub().end(*session);
    }
    EXPECT_EQ(b.hub().begin_unpacking(0), nullptr);
    engines = {&a, &b};
    return heard;
  });
}

TEST_F(SessionMemoryTest, WithoutMemoryToSayWhatIsWrongASessionCanBeEnded) {
  std::uint32_t number = 7;
  with_every_lack([&](std::size_t count) {
    send_byte(++number, 0, false, 70);
    UnpackingSession* const session = b.hub().begin_unpacking(0);
    if (session == nullptr) {
      ADD_FAILURE() << "no message came";
      return true;
    }
    Bytes wrong(5);
    Status told, ended;
    const bool was_enough = enough(count, [&] {
      told = session->unpack(of(wrong), ReceiveMode::kExpress);
      EXPECT_NO_THROW(ended = b.hub().end(*session));
    });
    const StatusCode expected = was_enough ? StatusCode::kProtocol : StatusCode::kNoMemory;
    EXPECT_EQ(told.code(), expected);
    EXPECT_EQ(ended.code(), expected);
    EXPECT_FALSE(b.hub().names(b.endpoint(a)));
    EXPECT_TRUE(send_byte(number, 1, true, 71).done) << "its sender is not kept waiting";
    return was_enough;
  });
}

}  // namespace
}  // namespace mad
