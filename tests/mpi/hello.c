/* hello.c: the smallest program. The runner starts it with settings that MPI_Init must refuse. */
#include <mpi.h>

#include "support/check.h"

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size * (size - 1) / 2, "the sum of all ranks is %d", sum);
  return check_finish();
}
