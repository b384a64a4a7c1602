// Processes that fork without exec while they have an engine.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/engine/node.h"
#include "tests/engine/other_process.h"

namespace mad::test {
namespace {

void greet(Node& node, mad_peer* peer) {
  ASSERT_EQ(mad_send_header(node.engine(), peer, 1, "x", 1), MAD_SUCCESS) << mad_last_error();
}

class Fork : public ::testing::TestWithParam<const char*> {};

// The child lives until the test ends, so that nobody but it has the dead parent's sockets.
TEST_P(Fork, AChildDoesNotHideThatItsParentDied) {
  OtherProcess other(GetParam(), [](Node& node, Parent& parent) {
    while (node.arrivals.empty()) node.progress();
    if (fork() == 0) {
      mad_engine_after_fork(node.engine());
      parent.say('c');
      while (!parent.heard()) usleep(1000);
      _exit(0);
    }
    for (;;) node.progress();
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  greet(node, peer);
  ASSERT_TRUE(progress_until({&node}, [&] { return other.heard(); }));
  other.kill();
  ASSERT_TRUE(progress_until({&node}, [&] { return !node.departures.empty(); }));
  EXPECT_EQ(node.departures[0].status, MAD_ERR_PEER_FAILED) << node.departures[0].why;
}

// With all that libraries do at exit().
TEST_P(Fork, AChildThatExitsHarmsNobody) {
  OtherProcess other(GetParam(), [](Node& node, Parent&) {
    for (;;) {
      while (node.arrivals.empty()) node.progress();
      const pid_t child = fork();
      if (child == 0) {
        mad_engine_after_fork(node.engine());
        std::exit(0);
      }
      waitpid(child, nullptr, 0);
      greet(node, node.take().from);
    }
  });
  Node node(GetParam());
  mad_peer* const peer = other.peer_of(node);
  for (std::size_t round = 1; round <= 3; ++round) {
    greet(node, peer);
    ASSERT_TRUE(progress_until({&node}, [&] { return node.arrivals.size() == round; }));
  }
  Node late(GetParam());  // whose connection is made afterwards
  greet(late, other.peer_of(late));
  EXPECT_TRUE(progress_until({&late}, [&] { return !late.arrivals.empty(); }));
  EXPECT_TRUE(node.departures.empty());
  other.kill();
}

INSTANTIATE_TEST_SUITE_P(Engine, Fork, ::testing::ValuesIn(kNetworks), fabric_test_name);

}  // namespace
}  // namespace mad::test
