// Pair: two sides of a test that know each other's credit.
#ifndef MADLIKE_MESSAGE_PAIR_H_
#define MADLIKE_MESSAGE_PAIR_H_

#include <gtest/gtest.h>

#include <memory>

#include "madlike/message/side.h"

namespace mad {

/// Two engines that know each other's credit.
struct Pair {
  explicit Pair(const LoopbackOptions& options = {}, const MessengerConfig& config = {})
      : network(std::make_shared<LoopbackNetwork>(options)),
        a(network, config),
        b(network, config),
        to_b(a.to(b)),
        to_a(b.to(a)) {
    EXPECT_TRUE(a.messenger->touch(to_b).ok());
    settle(a, b);
  }
  void expect_all_whole() {
    ASSERT_EQ(a.sent.size(), b.arrived.size());
    for (std::size_t i = 0; i < a.sent.size(); ++i) {
      EXPECT_EQ(a.sent[i].done, 1) << i;
      EXPECT_TRUE(a.sent[i].status.ok()) << i;
      EXPECT_EQ(b.arrived[i].done, 1) << i;
      EXPECT_EQ(b.arrived[i].received, a.sent[i].bytes.size()) << i;
      EXPECT_TRUE(b.arrived[i].sink->bytes == a.sent[i].bytes) << i;
    }
    EXPECT_TRUE(a.messenger->idle());
    EXPECT_TRUE(b.messenger->idle());
    EXPECT_FALSE(b.misaligned);
  }
  std::shared_ptr<LoopbackNetwork> network;
  Side a, b;
  Endpoint& to_b;
  Endpoint& to_a;
};

}  // namespace mad

#endif  // MADLIKE_MESSAGE_PAIR_H_
