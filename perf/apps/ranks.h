// Ranks: a program's ranks in one process, for tests.
#ifndef PERF_APPS_RANKS_H_
#define PERF_APPS_RANKS_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "perf/apps/application.h"
#include "perf/apps/programs.h"

namespace apps {

struct Ranks {
  void add(std::unique_ptr<Application> application) {
    memories.emplace_back(static_cast<std::size_t>(application->bytes()));
    application->start(memories.back().data());
    owned.push_back(std::move(application));
  }
  void step() {
    std::vector<Application*> ranks;
    std::vector<std::byte*> places;
    for (std::size_t i = 0; i < owned.size(); ++i) {
      ranks.push_back(owned[i].get());
      places.push_back(memories[i].data());
    }
    exchange_here(ranks, places);
    for (Application* rank : ranks) rank->compute();
  }
  std::vector<std::unique_ptr<Application>> owned;
  std::vector<std::vector<std::byte>> memories;
};

}  // namespace apps

#endif  // PERF_APPS_RANKS_H_
