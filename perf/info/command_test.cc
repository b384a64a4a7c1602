#include "perf/info/command.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/answer.h"

namespace info {
namespace {

using mad::test::Answer;

Answer call(std::initializer_list<const char*> words) {
  std::vector<const char*> argv{"info"};
  argv.insert(argv.end(), words);
  return mad::test::answer_of(command, argv);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Info, tells_of_every_fabric_whether_it_can_be_used) {
  const Answer answer = call({"--interface", "lo"});
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_TRUE(has(answer.out, " lo (127.0.0.1)")) << answer.out;
  EXPECT_TRUE(has(answer.out, "\nauto: shm with processes of this host")) << answer.out;
  EXPECT_TRUE(has(answer.out, "\nRDMA device")) << answer.out;
  EXPECT_TRUE(has(answer.out, "ofi:verbs: ")) << "auto takes it or not: " << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric tcp: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "built-in costs")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ofi:tcp: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ofi:verbs")) << "usable or not";
  EXPECT_TRUE(has(answer.out, "fabric ucx: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ucx:posix: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ucx:posix,cma: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ucx:tcp: ")) << answer.out;
}

TEST(Info, thresholds_are_those_in_force) {
  const Answer fabric_s = call({"loopback", "--interface", "lo"});
  EXPECT_TRUE(has(fabric_s.out,
                  "\nup to 65536 bytes of a message leave before its receive is known; a "
                  "packet leaves when it is full, of copies at "))
      << fabric_s.out;
  EXPECT_FALSE(has(fabric_s.out, "auto copies more than")) << fabric_s.out;
  const Answer given = call({"loopback", "--flush-threshold", "5000", "--max-blocks", "77"});
  EXPECT_TRUE(has(given.out, " a packet leaves when 5000 bytes are prepared\n")) << given.out;
  EXPECT_TRUE(has(given.out, "\nauto copies more than 77 blocks\n")) << given.out;
  setenv("MPIR_CVAR_CH4_MAD_EAGER_LIMIT", "1234", 1);
  const Answer in_environment = call({"loopback"});
  setenv("MPIR_CVAR_CH4_MAD_EAGER_LIMIT", "much", 1);
  const Answer wrong = call({"loopback"});
  unsetenv("MPIR_CVAR_CH4_MAD_EAGER_LIMIT");
  EXPECT_TRUE(has(in_environment.out, "\nup to 1234 bytes of a message")) << in_environment.out;
  EXPECT_EQ(wrong.code, 2);
  EXPECT_TRUE(has(wrong.err, "MPIR_CVAR_CH4_MAD_EAGER_LIMIT") || has(wrong.err, "--eager-limit"))
      << wrong.err;
}

TEST(Info, a_fabric_that_is_asked_for_and_cannot_be_used_is_1) {
  const Answer answer = call({"loopback", "ofi:pigeon"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_TRUE(has(answer.out, "fabric loopback: ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ofi:pigeon cannot be used: ")) << answer.out;
  EXPECT_FALSE(has(answer.out, "fabric tcp"));
  EXPECT_EQ(call({"loopback"}).code, 0);
}

TEST(Info, two_engines_talk_where_that_is_asked_for) {
  const std::string said = "\ntwo engines of this host exchange packets";
  EXPECT_TRUE(has(call({"loopback", "--self-test"}).out, said));
  EXPECT_FALSE(has(call({"loopback"}).out, said));
}

TEST(Info, cma_is_tried_where_it_is_used) {
  const Answer with = call({"--interface", "lo", "ucx:cma,posix"});
  EXPECT_EQ(with.code, 0) << with.err;
  EXPECT_TRUE(has(with.out, "single copy between processes of this host works") ||
              has(with.out, "single copy between processes of this host cannot be used: "))
      << with.out;
  EXPECT_FALSE(has(call({"--interface", "lo", "ucx:posix"}).out, "single copy"));
  EXPECT_TRUE(has(call({"--interface", "lo", "auto"}).out, "single copy between"));
  ASSERT_EQ(setenv("MAD_SHM_SINGLE_COPY", "0", 1), 0);
  EXPECT_FALSE(has(call({"--interface", "lo", "auto"}).out, "single copy"));
  ASSERT_EQ(unsetenv("MAD_SHM_SINGLE_COPY"), 0);
  const Answer alone = call({"--interface", "lo", "ucx:cma"});
  EXPECT_EQ(alone.code, 1);
  EXPECT_TRUE(has(alone.out, "needs posix")) << alone.out;
}

TEST(Info, a_list_is_each_of_its_fabrics) {
  const Answer answer = call({"loopback;ucx:posix;ofi:pigeon", "--interface", "lo"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_TRUE(has(answer.out, "fabric loopback: this host only, ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ucx:posix: this host only, ")) << answer.out;
  EXPECT_TRUE(has(answer.out, "fabric ofi:pigeon cannot be used: ")) << answer.out;
}

TEST(Info, an_interface_that_is_none_is_said) {
  const Answer answer = call({"--interface", "nosuch0", "tcp"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_TRUE(has(answer.out, "nosuch0")) << answer.out;
}

TEST(Info, costs_that_cannot_be_read_are_said) {
  const Answer answer = call({"--costs", "/no/such/costs.json", "loopback"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_TRUE(has(answer.out, "/no/such/costs.json")) << answer.out;
}

TEST(Info, wrong_use_is_2_and_help_is_0) {
  EXPECT_EQ(call({"--nonsense"}).code, 2);
  const Answer help = call({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_TRUE(has(help.out, "--interface"));
}

}  // namespace
}  // namespace info
