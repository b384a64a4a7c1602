// RealJob: what a job that ran gave its launcher, as one more process of it would read it.
#ifndef PERF_MODEX_REAL_JOB_H_
#define PERF_MODEX_REAL_JOB_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "madlike/base/status.h"
#include "perf/modex/simulation.h"

namespace mad {

struct RealJob {
  std::vector<NodeCosts> nodes;
  std::string host;                        // of the first node
  std::vector<std::uint32_t> process_ids;  // of the ranks; 0 where a card has no shm address
};

/// `values` are the launcher's, by key; `per_node` ranks are on each node, in order.
/// kInvalidArgument: the job is none, or one node's; kInternal: a value is missing; kProtocol,
/// kVersion: one is not what our processes give.
Result<RealJob> read_real_job(int ranks, int per_node,
                              const std::map<std::string, std::string>& values);

}  // namespace mad

#endif  // PERF_MODEX_REAL_JOB_H_
