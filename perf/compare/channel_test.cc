#include "perf/compare/channel.h"

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace compare {
namespace {

// Files in the place of pipes: what was said before is read, what is answered stays.
class Files : public ::testing::Test {
 protected:
  std::string prefix() const { return ::testing::TempDir() + "/channel"; }
  void say(int rank, const std::string& text) const {
    std::ofstream(prefix() + "." + std::to_string(rank)) << text;
  }
  std::string answers() const {
    std::ifstream file(prefix() + ".out");
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(Files, CommandsComeInOrderUntilTheLast) {
  say(0,
      "cell padded 65536 auto 20 0 1 7\ncell rows-8 1024 - 5 64 2 8\nquit\ncell a 1 - 1 0 1 1\n");
  Channel channel(prefix(), 0);
  Command command;
  ASSERT_TRUE(channel.next(&command));
  EXPECT_EQ(command.layout, "padded");
  EXPECT_EQ(command.bytes, 65536);
  EXPECT_EQ(command.path, "auto");
  EXPECT_EQ(command.iterations, 20);
  EXPECT_EQ(command.window, 0);
  EXPECT_FALSE(command.both_ways);
  EXPECT_EQ(command.stamp, 7u);
  ASSERT_TRUE(channel.next(&command));
  EXPECT_EQ(command.window, 64);
  EXPECT_TRUE(command.both_ways);
  EXPECT_FALSE(channel.next(&command));
}

TEST_F(Files, WhatIsNoCommandIsRefused) {
  for (const char* text :
       {"cell padded\n", "cell padded 0 - 1 0 1 1\n", "cell padded 8 - 0 0 1 1\n",
        "cell padded 8 - 1 -1 1 1\n", "cell padded 8 - 1 0 0 1\n", "cell padded 8 - 1 0 3 1\n",
        "call padded 8 - 1 0 1 1\n"}) {
    say(0, text);
    Channel channel(prefix(), 0);
    Command command;
    EXPECT_THROW((void)channel.next(&command), std::runtime_error) << text;
  }
}

TEST_F(Files, RankZeroAnswers) {
  say(0, "");
  say(1, "");
  {
    Channel channel(prefix(), 0);
    channel.answer({1.5, 2.25, {}});
    channel.complain("byte 3");
    channel.answer({1, 2, "more"});
    channel.decline("no such thing");
  }
  const std::string said =
      "ready\ntime 1.500 2.250\nwrong byte 3\ntime 1.000 2.000 more\nlacks no such thing\n";
  EXPECT_EQ(answers(), said);
  {
    Channel channel(prefix(), 1);
    channel.answer({9, 9, {}});
    channel.decline("anything");
  }
  EXPECT_EQ(answers(), said);
}

TEST(Summary, LeastAndMedianOfEachShare) {
  std::vector<double> odd = {30, 10, 20}, even = {40, 10, 30, 20};
  Command command;
  command.iterations = 3;
  EXPECT_EQ(summary(command, odd.data()).best, 5);
  EXPECT_EQ(summary(command, odd.data()).median, 10);
  command.iterations = 4;
  command.window = 5;
  EXPECT_EQ(summary(command, even.data()).median, 5);
  command.both_ways = true;
  EXPECT_EQ(summary(command, even.data()).median, 2.5);
}

}  // namespace
}  // namespace compare
