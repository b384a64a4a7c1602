// Clients that come and go: what a server keeps of them.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/node.h"

namespace mad::test {
namespace {

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Churn : public ::testing::TestWithParam<const char*> {
 protected:
  // A client that is served and leaves.
  void visit() {
    Node client(GetParam());
    ASSERT_EQ(mad_send_header(client.engine(), client.peer(server), 1, "hello", 5), MAD_SUCCESS);
    ASSERT_TRUE(progress_until({&client, &server}, [&] { return server.arrivals.size() == 1; }));
    mad_peer* const peer = server.take().from;
    ASSERT_EQ(mad_send_header(server.engine(), peer, 1, "welcome", 7), MAD_SUCCESS);
    ASSERT_TRUE(progress_until({&client, &server}, [&] { return client.arrivals.size() == 1; }));
    std::atomic<bool> closed{false};
    std::thread closing([&] {
      client.close();
      closed = true;
    });
    while (!closed || server.departures.empty()) server.progress();
    closing.join();
    ASSERT_EQ(server.departures.size(), 1u);
    EXPECT_EQ(server.departures[0].peer, peer);
    EXPECT_EQ(mad_peer_status(peer), MAD_ERR_CLOSED);
    EXPECT_EQ(mad_send_header(server.engine(), peer, 1, "late", 4), MAD_ERR_CLOSED);
    if (release) {
      EXPECT_EQ(mad_peer_release(server.engine(), peer), MAD_SUCCESS) << mad_last_error();
    }
    server.departures.clear();
    for (int i = 0; i < 200; ++i) server.progress();
  }
  /// Bytes that the heap grows by, visit by visit.
  double growth(int visits) {
    for (int i = 0; i < 30; ++i) visit();
    const auto before = static_cast<double>(heap_bytes());
    for (int i = 0; i < visits; ++i) visit();
    return (static_cast<double>(heap_bytes()) - before) / visits;
  }

  Node server{GetParam()};
  bool release = true;
};

// A word of ours, and what the fabric library does not give back of the client's engine; the
// records would be thousands of bytes.
TEST_P(Churn, ReleasedPeersLeaveAWordBehind) { EXPECT_LT(growth(200), 128); }

TEST_P(Churn, OthersKeepTheirStatusOnly) {
  release = false;
  EXPECT_LT(growth(50), 600);
}

INSTANTIATE_TEST_SUITE_P(Engine, Churn, ::testing::ValuesIn(kNetworks), fabric_test_name);

}  // namespace
}  // namespace mad::test
