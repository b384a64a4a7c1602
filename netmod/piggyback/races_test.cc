#include "netmod/piggyback/races.h"

#include <gtest/gtest.h>

#include <vector>

namespace mad::piggyback {
namespace {

Receive receive_of(std::uint64_t posted, int source, bool any_source = true, int tag = 7) {
  return {posted, 1, any_source, false, source, tag};
}

class Races : public ::testing::Test {
 protected:
  void take(const Receive& receive, const Clock& sender) {
    finder_.received(receive, sender.value(), sender.value_bytes());
  }

  Clock me_{0, 3}, first_{1, 3}, second_{2, 3};
  std::vector<Race> found_;
  RaceFinder finder_{&me_, [this](const Race& race) { found_.push_back(race); }};
};

TEST_F(Races, AreOfMessagesThatNothingOrders) {
  take(receive_of(1, 1), first_);
  take(receive_of(2, 2), second_);
  ASSERT_EQ(found_.size(), 1u);
  EXPECT_EQ(found_[0].receive.source, 1);
  EXPECT_EQ(found_[0].other_source, 2);
  take(receive_of(3, 2), second_);
  EXPECT_EQ(found_.size(), 1u) << "each receive is told once, and of one sender there is an order";
  EXPECT_EQ(finder_.wildcards(), 3u);
}

TEST_F(Races, AreNoneWhereTheSenderKnew) {
  take(receive_of(1, 1), first_);
  second_.merge(me_.value(), me_.value_bytes());
  take(receive_of(2, 2), second_);
  EXPECT_TRUE(found_.empty());
}

TEST_F(Races, AreOfReceivesOfAnySourceThatMatch) {
  take(receive_of(1, 1, false), first_);
  take(receive_of(2, 2), second_);
  EXPECT_TRUE(found_.empty()) << "the first wanted that one";
  take(receive_of(3, 1, true, 8), first_);
  EXPECT_TRUE(found_.empty()) << "of another tag";
  Receive other = receive_of(4, 1);
  other.comm = 2;
  take(other, first_);
  EXPECT_TRUE(found_.empty()) << "of another communicator";
  take(receive_of(5, 1, false), first_);
  EXPECT_EQ(found_.size(), 1u) << "the other was for a receive of one source";
}

// What an earlier receive would have taken in any case.
TEST_F(Races, AreNoneWithMessagesOfReceivesPostedBefore) {
  take(receive_of(2, 1), first_);
  take(receive_of(1, 2, false), second_);
  EXPECT_TRUE(found_.empty());
}

}  // namespace
}  // namespace mad::piggyback
