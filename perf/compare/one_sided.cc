// One MPI in a comparison of one-sided communication: rank 0 is the origin, rank 1 the target.
//
// Where other programs have a data path, commands name the window: `allocate` is MPI_Win_allocate,
// `create` MPI_Win_create of memory that the program has.  An iteration is as many operations as
// the command's window says, and a flush in an epoch of lock_all, while the target waits in
// MPI_Barrier; where the cell ends by a fence, from one fence of both ranks to the next.
//
// Plain MPI.  Built by any mpicxx, from the checkout's root:
//   mpicxx -std=c++17 -O2 -I. perf/compare/{one_sided,one_sided_cell,channel}.cc
//   perf/micro/{mpi_type,cell,
//     expansion,hand_loops,layouts,regular_layouts,array_layouts,irregular_layouts}.cc
// and driven by tools/mad compare --one-sided.
#include <mpi.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "perf/compare/channel.h"
#include "perf/compare/mpi_contender.h"
#include "perf/compare/one_sided_cell.h"
#include "perf/micro/cell.h"
#include "perf/micro/mpi_type.h"

namespace compare {
namespace {

constexpr int kWarmups = 3;
constexpr int kOrigin = 0, kTarget = 1;

std::size_t bytes_of(const Side& side) {
  return static_cast<std::size_t>(side.doubles()) * sizeof(double);
}

/// A window that rank 1 has memory in.
class Window {
 public:
  Window(const std::string& how, std::size_t bytes) {
    const auto size = static_cast<MPI_Aint>(bytes);
    if (how == "allocate") {
      MPI_Win_allocate(size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory_, &win_);
    } else if (how == "create") {
      if (bytes > 0) own_ = std::make_unique<micro::Memory>(size);
      memory_ = own_ ? own_->data() : nullptr;
      MPI_Win_create(memory_, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
    } else {
      throw std::runtime_error("no window " + how);
    }
  }
  ~Window() { MPI_Win_free(&win_); }
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;

  MPI_Win win() const { return win_; }
  void* memory() const { return memory_; }

 private:
  std::unique_ptr<micro::Memory> own_;
  void* memory_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

/// A cell with its memory, types and window.
class Exposed {
 public:
  Exposed(const Command& command, int rank)
      : cell_(command.layout, command.bytes, command.window),
        origin_(static_cast<std::int64_t>(bytes_of(cell_.origin()))),
        origin_type_(types_.committed(cell_.origin().layout.build(types_))),
        target_type_(types_.committed(cell_.target().layout.build(types_))),
        results_(static_cast<std::size_t>(command.window)),
        values_(results_.size() + 1),
        window_(command.path, rank == kTarget ? bytes_of(cell_.target()) : 0) {}

  const OneSidedCell& cell() const { return cell_; }
  MPI_Win win() const { return window_.win(); }

  /// New numbers on either side, counters at 0.
  void prepare(std::uint64_t stamp, int rank) {
    if (rank == kOrigin) put_down(origin_.data(), of_origin(stamp));
    if (rank == kTarget) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, kTarget, 0, win());
      put_down(window_.memory(), cell_.counts() ? std::vector<double>{0} : of_target(stamp));
      MPI_Win_unlock(kTarget, win());
    }
    set_count(0);
    wrong_ = false;
  }

  /// Starts operation `number` of those in flight.
  void start(int number) {
    const int slot = number % cell_.slots();
    void* const mine = origin_.data() + slot * cell_.origin().step;
    const MPI_Aint there = slot * cell_.target().step;
    const auto count = static_cast<int>(cell_.origin().layout.count);
    const auto their_count = static_cast<int>(cell_.target().layout.count);
    const auto place = static_cast<std::size_t>(number);
    std::int64_t* const result = &results_[place];
    switch (cell_.operation()) {
      case Operation::kPut:
        MPI_Put(mine, count, origin_type_, kTarget, there, their_count, target_type_, win());
        break;
      case Operation::kGet:
        MPI_Get(mine, count, origin_type_, kTarget, there, their_count, target_type_, win());
        break;
      case Operation::kAccumulate:
        MPI_Accumulate(mine, count, origin_type_, kTarget, there, their_count, target_type_,
                       MPI_SUM, win());
        break;
      case Operation::kFetchAndOp:
        MPI_Fetch_and_op(&kOne, result, MPI_INT64_T, kTarget, 0, MPI_SUM, win());
        break;
      case Operation::kCompareAndSwap:
        MPI_Compare_and_swap(&values_[place + 1], &values_[place], result, MPI_INT64_T, kTarget, 0,
                             win());
        break;
    }
  }

  /// Those in flight are complete.  Counters were fetched in order: one origin's operations on one
  /// place are (MPI-4.0, 12.7.2).
  void finish(int in_flight) {
    if (!cell_.counts()) return;
    for (int i = 0; i < in_flight; ++i) {
      wrong_ |= results_[static_cast<std::size_t>(i)] != count_ + i;
    }
    set_count(count_ + in_flight);
  }

  /// Empty, or what is wrong on this rank.
  std::string verify(std::uint64_t stamp, int rank, int windows, int in_flight) {
    std::string wrong;
    if (rank == kOrigin && cell_.counts()) return wrong_ ? "a wrong value was fetched" : "";
    if (rank == kOrigin && cell_.operation() == Operation::kGet) {
      const auto should = cell_.result(of_origin(stamp), of_target(stamp), windows);
      return difference(origin_.data(), should, "what rank 0 got");
    }
    if (rank != kTarget || cell_.operation() == Operation::kGet) return "";
    MPI_Win_lock(MPI_LOCK_SHARED, kTarget, 0, win());
    if (cell_.counts()) {
      std::int64_t counter = 0;
      std::memcpy(&counter, window_.memory(), sizeof(counter));
      if (counter != std::int64_t{windows} * in_flight) wrong = "the counter is wrong";
    } else {
      const auto should = cell_.result(of_target(stamp), of_origin(stamp), windows);
      wrong = difference(window_.memory(), should, "rank 1's window");
    }
    MPI_Win_unlock(kTarget, win());
    return wrong;
  }

 private:
  static constexpr std::int64_t kOne = 1;

  /// Operation n in flight finds count + n, and swaps it for the next.
  void set_count(std::int64_t count) {
    count_ = count;
    std::iota(values_.begin(), values_.end(), count);
  }
  std::vector<double> of_origin(std::uint64_t stamp) const {
    return numbers(cell_.origin().doubles(), 2 * stamp);
  }
  std::vector<double> of_target(std::uint64_t stamp) const {
    return numbers(cell_.target().doubles(), 2 * stamp + 1);
  }
  static void put_down(void* memory, const std::vector<double>& values) {
    std::memcpy(memory, values.data(), values.size() * sizeof(double));
  }
  static std::string difference(const void* memory, const std::vector<double>& should,
                                const std::string& what) {
    const std::size_t bytes = should.size() * sizeof(double);
    if (std::memcmp(memory, should.data(), bytes) == 0) return {};
    const auto* const is = static_cast<const unsigned char*>(memory);
    const auto* const wanted = reinterpret_cast<const unsigned char*>(should.data());
    std::size_t at = 0;
    while (is[at] == wanted[at]) ++at;
    return "byte " + std::to_string(at) + " of " + what + " is wrong";
  }

  OneSidedCell cell_;
  micro::Memory origin_;
  micro::MpiTypes types_;
  MPI_Datatype origin_type_, target_type_;
  std::vector<std::int64_t> results_;  // of the operations in flight
  std::vector<std::int64_t> values_;   // that these compare with, and one more
  std::int64_t count_ = 0;
  bool wrong_ = false;
  Window window_;
};

class Player {
 public:
  explicit Player(int rank) : rank_(rank) {}

  /// Runs one command; throws std::runtime_error with what was wrong, on both ranks.
  Timing run(const Command& command) {
    Exposed& exposed = opened(command);
    std::vector<double> times(static_cast<std::size_t>(command.iterations));
    exposed.prepare(command.stamp, rank_);
    MPI_Barrier(MPI_COMM_WORLD);
    if (exposed.cell().fence()) {
      play_fences(exposed, command, &times);
    } else if (rank_ == kOrigin) {
      play(exposed, command, &times);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    agree(exposed.verify(command.stamp, rank_, kWarmups + command.iterations, command.window));
    return summary(command, times.data());
  }

 private:
  /// The cell of the last command, if it is the same: rounds of one cell follow each other.
  Exposed& opened(const Command& command) {
    const std::string name = command.path + " " + command.layout + " " +
                             std::to_string(command.bytes) + " " + std::to_string(command.window);
    if (name != name_ || !exposed_) {
      exposed_.reset();
      exposed_ = std::make_unique<Exposed>(command, rank_);
      name_ = name;
    }
    return *exposed_;
  }

  static void play(Exposed& exposed, const Command& command, std::vector<double>* times) {
    MPI_Win_lock_all(0, exposed.win());
    for (int i = -kWarmups; i < command.iterations; ++i) {
      const double start = MPI_Wtime();
      for (int n = 0; n < command.window; ++n) exposed.start(n);
      MPI_Win_flush(kTarget, exposed.win());
      if (i >= 0) (*times)[static_cast<std::size_t>(i)] = (MPI_Wtime() - start) * 1e6;
      exposed.finish(command.window);
    }
    MPI_Win_unlock_all(exposed.win());
  }

  void play_fences(Exposed& exposed, const Command& command, std::vector<double>* times) const {
    MPI_Win_fence(MPI_MODE_NOPRECEDE, exposed.win());
    for (int i = -kWarmups; i < command.iterations; ++i) {
      const double start = MPI_Wtime();
      for (int n = 0; n < command.window && rank_ == kOrigin; ++n) exposed.start(n);
      MPI_Win_fence(0, exposed.win());
      if (i >= 0) (*times)[static_cast<std::size_t>(i)] = (MPI_Wtime() - start) * 1e6;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, exposed.win());
  }

  const int rank_;
  std::string name_;
  std::unique_ptr<Exposed> exposed_;
};

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::contend<compare::Player>(argc, argv); }
