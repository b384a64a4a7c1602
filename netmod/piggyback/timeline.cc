#include "netmod/piggyback/timeline.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

namespace mad::piggyback {
namespace {

constexpr double kNanosecondsPerMicrosecond = 1e3;
constexpr double kNanosecondsPerSecond = 1e9;

struct Span {
  std::int64_t start = 0, end = 0;
  int ranks = 0;
};

Span span_of(const std::vector<Call>& calls) {
  Span span;
  if (calls.empty()) return span;
  span = {calls.front().start, calls.front().end, 0};
  for (const Call& call : calls) {
    span.start = std::min(span.start, call.start);
    span.end = std::max(span.end, call.end);
    span.ranks = std::max(span.ranks, call.rank + 1);
  }
  return span;
}

template <typename... Values>
void print(std::string* out, const char* format, Values... values) {
  char line[512];
  const int length = std::snprintf(line, sizeof(line), format, values...);
  out->append(line, static_cast<std::size_t>(std::clamp(length, 0, int{sizeof(line)} - 1)));
}

bool is_end_of_message(const Call& call) { return call.waited >= 0 && call.sent > 0; }

/// Nanoseconds that a call waited for what had not been sent.
std::int64_t wait_of(const Call& call) {
  if (!is_end_of_message(call)) return 0;
  return std::clamp<std::int64_t>(call.sent - call.start, 0, call.end - call.start);
}

// Colours for hues apart from each other, by kind of call.
const char* colour_of(const Call& call) {
  const std::string name = call.name;
  if (name.find("end") != std::string::npos) return "#4878a8";  // sends
  if (name.find("ecv") != std::string::npos) return "#d08030";
  if (name.find("ait") != std::string::npos || name.find("robe") != std::string::npos) {
    return "#c05050";
  }
  return "#609060";
}

}  // namespace

std::string chrome_trace(const std::vector<Call>& calls) {
  const Span span = span_of(calls);
  const auto microseconds = [&](std::int64_t time) {
    return static_cast<double>(time - span.start) / kNanosecondsPerMicrosecond;
  };
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (int rank = 0; rank < span.ranks; ++rank) {
    print(&out, R"({"ph":"M","pid":%d,"tid":0,"name":"process_name","args":{"name":"rank %d"}},)",
          rank, rank);
    out += '\n';
  }
  int arrow = 0;
  for (const Call& call : calls) {
    print(&out, R"({"ph":"X","pid":%d,"tid":0,"name":"%s","ts":%.3f,"dur":%.3f,)", call.rank,
          call.name, microseconds(call.start), microseconds(call.end) - microseconds(call.start));
    if (!is_end_of_message(call)) {
      out += "\"args\":{}},\n";
      continue;
    }
    print(&out, R"("args":{"waited for rank":%d,"waited us":%.3f}},)", call.waited,
          static_cast<double>(wait_of(call)) / kNanosecondsPerMicrosecond);
    print(&out, "\n{\"ph\":\"s\",\"pid\":%d,\"tid\":0,\"name\":\"message\",\"cat\":\"message\",",
          call.waited);
    print(&out, "\"id\":%d,\"ts\":%.3f},\n", ++arrow, microseconds(call.sent));
    print(&out, "{\"ph\":\"f\",\"bp\":\"e\",\"pid\":%d,\"tid\":0,\"name\":\"message\",", call.rank);
    print(&out, "\"cat\":\"message\",\"id\":%d,\"ts\":%.3f},\n", arrow, microseconds(call.end));
  }
  out += "{\"ph\":\"M\",\"pid\":0,\"name\":\"end\"}\n]}\n";
  return out;
}

std::string picture(const std::vector<Call>& calls) {
  constexpr int kWidth = 1000, kLeft = 70, kRow = 36, kBar = 20, kTop = 30;
  const Span span = span_of(calls);
  const double length = static_cast<double>(std::max<std::int64_t>(span.end - span.start, 1));
  const auto x = [&](std::int64_t time) {
    return kLeft + static_cast<double>(time - span.start) / length * (kWidth - kLeft - 10);
  };
  const auto y = [](int rank) { return kTop + rank * kRow; };
  std::string out;
  print(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", kWidth,
        kTop + span.ranks * kRow + 10);
  out += " font-family=\"sans-serif\" font-size=\"12\">\n";
  out += "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
  print(&out, "<text x=\"%d\" y=\"18\">%.6f s</text>\n", kLeft, length / kNanosecondsPerSecond);
  for (int rank = 0; rank < span.ranks; ++rank) {
    print(&out, "<text x=\"6\" y=\"%d\">rank %d</text>\n", y(rank) + 14, rank);
    print(&out, "<line x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\" stroke=\"#bbb\"/>\n", kLeft,
          kWidth - 10, y(rank) + kBar / 2, y(rank) + kBar / 2);
  }
  for (const Call& call : calls) {
    print(&out, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"", x(call.start),
          y(call.rank), std::max(x(call.end) - x(call.start), 0.3), kBar, colour_of(call));
    print(&out, "><title>%s, %.3f us</title></rect>\n", call.name,
          static_cast<double>(call.end - call.start) / kNanosecondsPerMicrosecond);
  }
  for (const Call& call : calls) {
    if (wait_of(call) == 0) continue;
    print(&out, "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%d\" stroke=\"black\"/>\n",
          x(call.sent), y(call.waited) + kBar / 2, x(call.end), y(call.rank) + kBar / 2);
  }
  return out + "</svg>\n";
}

std::string waits(const std::vector<Call>& calls, std::size_t most) {
  struct Sum {
    std::int64_t nanoseconds = 0;
    int calls = 0;
  };
  std::map<std::pair<int, int>, Sum> sums;  // by who waited and for whom
  for (const Call& call : calls) {
    if (wait_of(call) == 0) continue;
    Sum& sum = sums[{call.rank, call.waited}];
    sum.nanoseconds += wait_of(call);
    ++sum.calls;
  }
  std::vector<std::pair<std::pair<int, int>, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.nanoseconds > b.second.nanoseconds;
  });
  std::string out;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
    const auto& [pair, sum] = sorted[i];
    print(&out, "rank %d waited %.6f s for rank %d in %d calls\n", pair.first,
          static_cast<double>(sum.nanoseconds) / kNanosecondsPerSecond, pair.second, sum.calls);
  }
  return out;
}

}  // namespace mad::piggyback
