// Ends of connections, and who is to hear of them.
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/conformance/shm/engine.h"

namespace mad {
namespace {

// Its sender may not use the memory for anything else before it is released.
TEST(ShmEnds, AReceivedPacketStaysAsItIs) {
  Met met;
  Bytes bytes = pattern(1000, 7);
  const Segment segment{bytes.data(), bytes.size()};
  ASSERT_TRUE(met.a.driver->post_send(met.to_b, {&segment, 1}, nullptr).ok());
  Completion kept;
  while (met.b.driver->poll(&kept, 1) == 0) {
  }
  ASSERT_EQ(kept.kind, Completion::Kind::kReceived);
  met.a.driver->disconnect(met.to_b);
  const auto end = end_of(met.b, met.to_a, {&met.a, &met.b});
  EXPECT_EQ(end.code(), StatusCode::kClosed);
  met.b.driver->disconnect(met.to_a);
  const std::byte* const content = kept.bytes.begin();
  const auto until = Clock::now() + milliseconds(30);
  ASSERT_TRUE(pump({&met.a, &met.b}, [&] { return Clock::now() > until; }));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), content));
  met.b.driver->release(kept.buffer);
  EXPECT_TRUE(pump({&met.a, &met.b}, [&] { return met.b.shm().connection(met.to_a) == nullptr; }));
}

TEST(ShmEnds, WhoLeavesMayComeBackAtOnce) {
  ShmEngine a, b;
  const std::vector<ShmEngine*> all{&a, &b};
  for (std::size_t round = 0; round < 100; ++round) {
    const ConnectionId to = a.connect(b);
    Bytes bytes(100 + round, std::byte{1});
    b.station.received.clear();
    ASSERT_FALSE(send(a, to, bytes, all).error());
    if (round % 3 != 0) a.driver->disconnect(to);  // before it is received
    ASSERT_TRUE(pump(all, [&] { return b.station.received.size() == 1; })) << round;
    EXPECT_EQ(b.station.received[0].bytes, bytes);
    if (round % 3 != 0) continue;  // and back before b has noticed
    b.driver->disconnect(b.station.received[0].connection);
    ASSERT_TRUE(pump(all, [&] { return a.station.disconnected.count(to) == 1; }));
    EXPECT_EQ(a.station.disconnected[to].code(), StatusCode::kClosed);
    a.driver->disconnect(to);
  }
  EXPECT_LE(a.shm().charged(), 2 * (kShmPieceLimit + kShmLaneHeadBytes));
}

/// Polls `a`, which is connected to `b`, so that it takes a packet of b's and sees that another
/// peer ends without having told it yet: then it must not sleep.
void expect_no_sleep_at_the_end(ShmEngine& a, ShmEngine& b, ConnectionId to_a, ConnectionId ending,
                                const std::function<void()>& end) {
  std::vector<pollfd> sleep;
  ASSERT_TRUE(pump({&a, &b}, [&] { return a.driver->watch(&sleep).ok(); }));
  end();
  std::byte byte{1};
  const Segment segment{&byte, 1};
  ASSERT_TRUE(b.driver->post_send(to_a, {&segment, 1}, nullptr).ok());
  Completion news;
  ASSERT_EQ(a.driver->poll(&news, 1), 1u);
  ASSERT_EQ(news.kind, Completion::Kind::kReceived);
  a.driver->release(news.buffer);
  EXPECT_TRUE(a.driver->watch(&sleep).again());
  EXPECT_TRUE(pump({&a}, [&] { return a.station.disconnected.count(ending) == 1; }));
}

TEST(ShmEnds, WhoHasNotTakenAnEndDoesNotSleep) {
  Met met;
  ShmEngine c;
  const ConnectionId to_a = c.connect(met.a);
  ASSERT_TRUE(pump({&met.a, &c}, [&] { return c.station.connected.count(to_a) == 1; }));
  expect_no_sleep_at_the_end(met.a, met.b, met.to_a, met.a.connect(c),
                             [&] { c.driver->disconnect(to_a); });
}

TEST(ShmEnds, NorWhoHasNotTakenADeath) {
  Met met;
  const auto address = met.a.driver->address();
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ShmEngine c;
    (void)c.connect(address);
    for (;;) c.station.poll();
  }
  ASSERT_TRUE(pump({&met.a}, [&] { return met.a.station.connected.size() == 2; }));
  const ConnectionId ending = met.a.station.connected.rbegin()->first;
  ASSERT_NE(ending, met.to_b);
  expect_no_sleep_at_the_end(met.a, met.b, met.to_a, ending, [&] {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  });
}

}  // namespace
}  // namespace mad
