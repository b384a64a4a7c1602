// One MPI in `tools/mad apps`: programs on 1 to 4 ranks that exchange what they are told, how they
// are told.
//
// A command's layout is the program, its bytes those of the longest message to one neighbour, and
// where other contenders have a data path it has a way (exchange.h).  Timed are exchanges one after
// the other, then whole steps; the note of the answer has the least and the median step in
// microseconds, and the checksum of the state after them, which all MPIs and ways have in common.
// What a way does the first time is compared with the same program on one rank, bit by bit.
//
// Plain MPI.  Built by any mpicxx, from the checkout's root:
//   mpicxx -std=c++17 -O2 -I.
//   perf/apps/{apps,exchange,programs,grids,fourier,particles,box,face}.cc perf/compare/channel.cc
//   perf/micro/{mpi_type,cell,expansion}.cc
// and driven by tools/mad apps.  Without pipes each program is run once in each way: a test.
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/apps/exchange.h"
#include "perf/apps/programs.h"
#include "perf/compare/channel.h"
#include "perf/compare/mpi_contender.h"
#include "perf/micro/cell.h"

namespace apps {
namespace {

constexpr int kWarmups = 3;
constexpr int kTested = 1024;                    // bytes
constexpr int kCompared = 3;                     // steps, with the program on one rank
constexpr int kExchangesOfStep = 10;             // a step is timed once in so many exchanges,
constexpr int kLeastSteps = 3, kMostSteps = 50;  // but so often

class Player {
 public:
  explicit Player(int rank) : rank_(rank) { MPI_Comm_size(MPI_COMM_WORLD, &size_); }

  /// Throws std::runtime_error with what was wrong, or compare::Lacking, on all ranks.
  compare::Timing run(const compare::Command& command) {
    Exchange& exchange = opened(command);
    Stage& stage = *stages_[needs_window(command.path)];
    stage.start();
    std::vector<double> times = timed(command.iterations, [&] { exchange.run(); });
    const int steps = std::clamp(command.iterations / kExchangesOfStep, kLeastSteps, kMostSteps);
    std::vector<double> of_steps = timed(steps, [&] {
      exchange.run();
      stage.application().compute();
    });
    compare::Command plain;  // of which a time is neither half nor a share
    plain.window = 1;
    plain.iterations = command.iterations;
    compare::Timing timing = compare::summary(plain, times.data());
    plain.iterations = steps;
    const compare::Timing step = compare::summary(plain, of_steps.data());
    std::uint64_t mine = stage.application().checksum(), sum = 0;
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    std::array<char, 80> note;
    std::snprintf(note.data(), note.size(), "%.3f %.3f %016" PRIx64, step.best, step.median, sum);
    timing.note = note.data();
    return timing;
  }

 private:
  template <typename Action>
  static std::vector<double> timed(int count, const Action& action) {
    std::vector<double> times(static_cast<std::size_t>(count));
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -kWarmups; i < count; ++i) {
      const double start = MPI_Wtime();
      action();
      if (i >= 0) times[static_cast<std::size_t>(i)] = (MPI_Wtime() - start) * 1e6;
    }
    return times;
  }

  /// By the command's way; those of one program and size are kept, as their commands follow each
  /// other.
  Exchange& opened(const compare::Command& command) {
    const std::string name = command.layout + " " + std::to_string(command.bytes);
    if (name != name_) {
      exchanges_.clear();
      for (auto& stage : stages_) stage.reset();
      whole_.reset();
      name_ = name;
    }
    auto& exchange = exchanges_[command.path];
    if (exchange) return *exchange;
    auto& stage = stages_[needs_window(command.path)];
    if (!stage) {
      stage = std::make_unique<Stage>(part_of(command.layout, command.bytes, size_, rank_),
                                      needs_window(command.path));
    }
    stage->start();
    auto made = exchange_by(command.path, *stage);
    for (int step = 0; step < kCompared; ++step) {
      made->run();
      stage->application().compute();
    }
    const bool right = stage->application().is_part_of(whole(command));
    compare::agree(right ? "" : "rank " + std::to_string(rank_) + " has wrong bits");
    exchange = std::move(made);
    return *exchange;
  }

  /// The program on one rank after as many steps.
  const Application& whole(const compare::Command& command) {
    if (whole_) return *whole_;
    auto whole = whole_of(command.layout, command.bytes, size_);
    whole_memory_ = std::make_unique<micro::Memory>(whole->bytes());
    whole->start(whole_memory_->data());
    for (int step = 0; step < kCompared; ++step) {
      exchange_here({whole.get()}, {whole_memory_->data()});
      whole->compute();
    }
    whole_ = std::move(whole);
    return *whole_;
  }

  const int rank_;
  int size_ = 0;
  std::string name_;
  std::unique_ptr<micro::Memory> whole_memory_;
  std::unique_ptr<Application> whole_;
  std::array<std::unique_ptr<Stage>, 2> stages_;  // the second in a window
  std::map<std::string, std::unique_ptr<Exchange>> exchanges_;
};

/// All programs in all ways, which must agree; what is wrong is printed.
bool all_right(int rank) {
  Player player(rank);
  compare::Command command;
  command.bytes = kTested;
  command.iterations = 1;
  for (const std::string& program : program_names()) {
    std::set<std::string> states;
    for (const std::string& way : ways()) {
      command.layout = program;
      command.path = way;
      try {
        const std::string note = player.run(command).note;
        states.insert(note.substr(note.rfind(' ')));
      } catch (const compare::Lacking&) {
        continue;
      } catch (const std::runtime_error& error) {
        if (rank == 0) std::printf("%s, %s: %s\n", program.c_str(), way.c_str(), error.what());
        return false;
      }
    }
    if (rank == 0 && states.size() != 1) {
      std::printf("%s ends with %zu different states\n", program.c_str(), states.size());
      return false;
    }
  }
  return true;
}

int test(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int right = all_right(rank);
  MPI_Bcast(&right, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (right && rank == 0) std::puts("ok apps");
  MPI_Finalize();
  return right ? 0 : 1;
}

}  // namespace
}  // namespace apps

int main(int argc, char** argv) {
  if (argc == 1) return apps::test(argc, argv);
  return compare::contend<apps::Player>(argc, argv, 1, 4);
}
