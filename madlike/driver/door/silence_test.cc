#include "madlike/driver/door/silence.h"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace mad
