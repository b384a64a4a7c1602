// Queues by envelope against one list of all.
#include "madlike/match/envelope_queues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "tests/support/allocations.h"
#include "tests/support/random_type.h"

namespace mad {
namespace {

using Place = EnvelopeQueues::Place;

class EnvelopeQueuesTest : public ::testing::Test {
 protected:
  Place& push(const Envelope& envelope) {
    Place& place = places_.emplace_back();
    place.envelope = envelope;
    queues_.push(place);
    in_.push_back(&place);
    return place;
  }
  void remove(Place& place) {
    queues_.remove(place);
    in_.erase(std::find(in_.begin(), in_.end(), &place));
  }
  Place* pop(const Envelope& envelope) {
    Place* const place = queues_.pop(envelope);
    if (place != nullptr) in_.erase(std::find(in_.begin(), in_.end(), place));
    return place;
  }
  Place* expected_front(const Envelope& envelope) const {
    const auto same = [&](const Place* place) { return place->envelope == envelope; };
    const auto found = std::find_if(in_.begin(), in_.end(), same);
    return found == in_.end() ? nullptr : *found;
  }
  void expect_all_are_visited() const {
    std::multiset<const Place*> visited;
    queues_.for_each([&](Place& place) { visited.insert(&place); });
    EXPECT_EQ(visited, std::multiset<const Place*>(in_.begin(), in_.end()));
  }

  EnvelopeQueues queues_;
  std::deque<Place> places_;
  std::vector<Place*> in_;  // in the order in which they came
};

TEST_F(EnvelopeQueuesTest, AreFirstInFirstOutEach) {
  Place& a = push({1, 2, 3});
  Place& b = push({1, 2, 3});
  Place& other = push({1, 3, 2});
  EXPECT_EQ(queues_.front({1, 2, 3}), &a);
  EXPECT_EQ(queues_.front({1, 3, 2}), &other);
  EXPECT_EQ(queues_.front({2, 2, 3}), nullptr);
  EXPECT_EQ(queues_.front({1, kAnySource, 3}), nullptr) << "a wildcard is an envelope as others";
  remove(a);
  EXPECT_EQ(queues_.front({1, 2, 3}), &b);
  remove(b);
  EXPECT_EQ(queues_.front({1, 2, 3}), nullptr);
  EXPECT_EQ(queues_.front({1, 3, 2}), &other);
}

TEST_F(EnvelopeQueuesTest, WhatIsRemovedInTheMiddleIsNotMissed) {
  Place& a = push({0, 0, 0});
  Place& b = push({0, 0, 0});
  Place& c = push({0, 0, 0});
  remove(b);
  remove(a);
  EXPECT_EQ(queues_.front({0, 0, 0}), &c);
  queues_.push(b);
  in_.push_back(&b);
  remove(c);
  EXPECT_EQ(queues_.front({0, 0, 0}), &b);
}

// Without memory for a larger table the queues are found all the same.
TEST(EnvelopeQueuesInNeed, StayAsTheyAre) {
  EnvelopeQueues queues;
  const std::size_t before = queues.chains();
  std::vector<Place> places(4 * before);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].envelope = {0, static_cast<std::int32_t>(i), 0};
  }
  test::fail_allocations_from(1);
  for (Place& place : places) queues.push(place);
  test::fail_allocations_from(0);
  EXPECT_EQ(queues.chains(), before);
  for (Place& place : places) EXPECT_EQ(queues.front(place.envelope), &place);
  Place late;
  late.envelope = {1, 0, 0};
  queues.push(late);
  EXPECT_GT(queues.chains(), before);
  for (Place& place : places) EXPECT_EQ(queues.front(place.envelope), &place);
}

// Few envelopes, so that queues are long, and many, so that the table grows and chains have
// several.
TEST_F(EnvelopeQueuesTest, AgreeWithOneList) {
  const std::uint64_t seed = test::seed_from_environment(1);
  SCOPED_TRACE(testing::Message() << "MAD_TEST_SEED=" << seed);
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (const int most : {1, 3, 40}) {
    const auto some = [&] { return std::uniform_int_distribution<int>(-1, most)(random); };
    const auto envelope = [&] {
      return Envelope{static_cast<std::uint32_t>(some() + 1), some(), some()};
    };
    for (int step = 0; step < 20000; ++step) {
      if (random() % 2 == 0 || in_.empty()) {
        push(envelope());
      } else {
        remove(*in_[random() % in_.size()]);
      }
      const Envelope asked = envelope();
      ASSERT_EQ(queues_.front(asked), expected_front(asked));
      if (random() % 4 != 0) continue;
      Place* const expected = expected_front(asked);
      ASSERT_EQ(pop(asked), expected);
      if (expected != nullptr) {
        ASSERT_FALSE(expected->is_in());
      }
    }
    expect_all_are_visited();
    while (!in_.empty()) remove(*in_.front());
    expect_all_are_visited();
  }
}

TEST_F(EnvelopeQueuesTest, AVisitMayRemoveWhatItVisits) {
  for (int i = 0; i < 300; ++i) push({0, i % 7, i % 5});
  for (const int keep : {3, 2, 1000}) {
    int number = 0;
    std::vector<Place*> visited;
    queues_.for_each([&](Place& place) {
      visited.push_back(&place);
      if (number++ % keep != 0 || keep == 1000) remove(place);
    });
    EXPECT_EQ(visited.size(), static_cast<std::size_t>(number));
    expect_all_are_visited();
    for (const Place* place : in_) {
      ASSERT_EQ(queues_.front(place->envelope), expected_front(place->envelope));
    }
  }
  EXPECT_TRUE(in_.empty());
}

}  // namespace
}  // namespace mad
