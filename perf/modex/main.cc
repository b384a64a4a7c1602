// What `tools/mad modex` runs: the bytes and messages of a job's start, as JSON.
//
//   modex RANKS PER_NODE         of a made-up job, one line
//   modex RANKS PER_NODE VALUES  of the job that put them, and of a made-up one of the same host
//                                name and process ids, a line each; VALUES is a file of lines
//                                KEY VALUE
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "perf/modex/real_job.h"
#include "perf/modex/simulation.h"

namespace {

int failed(const mad::Status& status) {
  std::fprintf(stderr, "modex: %s\n", std::string(status.message()).c_str());
  return 1;
}

/// Sums of the nodes, without the braces.
void print_nodes(const std::vector<mad::NodeCosts>& nodes) {
  mad::NodeCosts all;
  std::size_t most_puts = 0;
  for (const mad::NodeCosts& each : nodes) {
    all.bytes += each.bytes;
    all.process_bytes += each.process_bytes;
    all.puts += each.puts;
    all.characters += each.characters;
    most_puts = std::max(most_puts, each.puts);
  }
  std::printf(
      "\"nodes\": %zu, \"bytes\": %zu, \"process_bytes\": %zu, \"node_puts\": %zu, "
      "\"most_node_puts\": %zu, \"node_characters\": %zu",
      nodes.size(), all.bytes, all.process_bytes, all.puts, most_puts, all.characters);
}

void print(const mad::SimulatedCosts& costs) {
  std::printf("{");
  print_nodes(costs.nodes);
  std::printf(
      ", \"agreement_puts\": %zu, \"agreement_characters\": %zu, \"agreement_gets\": %zu, "
      "\"most_agreement_gets\": %zu, \"fences\": %zu, \"contact_gets\": %zu}\n",
      costs.agreement_puts, costs.agreement_characters, costs.agreement_gets,
      costs.most_agreement_gets, costs.fences, costs.contact_gets);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: modex RANKS PER_NODE [VALUES]\n");
    return 2;
  }
  mad::SimulatedJob job;
  job.ranks = std::atoi(argv[1]);
  job.per_node = std::atoi(argv[2]);
  std::vector<mad::NodeCosts> real;
  if (argc == 4) {
    std::map<std::string, std::string> values;
    std::ifstream file(argv[3]);
    for (std::string key, value; file >> key >> value;) values[key] = value;
    auto told = mad::read_real_job(job.ranks, job.per_node, values);
    if (!told.ok()) return failed(told.status());
    real = told->nodes;
    job.host = told->host;
    job.process_ids = told->process_ids;
  }
  const auto costs = mad::simulate(job);
  if (!costs.ok()) return failed(costs.status());
  if (argc == 4) {
    std::size_t alike = 0;
    for (std::size_t i = 0; i < real.size(); ++i) alike += real[i] == costs->nodes[i] ? 1U : 0U;
    std::printf("{");
    print_nodes(real);
    std::printf(", \"nodes_as_predicted\": %zu}\n", alike);
  }
  print(*costs);
  return 0;
}
