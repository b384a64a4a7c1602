// The tests' own tools: a node that records, and its helpers.
#include "tests/engine/node.h"

#include <gtest/gtest.h>

#include <string>

namespace mad::test {
namespace {

TEST(Node, RecordsAnArrivalAndAnOperation) {
  Node a("loopback"), b("loopback");
  const std::string text = "payload";
  std::string got(7, '-');
  Operation sent, received;
  a.send(a.peer(b), "header", text.data(), text.size(), nullptr, MAD_PATH_AUTO, &sent, 9);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return !b.arrivals.empty(); }));
  const Arrival arrival = b.take();
  EXPECT_TRUE(b.arrivals.empty());
  EXPECT_EQ(arrival.handler, 9);
  EXPECT_EQ(arrival.header, "header");
  EXPECT_EQ(arrival.payload_bytes, 7u);
  b.receive(arrival.incoming, got.data(), 7, nullptr, MAD_PATH_AUTO, &received);
  ASSERT_TRUE(progress_until({&a, &b}, [&] { return sent.done && received.done; }));
  EXPECT_EQ(got, text);
  EXPECT_EQ(received.bytes, 7u);
}

TEST(Node, BlocksAreWhatTheySay) {
  const TypeHandle type = blocks(3, 4, 10);
  mad_type_info info;
  ASSERT_EQ(mad_type_query(type.get(), &info), MAD_SUCCESS);
  EXPECT_EQ(info.size, 12u);
  EXPECT_EQ(info.runs, 3u);
  EXPECT_EQ(info.extent, 24);
}

TEST(Node, PatternsDifferByPlaceAndSeed) {
  const Bytes bytes = pattern(1000, 1);
  EXPECT_EQ(pattern(1000, 1), bytes);
  EXPECT_NE(pattern(1000, 2), bytes);
  EXPECT_NE(Bytes(bytes.begin(), bytes.begin() + 256),
            Bytes(bytes.begin() + 256, bytes.begin() + 512));
}

}  // namespace
}  // namespace mad::test
