// One MPI in a comparison: two ranks that exchange the layouts of perf/micro, as they are told.
//
// Plain MPI.  Built by any mpicxx, from the checkout's root:
//   mpicxx -std=c++17 -O2 -I. perf/compare/{contender,channel,exchange}.cc
//   perf/micro/{mpi_type,cell,
//     expansion,hand_loops,layouts,regular_layouts,array_layouts,irregular_layouts}.cc
// and driven by tools/mad compare.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "perf/compare/channel.h"
#include "perf/compare/exchange.h"
#include "perf/compare/mpi_contender.h"
#include "perf/micro/mpi_type.h"

#if __has_include(<mpix_mad.h>)
#include <mpix_mad.h>
#define HAVE_MAD 1
#endif

namespace compare {
namespace {

constexpr int kTag = 306;
constexpr int kWarmups = 3;
constexpr std::int64_t kKeptBytes = 4 << 20;  // larger cells are built for each command anew

/// A cell's buffers and its committed datatype.
class MpiExchange {
 public:
  MpiExchange(const micro::LayoutKind& kind, std::int64_t bytes)
      : exchange_(kind, bytes), type_(types_.committed(exchange_.layout().build(types_))) {}

  const Exchange& buffers() const { return exchange_; }
  int count() const { return static_cast<int>(exchange_.layout().count); }
  MPI_Datatype type() const { return type_; }

 private:
  Exchange exchange_;
  micro::MpiTypes types_;
  MPI_Datatype type_;
};

class Contender {
 public:
  explicit Contender(int rank) : rank_(rank) {}
  ~Contender() {
    for (auto& path : comms_) MPI_Comm_free(&path.second);
  }
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;

  /// Runs one command; throws std::runtime_error with what was wrong, on both ranks.
  Timing run(const Command& command) {
    const MpiExchange& cell = find(command.layout, command.bytes);
    const MPI_Comm comm = comm_of(command.path);
    cell.buffers().prepare(command.stamp, rank_);
    std::vector<double> times(static_cast<std::size_t>(command.iterations));
    MPI_Barrier(comm);
    for (int i = -kWarmups; i < command.iterations; ++i) {
      const double start = MPI_Wtime();
      exchange(cell, comm, command);
      if (i >= 0) times[static_cast<std::size_t>(i)] = (MPI_Wtime() - start) * 1e6;
    }
    verify(cell, command, command.stamp);
    // All of these were alike, so that one which left the memory as it was would not show.
    const std::uint64_t other_stamp = ~command.stamp;
    cell.buffers().prepare(other_stamp, rank_);
    MPI_Barrier(comm);
    exchange(cell, comm, command);
    verify(cell, command, other_stamp);
    return summary(command, times.data());
  }

 private:
  void exchange(const MpiExchange& cell, MPI_Comm comm, const Command& command) {
    if (command.window == 0) {
      ping_pong(cell, comm);
    } else {
      window(cell, comm, command);
    }
  }

  void verify(const MpiExchange& cell, const Command& command, std::uint64_t stamp) const {
    const bool received = rank_ == 1 || command.window == 0 || command.both_ways;
    agree(received ? cell.buffers().verify(stamp, rank_) : std::string());
  }

  void ping_pong(const MpiExchange& cell, MPI_Comm comm) const {
    const Exchange& b = cell.buffers();
    if (rank_ == 0) MPI_Send(b.out(), cell.count(), cell.type(), 1, kTag, comm);
    MPI_Recv(b.in(), cell.count(), cell.type(), 1 - rank_, kTag, comm, MPI_STATUS_IGNORE);
    if (rank_ == 1) MPI_Send(b.out(), cell.count(), cell.type(), 0, kTag, comm);
  }

  // From rank 0 to rank 1, or both ways, all into one buffer: the same bytes.
  void window(const MpiExchange& cell, MPI_Comm comm, const Command& command) {
    const Exchange& b = cell.buffers();
    const int other = 1 - rank_;
    requests_.clear();
    for (int i = 0; i < command.window && (rank_ == 1 || command.both_ways); ++i) {
      MPI_Irecv(b.in(), cell.count(), cell.type(), other, kTag, comm, &requests_.emplace_back());
    }
    for (int i = 0; i < command.window && (rank_ == 0 || command.both_ways); ++i) {
      MPI_Isend(b.out(), cell.count(), cell.type(), other, kTag, comm, &requests_.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    int word = 0;
    if (rank_ == 1) MPI_Send(&word, 1, MPI_INT, 0, kTag + 1, comm);
    if (rank_ == 0) MPI_Recv(&word, 1, MPI_INT, 1, kTag + 1, comm, MPI_STATUS_IGNORE);
  }

  const MpiExchange& find(const std::string& layout, std::int64_t bytes) {
    if (bytes > kKeptBytes) cells_.clear();
    auto& cell = cells_[{layout, bytes}];
    if (cell) return *cell;
    const auto& kinds = micro::layout_kinds();
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& one) { return layout == one.name; });
    if (kind == kinds.end()) throw std::runtime_error("no layout " + layout);
    cell = std::make_unique<MpiExchange>(*kind, bytes);
    return *cell;
  }

  MPI_Comm comm_of(const std::string& path) {
    const auto found = comms_.find(path);
    if (found != comms_.end()) return found->second;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    comms_[path] = comm;
    if (path == "-") return comm;
#ifdef HAVE_MAD
    MPIX_Mad_comm_set_path(comm, path.c_str());  // errors are fatal and say why
    return comm;
#else
    throw std::runtime_error("this MPI has no path " + path);
#endif
  }

  const int rank_;
  std::map<std::pair<std::string, std::int64_t>, std::unique_ptr<MpiExchange>> cells_;
  std::map<std::string, MPI_Comm> comms_;
  std::vector<MPI_Request> requests_;
};

}  // namespace
}  // namespace compare

int main(int argc, char** argv) { return compare::contend<compare::Contender>(argc, argv); }
