// What polls look at.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "tests/conformance/shm/engine.h"

namespace {
int looks_at_the_system = 0;
}

// The driver's, which is counted here.
extern "C" int epoll_wait(int set, epoll_event* events, int most, int milliseconds) {
  ++looks_at_the_system;
  return static_cast<int>(
      syscall(SYS_epoll_pwait, set, events, most, milliseconds, nullptr, sizeof(std::uint64_t)));
}

namespace mad {
namespace {

TEST(ShmPolls, AskTheSystemRarely) {
  Met met;
  constexpr int kPolls = 1600;
  looks_at_the_system = 0;
  for (int i = 0; i < kPolls; ++i) met.a.station.poll();
  EXPECT_LE(looks_at_the_system, kPolls / 16);
}

// Their bells would cost them and us more.
TEST(ShmPolls, LookAtFourPeersThatSpokeLately) {
  ShmEngine a;
  std::array<ShmEngine, 5> peers;
  std::array<ConnectionId, 5> to_a{};
  std::vector<ShmEngine*> all{&a};
  for (std::size_t i = 0; i < peers.size(); ++i) {
    to_a[i] = peers[i].connect(a);
    all.push_back(&peers[i]);
  }
  ASSERT_TRUE(pump(all, [&] {
    return std::all_of(peers.begin(), peers.end(),
                       [](const ShmEngine& peer) { return peer.station.connected.size() == 1; }) &&
           a.station.connected.size() == peers.size();
  }));
  const auto speak = [&](std::size_t i) {
    std::byte byte{1};
    const Segment segment{&byte, 1};
    a.station.received.clear();
    ASSERT_TRUE(peers[i].driver->post_send(to_a[i], {&segment, 1}, nullptr).ok());
    ASSERT_TRUE(pump({&a}, [&] { return a.station.received.size() == 1; }));
  };
  const auto is_looked_at = [&](std::size_t i) {
    ShmMemory& lane = peers[i].shm().connection(to_a[i])->out->memory();
    return lane.load_attention() == Attention::kLooks;
  };
  const auto wait = [&] {
    for (int i = 0; i < 100; ++i) a.station.poll();
  };
  wait();
  for (std::size_t i = 0; i < 4; ++i) speak(i);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(is_looked_at(i)) << i;
  EXPECT_FALSE(is_looked_at(4));
  speak(4);
  EXPECT_FALSE(is_looked_at(4)) << "the others spoke just now";
  wait();
  for (std::size_t i = 0; i < 3; ++i) speak(i);
  speak(4);
  EXPECT_TRUE(is_looked_at(4));
  EXPECT_FALSE(is_looked_at(3)) << "that has said nothing since";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(is_looked_at(i)) << i;
}

// It is ahead of what is received by a ring's length always.
TEST(ShmPolls, WhoFloodsKeepsNobodyOut) {
  Met met;
  ShmEngine c;
  const ConnectionId c_to_a = c.connect(met.a);
  ASSERT_TRUE(pump({&met.a, &c}, [&] { return c.station.connected.size() == 1; }));
  ASSERT_TRUE(pump({&met.a, &c}, [&] { return met.a.station.connected.size() == 2; }));
  std::byte byte{1};
  const Segment segment{&byte, 1};
  const auto flood = [&] {
    while (met.b.driver->post_send(met.to_a, {&segment, 1}, nullptr).ok()) {
    }
  };
  flood();
  ASSERT_TRUE(c.driver->post_send(c_to_a, {&segment, 1}, nullptr).ok());
  bool heard = false;
  for (int polls = 0; polls < 10 && !heard; ++polls) {
    std::array<Completion, 4> news;
    const std::size_t count = met.a.driver->poll(news.data(), news.size());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(news[i].kind, Completion::Kind::kReceived);
      heard = heard || news[i].connection != met.to_b;
      met.a.driver->release(news[i].buffer);
    }
    flood();
  }
  EXPECT_TRUE(heard);
}

}  // namespace
}  // namespace mad
