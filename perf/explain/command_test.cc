#include "perf/explain/command.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "perf/micro/layouts.h"
#include "tests/support/answer.h"

namespace explain {
namespace {

using mad::test::Answer;

// On loopback, which every machine has.
Answer call(std::initializer_list<const char*> words) {
  std::vector<const char*> argv{"explain", "--fabric", "loopback"};
  argv.insert(argv.end(), words);
  return mad::test::answer_of(command, argv);
}

TEST(Command, a_layout_from_description_to_plans) {
  const Answer answer = call({"rows-64", "--bytes", "64K"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  std::size_t at = 0;
  for (const char* part :
       {"fabric loopback: ", "built-in costs", "rows-64: ", "description\n",
        "program: ", " kernels\n", "1024 x 64 B, 128 apart", "in 1 step\n",
        "shape\n  65536 bytes in 1024 runs of 64 to 64 bytes", "sending 1 element of 65536 bytes\n",
        "\n  pack ", "auto sends it by ", "receiving the same\n"}) {
    const std::size_t found = answer.out.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << answer.out;
    at = found;
  }
  EXPECT_EQ(answer.err, "");
}

TEST(Command, many_layouts_share_the_fabric) {
  const std::string out = call({"contiguous", "padded"}).out;
  EXPECT_NE(out.find("\ncontiguous: "), std::string::npos);
  EXPECT_NE(out.find("\npadded: "), std::string::npos);
  EXPECT_EQ(out.find("fabric loopback", 1), std::string::npos);
}

TEST(Command, tuning_reaches_the_policy) {
  EXPECT_NE(call({"rows-64k", "--bytes", "1M"}).out.find("auto sends it by gather"),
            std::string::npos);
  EXPECT_NE(call({"rows-64k", "--bytes", "1M", "--max-blocks", "3"}).out.find("max_blocks"),
            std::string::npos);
}

TEST(Command, the_list_has_all_layouts) {
  const Answer answer = call({"--list"});
  EXPECT_EQ(answer.code, 0);
  for (const micro::LayoutKind& kind : micro::layout_kinds()) {
    EXPECT_NE(answer.out.find(kind.name), std::string::npos) << kind.name;
  }
}

TEST(Command, every_layout_has_a_plan_at_the_least_bytes) {
  for (const micro::LayoutKind& kind : micro::layout_kinds()) {
    const Answer answer = call({kind.name, "--bytes", "256"});
    EXPECT_EQ(answer.code, 0) << kind.name << answer.err;
    EXPECT_EQ(answer.out.find("sending 0 "), std::string::npos) << kind.name;
  }
}

TEST(Command, wrong_use_is_2_and_says_what_is_wrong) {
  const auto expect = [](std::initializer_list<const char*> words, const char* part) {
    const Answer answer = call(words);
    EXPECT_EQ(answer.code, 2) << part;
    EXPECT_EQ(answer.out, "") << part;
    EXPECT_NE(answer.err.find(part), std::string::npos) << answer.err;
  };
  expect({}, "name a layout");
  expect({"no-such"}, "no layout 'no-such'; --list prints");
  expect({"padded", "no-such"}, "no layout 'no-such'");
  expect({"padded", "--bytes", "255"}, "--bytes");
  expect({"padded", "--bytes", "1G"}, "--bytes");
  expect({"padded", "--bytes", "many"}, "--bytes");
  expect({"padded", "--nonsense"}, "--nonsense");
  expect({"padded", "--costs", "/no/such/costs.json"}, "/no/such/costs.json");
}

TEST(Command, of_several_fabrics_each_is_explained) {
  std::ostringstream out, err;
  const char* const argv[] = {"explain", "padded", "--interface", "lo"};
  EXPECT_EQ(command(4, argv, out, err), 0) << err.str();
  EXPECT_NE(out.str().find("fabric shm: "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("\nfabric tcp: "), std::string::npos) << out.str();
}

TEST(Command, a_fabric_that_is_not_there_is_2) {
  std::ostringstream out, err;
  const char* const argv[] = {"explain", "padded", "--fabric", "smoke"};
  EXPECT_EQ(command(4, argv, out, err), 2);
  EXPECT_NE(err.str().find("no fabric 'smoke'; the fabrics are"), std::string::npos) << err.str();
}

TEST(Command, help_is_0) {
  const Answer answer = call({"--help"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_NE(answer.out.find("--max-blocks"), std::string::npos);
}

}  // namespace
}  // namespace explain
