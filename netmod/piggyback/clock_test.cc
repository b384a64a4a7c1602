#include "netmod/piggyback/clock.h"

#include <gtest/gtest.h>

namespace mad::piggyback {
namespace {

TEST(Clock, OfFewRanksKnowsExactlyWhatASenderKnew) {
  Clock me(0, 3), other(1, 3), third(2, 3);
  EXPECT_TRUE(me.exact());
  EXPECT_EQ(me.value_bytes(), 12u);
  const std::uint32_t number = me.tick();
  EXPECT_TRUE(me.is_unaware(other.value(), other.value_bytes(), number));
  other.tick();
  other.tick();
  EXPECT_TRUE(me.is_unaware(other.value(), other.value_bytes(), number)) << "of its own receives";
  third.merge(me.value(), me.value_bytes());
  other.merge(third.value(), third.value_bytes());
  EXPECT_FALSE(me.is_unaware(other.value(), other.value_bytes(), number)) << "by way of a third";
  EXPECT_TRUE(me.is_unaware(other.value(), other.value_bytes(), me.tick())) << "of a later one";
}

TEST(Clock, OfManyRanksSaysOnlyWhatIsCertain) {
  Clock me(0, 1000), other(1, 1000);
  EXPECT_FALSE(me.exact());
  EXPECT_EQ(me.value_bytes(), 4u);
  const std::uint32_t number = me.tick();
  EXPECT_TRUE(me.is_unaware(other.value(), other.value_bytes(), number));
  other.tick();
  EXPECT_FALSE(me.is_unaware(other.value(), other.value_bytes(), number)) << "not certain any more";
}

TEST(Clock, FitsTheLongestValue) {
  EXPECT_EQ(Clock(0, Clock::kMostRanks).value_bytes(), 256u);
  EXPECT_EQ(Clock(0, Clock::kMostRanks + 1).value_bytes(), 4u);
}

TEST(Clock, KnowsNothingOfMessagesWithoutItsValue) {
  Clock me(0, 3);
  EXPECT_FALSE(me.is_unaware(nullptr, 0, me.tick()));
  me.merge(nullptr, 0);
}

}  // namespace
}  // namespace mad::piggyback
