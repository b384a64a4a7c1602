#include "netmod/piggyback/timeline.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mad::piggyback {
namespace {

Call call_of(const char* name, int rank, std::int64_t start, std::int64_t end, int waited = -1,
             std::int64_t sent = 0) {
  Call call;
  std::strncpy(call.name, name, sizeof(call.name) - 1);
  call.rank = rank;
  call.start = start;
  call.end = end;
  call.waited = waited;
  call.sent = sent;
  return call;
}

// Rank 1 receives from 1 ms on what rank 0 sends at 3 ms.
std::vector<Call> example() {
  constexpr std::int64_t kMillisecond = 1000000, kEpoch = 1700000000000000000;
  return {call_of("MPI_Send", 0, kEpoch + 3 * kMillisecond, kEpoch + 4 * kMillisecond),
          call_of("MPI_Recv", 1, kEpoch + kMillisecond, kEpoch + 5 * kMillisecond, 0,
                  kEpoch + 3 * kMillisecond)};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Timeline, IsATraceWithArrows) {
  const std::string text = chrome_trace(example());
  EXPECT_TRUE(has(text, R"("ph":"X","pid":1,"tid":0,"name":"MPI_Recv","ts":0.000,"dur":4000.000)"))
      << text;
  EXPECT_TRUE(has(text, R"("waited for rank":0,"waited us":2000.000)")) << text;
  EXPECT_TRUE(has(text, R"("ph":"s","pid":0)"));
  EXPECT_TRUE(has(text, R"("ph":"f","bp":"e","pid":1)"));
}

TEST(Timeline, IsAPicture) {
  const std::string text = picture(example());
  EXPECT_TRUE(has(text, "<title>MPI_Send, 1000.000 us</title>"));
  EXPECT_TRUE(has(text, "stroke=\"black\"")) << "a line from the one that was waited for";
  EXPECT_TRUE(has(text, "</svg>"));
}

TEST(Timeline, SaysWhoWaitedForWhom) {
  EXPECT_EQ(waits(example(), 5), "rank 1 waited 0.002000 s for rank 0 in 1 calls\n");
  EXPECT_EQ(waits(example(), 0), "");
}

TEST(Timeline, OfNothingIsEmpty) {
  EXPECT_EQ(waits({}, 5), "");
  EXPECT_TRUE(has(chrome_trace({}), "traceEvents"));
  EXPECT_TRUE(has(picture({}), "</svg>"));
}

}  // namespace
}  // namespace mad::piggyback
