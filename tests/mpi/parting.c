/* parting.c: what a parent sent before it left arrives, however late its child looks for it, and
 * although the child has something to say to it first. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum {
  kLate_s = 3, /* longer than an end may take when nobody listens */
  kAnswer = 1000,
  kMessages = 30,
  kBytes = 8000 /* all together less than may be sent to who receives nothing */
};

static int child(MPI_Comm parent, int rank) {
  static char data[kBytes], expected[kBytes];
  MPI_Request answer;
  int mine, all;
  MPI_Send(NULL, 0, MPI_CHAR, rank, kAnswer, parent); /* so that the two are connected */
  sleep(kLate_s);
  MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
  (void)MPI_Isend(data, 1, MPI_CHAR, rank, kAnswer, parent, &answer); /* it may be gone */
  for (int tag = 0; tag < kMessages && check_failures() == 0; tag++) {
    CHECK_MPI(MPI_Recv(data, kBytes, MPI_CHAR, rank, tag, parent, MPI_STATUS_IGNORE));
    memset(expected, tag, kBytes);
    CHECK(memcmp(data, expected, kBytes) == 0, "message %d", tag);
  }
  (void)MPI_Wait(&answer, MPI_STATUS_IGNORE);
  mine = check_failures();
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all == 0) printf("ok parting\n");
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return all != 0;
}

int main(int argc, char** argv) {
  static char data[kBytes];
  MPI_Comm parent, children;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent, rank);
  MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 MPI_ERRCODES_IGNORE);
  MPI_Recv(NULL, 0, MPI_CHAR, rank, kAnswer, children, MPI_STATUS_IGNORE);
  for (int tag = 0; tag < kMessages; tag++) {
    memset(data, tag, kBytes);
    MPI_Send(data, kBytes, MPI_CHAR, rank, tag, children);
  }
  MPI_Comm_disconnect(&children);
  MPI_Finalize();
  return 0;
}
