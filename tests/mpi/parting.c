/* parting.c: what a parent sent before it left arrives, however late its child looks for it. */
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"

enum { kMessages = 3, kLate_s = 4 /* longer than an end may take when nobody listens */ };

static int child(MPI_Comm parent, int rank) {
  int mine, all;
  sleep(kLate_s);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  for (int tag = 0; tag < kMessages && check_failures() == 0; tag++)
    CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, rank, tag, parent, MPI_STATUS_IGNORE));
  mine = check_failures();
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("ok parting\n");
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return all != 0;
}

int main(int argc, char** argv) {
  MPI_Comm parent, children;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent, rank);
  MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  /* Without payload they are complete at once, before most ranks have a connection. */
  for (int tag = 0; tag < kMessages; tag++) MPI_Send(NULL, 0, MPI_INT, rank, tag, children);
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}
