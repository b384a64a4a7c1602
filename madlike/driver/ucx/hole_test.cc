#include "madlike/driver/ucx/hole.h"

#include <cstring>

#include "madlike/driver/ucx/side.h"

namespace mad {
namespace {

using std::chrono::milliseconds;

class UcxHoleWatch : public ::testing::Test {
 protected:
  Side side_{UcxTransport::kPosix};
  HoleWatch watch_{milliseconds(100)};
  const PolledClock::time_point began_{};
};

TEST_F(UcxHoleWatch, AnEngineCanReachItself) {
  watch_.begin(*side_.lane);
  ASSERT_TRUE(watch_.busy());
  for (int i = 0; i < 100 && watch_.busy(); ++i) {
    EXPECT_FALSE(watch_.look(began_));
    side_.progress();
    for (const Side::Message& message : side_.messages) {
      std::uint64_t tag = 1;
      std::memcpy(&tag, message.bytes.data(), sizeof(tag));
      watch_.on_message(tag);
    }
    side_.messages.clear();
  }
  EXPECT_FALSE(watch_.busy()) << "the queue moves";
  EXPECT_FALSE(side_.lane->used());
}

TEST_F(UcxHoleWatch, TimeCountsFromTheFirstLook) {
  watch_.begin(*side_.lane);
  EXPECT_FALSE(watch_.look(began_ + milliseconds(1000))) << "its message only leaves now";
  watch_.on_message(HoleWatch::kTag);
  EXPECT_FALSE(watch_.look(began_ + milliseconds(9000)));
  EXPECT_FALSE(watch_.busy());
}

TEST_F(UcxHoleWatch, ASecondDeathIsLookedAtBehindTheFirst) {
  watch_.begin(*side_.lane);
  EXPECT_FALSE(watch_.look(began_));
  watch_.begin(*side_.lane);
  EXPECT_FALSE(watch_.look(began_));
  watch_.on_message(HoleWatch::kTag);
  EXPECT_FALSE(watch_.look(began_));
  EXPECT_TRUE(watch_.busy()) << "one is still under way";
  EXPECT_TRUE(watch_.look(began_ + milliseconds(101)));
}

TEST_F(UcxHoleWatch, AQueueThatDoesNotMoveHasAHole) {
  watch_.begin(*side_.lane);
  EXPECT_FALSE(watch_.look(began_));  // the side is not polled: it looks like one
  watch_.on_message(77);              // another's message, from before
  EXPECT_FALSE(watch_.look(began_ + milliseconds(99)));
  EXPECT_FALSE(watch_.look(began_ + milliseconds(101)));
  EXPECT_TRUE(watch_.look(began_ + milliseconds(300)));
  EXPECT_FALSE(watch_.busy());
}

}  // namespace
}  // namespace mad
