// Timeline: calls of all processes as a Chrome trace file, and as a picture.
//
// The file is of the Trace Event Format that chrome://tracing and Perfetto read: a row for each
// rank, and arrows from a message's send to the call that it ended.  The picture is an SVG of the
// same rows, in which what waited for another rank's message is drawn with a line from there.
#ifndef NETMOD_PIGGYBACK_TIMELINE_H_
#define NETMOD_PIGGYBACK_TIMELINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace mad::piggyback {

/// A call of MPI.  Plain data: it travels as bytes.
struct Call {
  char name[24] = {};      // e.g. "MPI_Recv"
  std::int64_t start = 0;  // nanoseconds
  std::int64_t end = 0;
  std::int32_t rank = 0;     // of the world
  std::int32_t waited = -1;  // rank whose message was the last to come in it, or below 0: none came
  std::int64_t sent = 0;     // when that was sent
};

/// Both have times relative to the first call's start.
std::string chrome_trace(const std::vector<Call>& calls);
std::string picture(const std::vector<Call>& calls);

/// How long each rank waited for each other, in lines like "rank 1 waited 0.25 s for rank 0 in 3
/// calls", the longest first and at most `most` of them: of a call that a message ended, the time
/// from its start to when the message was sent, if that is later.
std::string waits(const std::vector<Call>& calls, std::size_t most);

}  // namespace mad::piggyback

#endif  // NETMOD_PIGGYBACK_TIMELINE_H_
