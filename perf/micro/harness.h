// What the benchmark programs share: names, the cells in use, and the timed loop.
//
// A benchmark is called LAYOUT/PAYLOAD/WHO/OPERATION.  Its cell is made and verified when it is
// first run and lives until another layout's turn, so that the competitors of a layout can take
// turns on the same memory.
#ifndef PERF_MICRO_HARNESS_H_
#define PERF_MICRO_HARNESS_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "perf/micro/layouts.h"

namespace micro {

/// Whether cells are verified when they are made; MICRO_VERIFY=0 is for the later rounds of those
/// who saw all of them verified by the same binary.
inline bool verification() {
  const char* set = std::getenv("MICRO_VERIFY");
  return set == nullptr || std::strcmp(set, "0") != 0;
}

/// Runs the timed loop of one repetition and reports the payload beside it.
template <typename Work>
void time_work(benchmark::State& state, std::int64_t bytes, Work work) {
  for (auto _ : state) {
    work();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.counters["bytes"] = static_cast<double>(bytes);
}

/// The prepared cells of one layout.  `Prepared` is made from (kind, payload); its verify() throws
/// if somebody's bytes are wrong.
template <typename Prepared, typename Kind = LayoutKind>
class Cells {
 public:
  const Prepared& of(const Kind& kind, std::int64_t payload) {
    if (kind_ != &kind) cells_.clear();
    kind_ = &kind;
    std::unique_ptr<Prepared>& cell = cells_[payload];
    if (cell == nullptr) {
      auto made = std::make_unique<Prepared>(kind, payload);
      if (verification()) made->verify();
      cell = std::move(made);
    }
    return *cell;
  }

 private:
  const Kind* kind_ = nullptr;
  std::map<std::int64_t, std::unique_ptr<Prepared>> cells_;
};

/// Registers, and remembers whether one went wrong.
template <typename Prepared, typename Kind = LayoutKind>
class Harness {
 public:
  /// `work(state, prepared)` is one repetition.
  template <typename Work>
  void add(const Kind& kind, std::int64_t payload, const std::string& operation, Work work) {
    const std::string name =
        std::string(kind.name) + "/" + std::to_string(payload) + "/" + operation;
    const auto body = [this, &kind, payload, work](benchmark::State& state) {
      try {
        work(state, cells_.of(kind, payload));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        state.SkipWithError(error.what());
        failed_ = true;
      }
    };
    benchmark::RegisterBenchmark(name.c_str(), body);
  }

  /// Runs what the command line's --benchmark_filter names, of all harnesses; the process's exit
  /// code.
  int run() {
    const bool some = benchmark::RunSpecifiedBenchmarks() > 0;
    benchmark::Shutdown();
    return some && !failed_ ? 0 : 1;
  }

  /// Whether a byte of its cells was wrong.
  bool failed() const { return failed_; }

 private:
  Cells<Prepared, Kind> cells_;
  bool failed_ = false;
};

/// Google Benchmark's flags, before anything is registered; false: wrong use.
inline bool start(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  return !benchmark::ReportUnrecognizedArguments(argc, argv);
}

}  // namespace micro

#endif  // PERF_MICRO_HARNESS_H_
