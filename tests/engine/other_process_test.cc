// The tests' own tools: a second process with an engine, that can be stopped and killed.
#include "tests/engine/other_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <string>

namespace mad::test {
namespace {

template <typename Reached>
bool within_seconds(int seconds, Reached&& reached) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
  }
  return true;
}

TEST(OtherProcess, TalksBothWaysAndByMessages) {
  OtherProcess other("tcp", [](Node& node, Parent& parent) {
    while (!parent.heard()) node.progress();
    parent.say('!');
    while (true) node.progress();
  });
  Node node("tcp");
  EXPECT_EQ(mad_send_header(node.engine(), other.peer_of(node), 1, "x", 1), MAD_SUCCESS);
  EXPECT_FALSE(other.heard());
  other.say('?');
  EXPECT_TRUE(within_seconds(20, [&] {
    node.progress();
    return other.heard();
  }));
}

TEST(OtherProcess, KillReturnsWhenItIsGone) {
  OtherProcess other("tcp", [](Node&, Parent& parent) {
    while (!parent.heard()) {
    }
  });
  other.kill();
  other.kill();  // harmless
  EXPECT_TRUE(other.heard()) << "its end of the pipe is closed";
}

}  // namespace
}  // namespace mad::test
