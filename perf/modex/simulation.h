// Simulation: the start-up data of a job of any size, packed by the code that packs real cards.
//
// A card of a real engine stands for all of them: its bytes that are the process's own are made up
// anew for each process, those of its host for each node.  Processes of one node run as one, since
// what they give the launcher is given by one of them.
#ifndef PERF_MODEX_SIMULATION_H_
#define PERF_MODEX_SIMULATION_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "madlike/base/status.h"

namespace mad {

/// Nodes have per_node ranks each, in order; the last one has what is left.
struct SimulatedJob {
  int ranks = 1;
  int per_node = 1;
  std::string host = {};                        // of all nodes; empty: names of 8 characters
  std::vector<std::uint32_t> process_ids = {};  // of the ranks; empty: ascending ones
};

/// What one node tells.
struct NodeCosts {
  std::size_t bytes = 0;          // that travel
  std::size_t process_bytes = 0;  // of them those of its processes
  std::size_t puts = 0;           // of the launcher's values
  std::size_t characters = 0;     // of them with their keys
};
inline bool operator==(const NodeCosts& one, const NodeCosts& other) {
  return one.bytes == other.bytes && one.process_bytes == other.process_bytes &&
         one.puts == other.puts && one.characters == other.characters;
}

struct SimulatedCosts {
  std::vector<NodeCosts> nodes;
  // The agreement before anybody talks.
  std::size_t agreement_puts = 0, agreement_characters = 0;  // of all
  std::size_t agreement_gets = 0;                            // of all
  std::size_t most_agreement_gets = 0;                       // of the process that gets most
  std::size_t fences = 0;
  std::size_t contact_gets = 0;  // of a process's first message to the first node
};

/// Opens an engine of two for its card; the error of that, or of the job.
Result<SimulatedCosts> simulate(const SimulatedJob& job);

}  // namespace mad

#endif  // PERF_MODEX_SIMULATION_H_
