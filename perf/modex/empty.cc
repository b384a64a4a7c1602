// An MPI program that does nothing: what `tools/mad modex` starts to see what starting takes.  With
// an argument each rank prints the memory that it has after MPI_Init: its proportional share, and
// all that is resident, in KiB.
//
// Plain MPI, built by any mpicxx.
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace {

long memory_of(const std::string& what) {
  std::ifstream file("/proc/self/smaps_rollup");
  for (std::string word; file >> word;) {
    long size = 0;
    if (word == what && file >> size) return size;
  }
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) std::printf("memory %ld %ld\n", memory_of("Pss:"), memory_of("Rss:"));
  MPI_Finalize();
  return 0;
}
