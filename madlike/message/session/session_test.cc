// Madeleine messages over two messengers: every mode and size, and pieces of any layout.
#include <cstring>

#include "madlike/message/session/session_fixture.h"

namespace mad {
namespace {

using test::run_together;

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
  std::size_t runs(std::uint64_t, std::uint64_t, Segment*, std::size_t) override { return 0; }

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

}  // namespace
}  // namespace mad
