// An MPI program that does nothing: what `tools/mad modex` starts to see what starting takes.
// Plain MPI, built by any mpicxx.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
