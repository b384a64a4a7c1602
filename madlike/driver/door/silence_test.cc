#include "madlike/driver/door/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>

#include "gtest/gtest.h"
#include "madlike/driver/door/sockets.h"

namespace mad {
namespace {

using std::chrono::milliseconds;

class SilenceTest : public ::testing::Test {
 protected:
  /// Looks `later` after the look before.
  milliseconds look(milliseconds later, std::uint32_t unacked, std::uint32_t probes,
                    std::uint32_t ms_since_ack) {
    now_ += later;
    tcp_info info{};
    info.tcpi_unacked = unacked;
    info.tcpi_probes = static_cast<std::uint8_t>(probes);
    info.tcpi_last_ack_recv = ms_since_ack;
    return std::chrono::duration_cast<milliseconds>(silence_.look(info, now_));
  }
  Silence silence_;
  PolledClock::time_point now_;
};

TEST_F(SilenceTest, WhoIsAskedNothingIsNotSilent) {
  EXPECT_EQ(look(milliseconds(0), 0, 0, 0), milliseconds(0));
  EXPECT_EQ(look(milliseconds(3600000), 0, 0, 3600000), milliseconds(0));
}

TEST_F(SilenceTest, DataWithoutAnswerSinceItWasSeenFirst) {
  EXPECT_EQ(look(milliseconds(0), 3, 0, 60000), milliseconds(0)) << "idle for a minute, then data";
  EXPECT_EQ(look(milliseconds(500), 3, 0, 60500), milliseconds(500));
  EXPECT_EQ(look(milliseconds(500), 4, 0, 61000), milliseconds(1000));
}

TEST_F(SilenceTest, AnAnswerEndsIt) {
  look(milliseconds(0), 3, 0, 100);
  look(milliseconds(500), 3, 0, 600);
  EXPECT_EQ(look(milliseconds(500), 3, 0, 200), milliseconds(0)) << "some data, and more is owed";
  EXPECT_EQ(look(milliseconds(500), 3, 0, 700), milliseconds(500));
  EXPECT_EQ(look(milliseconds(500), 0, 0, 100), milliseconds(0));
  EXPECT_EQ(look(milliseconds(500), 1, 0, 600), milliseconds(0));
}

// A receiver that does not read: its host answers each probe, minutes apart.
TEST_F(SilenceTest, AClosedWindowIsNoSilence) {
  EXPECT_EQ(look(milliseconds(0), 0, 0, 100), milliseconds(0));
  EXPECT_EQ(look(milliseconds(60000), 0, 0, 60100), milliseconds(0));
  EXPECT_EQ(look(milliseconds(60000), 0, 1, 120100), milliseconds(0)) << "a probe has just left";
  EXPECT_EQ(look(milliseconds(100), 0, 0, 10), milliseconds(0));
  EXPECT_EQ(look(milliseconds(60000), 0, 1, 60000), milliseconds(0));
  EXPECT_EQ(look(milliseconds(1000), 0, 1, 61000), milliseconds(1000));
}

// Of a host that drops what we ask: a listener's queue is full.
class SilentHost : public ::testing::Test {
 protected:
  void SetUp() override {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(name);
    auto* const any = reinterpret_cast<sockaddr*>(&name);
    listener_ = TcpSocket(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(bind(listener_.fd(), any, size), 0);
    ASSERT_EQ(listen(listener_.fd(), 0), 0);
    ASSERT_EQ(getsockname(listener_.fd(), any, &size), 0);
    for (TcpSocket& each : asking_) {
      each = TcpSocket(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      (void)connect(each.fd(), any, size);
    }
  }
  bool lasts(PolledClock::time_point now, milliseconds timeout) {
    return silence_.lasts(asking_.back().fd(), now, timeout);
  }
  TcpSocket listener_;
  std::array<TcpSocket, 4> asking_;
  Silence silence_;
};

TEST_F(SilentHost, LastsFromTheTimeoutOn) {
  const PolledClock::time_point now{};
  const milliseconds timeout(1);
  EXPECT_FALSE(lasts(now, timeout)) << "it was seen first";
  EXPECT_FALSE(lasts(now + timeout - std::chrono::nanoseconds(1), timeout));
  EXPECT_TRUE(lasts(now + timeout, timeout));
}

TEST_F(SilentHost, IsWaitedForWithoutATimeout) {
  const PolledClock::time_point now{};
  EXPECT_FALSE(lasts(now, milliseconds(0)));
  EXPECT_FALSE(lasts(now + std::chrono::hours(1), milliseconds(0)));
}

}  // namespace
}  // namespace mad
