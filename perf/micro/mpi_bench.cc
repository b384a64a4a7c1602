// MPI_Pack and MPI_Unpack of the layouts, with whatever MPI this is compiled with.
//
// Plain MPI, one process, nothing sent.  Built by any mpicxx, from the checkout's root:
//   mpicxx -std=c++17 -O2 -I. perf/micro/{mpi_bench,mpi_type,cell,expansion,hand_loops}.cc
//     perf/micro/{layouts,regular_layouts,array_layouts,irregular_layouts}.cc -lbenchmark -lpthread
#include <mpi.h>

#include "perf/micro/cell.h"
#include "perf/micro/harness.h"
#include "perf/micro/mpi_type.h"

namespace micro {
namespace {

/// A cell with its committed datatype.
class MpiCell {
 public:
  MpiCell(const LayoutKind& kind, std::int64_t payload)
      : cell_(kind, payload), type_(types_.committed(cell_.layout().build(types_))) {}

  void verify() const {
    cell_.verify_pack("MPI", [this] { pack(); });
    cell_.verify_unpack("MPI", [this] { unpack(); });
  }

  std::int64_t bytes() const { return cell_.bytes(); }

  void pack() const {
    int position = 0;
    MPI_Pack(cell_.user(), count(), type_, cell_.packed(), size(), &position, MPI_COMM_SELF);
  }
  void unpack() const {
    int position = 0;
    MPI_Unpack(cell_.packed(), size(), &position, cell_.user(), count(), type_, MPI_COMM_SELF);
  }

 private:
  int count() const { return static_cast<int>(cell_.layout().count); }
  int size() const { return static_cast<int>(bytes()); }

  Cell cell_;
  MpiTypes types_;
  MPI_Datatype type_;
};

using State = benchmark::State;

int run(int argc, char** argv) {
  if (!start(argc, argv)) return 2;
  Harness<MpiCell> harness;
  for (const LayoutKind& kind : layout_kinds()) {
    for (const std::int64_t payload : kPayloads) {
      harness.add(kind, payload, "mpi/pack", [](State& state, const MpiCell& cell) {
        time_work(state, cell.bytes(), [&cell] { cell.pack(); });
      });
      harness.add(kind, payload, "mpi/unpack", [](State& state, const MpiCell& cell) {
        time_work(state, cell.bytes(), [&cell] { cell.unpack(); });
      });
    }
  }
  return harness.run();
}

}  // namespace
}  // namespace micro

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = micro::run(argc, argv);
  MPI_Finalize();
  return code;
}
