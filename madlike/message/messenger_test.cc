#include "madlike/message/messenger.h"

#include <gtest/gtest.h>

#include "madlike/message/side.h"

namespace mad {
namespace {

TEST(Messenger, MovesHeadersAndPayloadsBothWays) {
  auto network = std::make_shared<LoopbackNetwork>();
  Side a(network), b(network);
  Endpoint& to_b = a.to(b);
  ASSERT_TRUE(a.send_header(to_b, 7, "hello").ok());
  for (std::size_t size : {1u, 8u, 1000u, 70000u, 3000000u}) {
    a.send(to_b, 9, pattern(size, size), "h" + std::to_string(size));
  }
  ASSERT_TRUE(settle(a, b, [&] { return b.arrived.size() == 6 && a.all_sent(); }));
  settle(a, b);
  EXPECT_EQ(b.arrived[0].header, "hello");
  EXPECT_EQ(b.arrived[0].handler, 7);
  for (std::size_t i = 1; i < 6; ++i) {
    const Arrived& arrived = b.arrived[i];
    const Sent& sent = a.sent[i - 1];
    EXPECT_EQ(arrived.done, 1);
    EXPECT_TRUE(arrived.status.ok());
    EXPECT_TRUE(arrived.sink->bytes == sent.bytes) << i;
    EXPECT_TRUE(sent.status.ok());
  }
  b.send(*b.arrived[0].from, 3, pattern(100000, 5), "back");
  ASSERT_TRUE(settle(a, b, [&] { return a.arrived.size() == 1 && a.arrived[0].done == 1; }));
  EXPECT_TRUE(a.arrived[0].sink->bytes == b.sent[0].bytes);
  settle(a, b);
  EXPECT_TRUE(a.messenger->idle());
  EXPECT_TRUE(b.messenger->idle());
}

}  // namespace
}  // namespace mad
