// Unpacking: what does not mirror the packing, a sender that dies.

#include "madlike/message/session/session_fixture.h"

namespace mad {
namespace {

using test::run_together;

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
