// Who lies once it is inside, or in its letters.
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/conformance/shm/correspondent.h"
#include "tests/support/lack.h"

namespace mad {
namespace {

// Words of the other side's, whatever they are: only that connection ends, or none.
TEST(ShmLiars, NoWordOfTheirsLeadsOutOfTheMemory) {
  std::mt19937_64 random(4711);
  ShmEngine a;
  std::size_t ended = 0;
  for (int round = 0; round < 150; ++round) {
    auto liar = std::make_unique<ShmEngine>();
    const ConnectionId to_a = liar->connect(a), to_liar = a.connect(*liar);
    ASSERT_TRUE(pump({&a, liar.get()}, [&] {
      return a.station.connected.count(to_liar) == 1 && liar->station.connected.count(to_a) == 1;
    }));
    ShmConnection& ours = *liar->shm().connection(to_a);
    ShmLaneHead& lane = ours.out->memory().head();
    auto* const ring = reinterpret_cast<std::byte*>(&lane) + kShmLaneHeadBytes;
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t word = random() >> random() % 64;
      switch (random() % 4) {
        case 0: {  // a record
          std::memcpy(ring + random() % 128 * RingShape::kLine, &word, sizeof(word));
          break;
        }
        case 1:  // how far it has read
          ours.in->memory().store_tail(word);
          break;
        case 2:
          lane.state.store(static_cast<std::uint32_t>(word), std::memory_order_relaxed);
          break;
        default:
          ours.mapped->front().bells[random() % kShmMostPlaces].store(1);
          ours.mapped->front().news.store(1);
          break;
      }
      ring_other_side(ours.out->memory());
      Bytes bytes(1 + random() % kShmPieceBytes, std::byte{1});
      const Segment segment{bytes.data(), bytes.size()};
      (void)a.driver->post_send(to_liar, {&segment, 1}, nullptr);
      std::array<Completion, 16> news;
      const std::size_t count = a.driver->poll(news.data(), news.size());
      for (std::size_t each = 0; each < count; ++each) {
        if (news[each].kind == Completion::Kind::kDisconnected) ++ended;
        unsigned sum = 0;
        for (std::size_t at = 0; at < news[each].bytes.size; ++at) {
          sum += std::to_integer<unsigned>(news[each].bytes.begin()[at]);
        }
        EXPECT_LT(sum, ~0u);
        if (news[each].buffer != nullptr) a.driver->release(news[each].buffer);
      }
    }
    a.driver->disconnect(to_liar);
    a.station.poll();
  }
  EXPECT_GT(ended, 10u);
  ShmEngine honest;
  const ConnectionId to_a = honest.connect(a);
  Bytes bytes(100, std::byte{1});
  ASSERT_FALSE(send(honest, to_a, bytes, {&a, &honest}).error());
  a.station.received.clear();
  EXPECT_TRUE(pump({&a, &honest}, [&] { return !a.station.received.empty(); }));
}

// Nor are they spoken of: nobody here asked for them.
TEST(ShmLiars, WhoIsNotWhatItSaysIsRefused) {
  testing::internal::CaptureStderr();
  using Reason = ShmGreeting::Reason;
  const auto reason_for = [](const std::function<void(ShmGreeting&)>& lie, int file) {
    ShmEngine a;
    Correspondent liar(a);
    lie(liar.to_send);
    EXPECT_TRUE(liar.send(file).ok());
    const auto answer = liar.answer(a);
    EXPECT_TRUE(a.station.connected.empty());
    if (!answer || answer->kind != ShmGreeting::Kind::kRefuse) return Reason::kNone;
    EXPECT_EQ(answer->session, liar.to_send.session);
    return answer->reason;
  };
  constexpr int kStdin = 0;  // a file, and no segment
  for (const unsigned off : {-1, 1}) {
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.sender.pid += off; }, kStdin), Reason::kOtherPids);
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.place_bytes += off; }, kStdin),
              Reason::kOtherLayout);
    EXPECT_EQ(reason_for([&](ShmGreeting& g) { g.piece_bytes += off; }, kStdin),
              Reason::kOtherLayout);
  }
  EXPECT_EQ(reason_for([](ShmGreeting&) {}, -1), Reason::kLacksMemory);
  EXPECT_EQ(reason_for([](ShmGreeting&) {}, kStdin), Reason::kBadMemory);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Its sender left before we read it, or has met us anew since.
TEST(ShmLiars, AGreetingThatWasWithdrawnLeavesNothing) {
  auto memory = ShmSegment::open();
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  for (const bool closed : {false, true}) {
    ShmEngine a;
    Correspondent other(a);
    const std::size_t place = *memory->take_place();
    ShmLaneHead& lane = memory->lane(place);
    lane.session.store(other.to_send.session + (closed ? 0 : 1));
    lane.state.store(
        static_cast<std::uint32_t>(closed ? ShmLaneState::kClosed : ShmLaneState::kOpen));
    other.to_send.place = static_cast<std::uint32_t>(place);
    EXPECT_TRUE(other.send(memory->fd()).ok());
    ASSERT_TRUE(pump({&a}, [&] { return lane.dropped_session.load() == other.to_send.session; }));
    for (int i = 0; i < 10; ++i) a.station.poll();
    EXPECT_EQ(a.shm().charged(), 0u);
    EXPECT_FALSE(other.has_letter());
  }
}

// It never said that it has our lane.
TEST(ShmLiars, WhatOneWritesThatIsNotMetKeepsNobody) {
  testing::internal::CaptureStderr();
  auto memory = ShmSegment::open();
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  ShmEngine a;
  Correspondent liar(a);
  const std::size_t place = *memory->take_place();
  ShmLaneHead& lane = memory->lane(place);
  lane.session.store(liar.to_send.session);
  liar.to_send.place = static_cast<std::uint32_t>(place);
  const RingMark mark{RingMark::Kind::kPacket, 8, 0};
  std::uint64_t word = mark.word();
  std::memcpy(reinterpret_cast<std::byte*>(&lane) + kShmLaneHeadBytes, &word, sizeof(word));
  EXPECT_TRUE(liar.send(memory->fd()).ok());
  const ConnectionId id = a.connect(liar.address());
  ASSERT_TRUE(pump({&a}, [&] { return a.shm().connection(id)->in.has_value(); }));
  for (int i = 0; i < 100; ++i) a.station.poll();
  EXPECT_TRUE(a.station.received.empty());
  lane.state.store(static_cast<std::uint32_t>(ShmLaneState::kClosed));
  EXPECT_EQ(end_of(a, id, {&a}).code(), StatusCode::kClosed);
  EXPECT_TRUE(a.station.received.empty());
  (void)testing::internal::GetCapturedStderr();
}

// As often as it begins anew: what waits for the end of its first connection has a bound.
TEST(ShmLiars, OneGreetingOfAPeerWaits) {
  constexpr std::size_t kGreetings = 50;
  auto memory = ShmSegment::open();
  ASSERT_TRUE(memory.ok()) << memory.status().message();
  ShmEngine a;
  Correspondent liar(a);
  std::vector<ShmLaneHead*> lanes;
  std::size_t files = 0;
  for (std::size_t i = 0; i < kGreetings; ++i) {
    const std::size_t place = *memory->take_place();
    lanes.push_back(&memory->lane(place));
    lanes[i]->session.store(++liar.to_send.session);
    liar.to_send.place = static_cast<std::uint32_t>(place);
    ASSERT_TRUE(pump({&a}, [&] { return liar.send(memory->fd()).ok(); }));
    const auto is_read = [&] {
      return i == 0
                 ? a.shm().connection(0) != nullptr
                 : i == 1 || lanes[i - 1]->dropped_session.load() == lanes[i - 1]->session.load();
    };
    ASSERT_TRUE(pump({&a}, is_read)) << i;
    if (i == 2) files = open_files();
  }
  EXPECT_EQ(open_files(), files);
  EXPECT_EQ(lanes.front()->dropped_session.load(), 0u);
  lanes.front()->state.store(static_cast<std::uint32_t>(ShmLaneState::kClosed));
  ASSERT_TRUE(pump({&a}, [&] { return a.shm().connection(1) != nullptr; }));
  EXPECT_EQ(a.shm().connection(1)->peer_session, liar.to_send.session) << "the newest";
  EXPECT_EQ(lanes.back()->dropped_session.load(), 0u);
}

TEST(ShmLiars, AnotherLayoutIsSpokenOf) {
  testing::internal::CaptureStderr();
  ShmEngine a;
  Correspondent other(a);
  const ConnectionId id = a.connect(other.address());
  const auto asked = other.answer(a);
  ASSERT_TRUE(asked);
  other.to_send.kind = ShmGreeting::Kind::kRefuse;
  other.to_send.reason = ShmGreeting::Reason::kOtherLayout;
  other.to_send.session = asked->session;
  EXPECT_TRUE(other.send().ok());
  EXPECT_EQ(end_of(a, id, {&a}).code(), StatusCode::kVersion);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("another layout"), std::string::npos) << said;
}

// A refusal of an earlier connection arrives late.
TEST(ShmLiars, ARefusalIsOfOneConnection) {
  ShmEngine a;
  Correspondent other(a);
  const ConnectionId id = a.connect(other.address());
  const auto asked = other.answer(a);
  ASSERT_TRUE(asked && asked->kind == ShmGreeting::Kind::kMeet);
  other.to_send.kind = ShmGreeting::Kind::kRefuse;
  other.to_send.reason = ShmGreeting::Reason::kOtherUser;
  for (const std::uint64_t session : {asked->session - 1, asked->session + 1}) {
    other.to_send.session = session;
    EXPECT_TRUE(other.send().ok());
    for (int i = 0; i < 2000; ++i) a.station.poll();
    ASSERT_TRUE(a.station.disconnected.empty());
  }
  other.to_send.session = asked->session;
  EXPECT_TRUE(other.send().ok());
  EXPECT_EQ(end_of(a, id, {&a}).code(), StatusCode::kUnreachable);
}

}  // namespace
}  // namespace mad
