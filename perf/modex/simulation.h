// Simulation: the start-up data of a job of any size, packed by the code that packs real cards.
//
// A card of a real engine stands for all of them: its bytes that are the process's own are made up
// anew for each process, those of its host for each node.  Processes of one node run as one, since
// what they give the launcher is given by one of them.
#ifndef PERF_MODEX_SIMULATION_H_
#define PERF_MODEX_SIMULATION_H_

#include <cstddef>
#include <cstdint>

#include "madlike/base/status.h"

namespace mad {

struct SimulatedJob {
  int ranks = 1;
  int per_node = 1;
  std::size_t value_length = 672;  // characters that the launcher takes; hydra's of MPICH 4.0
};

/// Bytes are those that travel, characters those of the launcher's keys and values.
struct SimulatedCosts {
  std::size_t nodes = 0;
  double process_bytes = 0;    // of one process, the mean
  double node_bytes = 0;       // of one node without its processes', the mean
  double node_characters = 0;  // that one node puts, keys included, the mean
  double node_puts = 0;
  std::size_t fences = 0;
  std::size_t agreement_gets = 0;  // of the process that gets most before anybody talks
  std::size_t contact_gets = 0;    // of a process's first message to another node
};

/// Opens an engine of two for its card; the error of that, or of the job.
Result<SimulatedCosts> simulate(const SimulatedJob& job);

}  // namespace mad

#endif  // PERF_MODEX_SIMULATION_H_
