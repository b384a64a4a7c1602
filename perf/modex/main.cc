// What `tools/mad modex` runs: the bytes and messages of a job's start, one line of JSON.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "perf/modex/simulation.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: modex RANKS PER_NODE\n");
    return 2;
  }
  const auto costs = mad::simulate({std::atoi(argv[1]), std::atoi(argv[2])});
  if (!costs.ok()) {
    std::fprintf(stderr, "modex: %s\n", std::string(costs.status().message()).c_str());
    return 1;
  }
  std::printf(
      "{\"nodes\": %zu, \"process_bytes\": %.3f, \"node_bytes\": %.3f, \"node_characters\": %.3f, "
      "\"node_puts\": %.3f, \"fences\": %zu, \"agreement_gets\": %zu, \"contact_gets\": %zu}\n",
      costs->nodes, costs->process_bytes, costs->node_bytes, costs->node_characters,
      costs->node_puts, costs->fences, costs->agreement_gets, costs->contact_gets);
  return 0;
}
