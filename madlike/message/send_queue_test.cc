// Which messages and clearances wait for others to leave together.
#include "madlike/message/send_queue.h"

#include <gtest/gtest.h>

namespace mad {
namespace {

// Another small message is sent: whether it is one of many.
bool another(SendQueue& queue, std::uint64_t turn, bool soon) {
  const bool is_one = queue.is_one_of_many(turn, soon);
  EXPECT_EQ(queue.is_one_of_many(turn, soon), is_one) << "asking changes nothing";
  queue.count_small(turn);
  return is_one;
}

TEST(SendQueue, ManySmallMessagesOfATurnAreCollected) {
  SendQueue queue;
  for (std::uint32_t i = 0; i < SendQueue::kAtOnce; ++i) EXPECT_FALSE(another(queue, 1, false));
  EXPECT_TRUE(another(queue, 1, false));
  EXPECT_FALSE(another(queue, 2, false)) << "of another turn";
}

TEST(SendQueue, AnswersToWhatArrivesAreCollectedButTheFirst) {
  SendQueue queue;
  EXPECT_FALSE(another(queue, 1, true));
  EXPECT_TRUE(another(queue, 1, true));
  EXPECT_FALSE(another(queue, 1, false)) << "nothing that it may wait for follows";
}

TEST(SendQueue, WhatIsCollectedLeavesWhenItIsEnoughOrSomethingElseFollows) {
  SendQueue queue;
  EXPECT_FALSE(queue.count_queued(false)) << "nothing waits for others";
  for (std::uint32_t i = 1; i < SendQueue::kTogether; ++i) EXPECT_FALSE(queue.count_queued(true));
  EXPECT_TRUE(queue.count_queued(true));
  queue.forget_collected();
  EXPECT_FALSE(queue.count_queued(true));
  EXPECT_TRUE(queue.count_queued(false));
}

TEST(SendQueue, ClearancesOfMessagesThatArrivedTogetherLeaveTogether) {
  IncomingMessage first, second, late;
  SendQueue queue;
  EXPECT_TRUE(queue.push_clearance(first, true, 7));
  EXPECT_FALSE(queue.push_clearance(second, true, 7)) << "one waits already";
  (void)queue.clearances.pop();
  (void)queue.clearances.pop();
  EXPECT_FALSE(queue.push_clearance(first, true, 7)) << "of the same turn";
  (void)queue.clearances.pop();
  EXPECT_TRUE(queue.push_clearance(second, false, 7)) << "it arrived before";
  (void)queue.clearances.pop();
  EXPECT_TRUE(queue.push_clearance(late, true, 8));
}

TEST(SendQueue, KnowsWhatItHolds) {
  SendQueue queue;
  EXPECT_FALSE(queue.has_frames() || queue.holds_messages() || queue.is_posting());
  IncomingMessage arrived;
  (void)queue.push_clearance(arrived, true, 1);
  EXPECT_TRUE(queue.has_frames());
  EXPECT_FALSE(queue.holds_messages()) << "a clearance is of their messages";
  (void)queue.clearances.pop();
  ASSERT_TRUE(queue.first_frames.push(1, {}, nullptr));
  EXPECT_TRUE(queue.has_frames() && queue.holds_messages());
  queue.first_frames.pop();
  OutgoingMessage sent, pushed_back;
  queue.streaming.push(&sent);
  EXPECT_TRUE(queue.has_frames() && queue.holds_messages());
  (void)queue.streaming.pop();
  EXPECT_EQ(queue.posting(), nullptr);
  queue.unfinished = {1, &sent};
  EXPECT_TRUE(queue.is_posting() && queue.holds_messages());
  EXPECT_FALSE(queue.has_frames());
  EXPECT_EQ(queue.posting(), &sent);
  OutgoingPacket packet(nullptr, {});
  packet.message = &pushed_back;
  queue.unposted = &packet;
  EXPECT_EQ(queue.posting(), &pushed_back);
  queue.unfinished = {};
  EXPECT_TRUE(queue.is_posting() && queue.holds_messages());
}

}  // namespace
}  // namespace mad
