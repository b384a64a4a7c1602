// Channel: how a contender is told what to measure.
//
// The contenders of a comparison all run at the same time and take turns.  Whose turn it is reads a
// command from a pipe, all others sleep in read(2) there, on every rank: nobody spins in MPI.
#ifndef PERF_COMPARE_CHANNEL_H_
#define PERF_COMPARE_CHANNEL_H_

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace compare {

/// One cell, once.
struct Command {
  std::string layout;       // by its name in perf/micro
  std::int64_t bytes = 0;   // payload
  std::string path;         // of the mad netmod; "-": whatever the MPI does
  int iterations = 0;       // timed round trips, or windows
  int window = 0;           // messages in flight one way; 0: a ping-pong
  bool both_ways = false;   // each rank sends a window to the other
  std::uint64_t stamp = 0;  // makes the bytes of each command different
};

/// Microseconds: half a round trip, or a message's share of its window or of both.
struct Timing {
  double best = 0;
  double median = 0;
  std::string note;  // what else there is to say, in words
};

/// Not a fault: this MPI, or this program, has no such thing.
class Lacking : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The median and the least of the times (which are sorted) of a command's iterations, as Timing.
Timing summary(const Command& command, double* microseconds);

/// The ends of one rank: commands from the named pipe PREFIX.RANK, answers of rank 0 to PREFIX.out.
class Channel {
 public:
  Channel(const std::string& prefix, int rank);  // throws std::runtime_error
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Waits for the next one; false: there is none.  Throws std::runtime_error if it is no command.
  bool next(Command* command);
  /// Only on rank 0, the others say nothing.
  void answer(const Timing& timing);
  void complain(const std::string& why);
  void decline(const std::string& why);

 private:
  std::FILE* commands_;
  std::FILE* answers_;
};

/// Keeps this thread on one processor: its rank's, counted over those it may use.
void stay_on_processor(int rank);

}  // namespace compare

#endif  // PERF_COMPARE_CHANNEL_H_
