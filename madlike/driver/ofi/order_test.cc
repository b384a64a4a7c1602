#include "madlike/driver/ofi/order.h"

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace mad {
namespace {

using Order = PacketOrder<int>;

TEST(PacketOrder, WhatComesInOrderWaitsForNothing) {
  Order order;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(order.place(static_cast<std::uint8_t>(i)), Order::Place::kNext);
    order.advance();
    ASSERT_EQ(order.next(), nullptr);
  }
}

// Whatever a fabric does with as many as may be on their way.
TEST(PacketOrder, WhatComesInAnyOrderIsTakenInTheOrderSent) {
  std::mt19937 random(7);
  std::vector<int> sent(3000);
  std::deque<std::size_t> on_the_way;
  std::vector<std::size_t> taken;
  Order order;
  const std::size_t most = CreditPool::kMost + 1u;
  for (std::size_t next = 0; taken.size() < sent.size();) {
    while (next < sent.size() && next < taken.size() + most) on_the_way.push_back(next++);
    const std::size_t which = random() % on_the_way.size();
    const std::size_t packet = on_the_way[which];
    on_the_way.erase(on_the_way.begin() + static_cast<std::ptrdiff_t>(which));
    const auto number = static_cast<std::uint8_t>(packet);
    const Order::Place place = order.place(number);
    ASSERT_NE(place, Order::Place::kNever);
    if (place == Order::Place::kEarly) {
      order.keep(number, &sent[packet]);
      EXPECT_EQ(order.place(number), Order::Place::kNever) << "it is here already";
      continue;
    }
    for (int* each = &sent[packet]; each != nullptr; each = order.next()) {
      taken.push_back(static_cast<std::size_t>(each - sent.data()));
      order.advance();
    }
  }
  for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_EQ(taken[i], i);
  EXPECT_EQ(order.drop(), nullptr);
}

TEST(PacketOrder, WhatCannotBeOnItsWayIsNone) {
  Order order;
  EXPECT_EQ(order.place(CreditPool::kMost), Order::Place::kEarly);
  EXPECT_EQ(order.place(CreditPool::kMost + 1), Order::Place::kNever);
  EXPECT_EQ(order.place(255), Order::Place::kNever) << "it was taken";
}

TEST(PacketOrder, WhatWaitsIsGivenBack) {
  Order order;
  int a = 0, b = 0;
  order.keep(1, &a);
  order.keep(3, &b);
  EXPECT_EQ(order.waiting(), 2u);
  EXPECT_NE(order.drop(), nullptr);
  EXPECT_NE(order.drop(), nullptr);
  EXPECT_EQ(order.drop(), nullptr);
}

}  // namespace
}  // namespace mad
