// A job of one process's threads, with a launcher that keeps values in memory: for tests.
#ifndef NETMOD_MODEX_MADE_UP_LAUNCHER_H_
#define NETMOD_MODEX_MADE_UP_LAUNCHER_H_

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "netmod/modex/launcher.h"

namespace mad {

/// Waits for so many threads, again and again.
class Meeting {
 public:
  explicit Meeting(std::size_t threads) : threads_(threads) {}
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable all_are_here_;
  std::size_t threads_, here_ = 0, round_ = 0;
};

struct MadeUpJob {
  /// Of each rank its node; nodes are numbered from 0 on.
  explicit MadeUpJob(std::vector<int> nodes_of_ranks, std::size_t value_length = 1000);

  std::vector<int> nodes;
  std::size_t length;  // of values, at most
  std::mutex mutex;    // of the values
  std::map<std::string, std::string> values;
  std::string broken_key;  // get() fails for it
  Meeting everybody;
  std::vector<Meeting*> meetings;                            // of each node
  std::vector<std::map<int, std::vector<std::byte>>> given;  // to gather(), of each node by rank

  /// Runs `process` for each rank in a thread of its own.
  void run(const std::function<void(int rank, Launcher& launcher)>& process);

 private:
  std::map<int, Meeting> of_nodes_;
};

}  // namespace mad

#endif  // NETMOD_MODEX_MADE_UP_LAUNCHER_H_
