/* silence.c: a host that falls silent, as one does whose cable is pulled.
 *
 * Run on two hosts, half of the ranks on each, which rank 0 parts by the command of the first
 * argument. Ranks 0 and size/2 exchange data, unless a second argument is "idle"; the others wait
 * for data of their partners on the other host; and all learn that these are lost.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { kTag = 1, kPatience_s = 30, kInts = 8 << 20 };

static int rank, partner;

static void expect_loss(MPI_Request* request, const char* what) {
  const double start = MPI_Wtime();
  MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
  int done = 0, error = MPI_SUCCESS;
  while (!done && error == MPI_SUCCESS && MPI_Wtime() - start < kPatience_s)
    error = MPI_Test(request, &done, &status);
  CHECK(error != MPI_SUCCESS, "%s: no error after %d s", what, kPatience_s);
  if (error != MPI_SUCCESS) CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
}

static void part(const char* parts) { CHECK(system(parts) == 0, "'%s' failed", parts); }

/* Large messages to and fro: some of one is underway when the hosts are parted. */
static void talk(const char* parts) {
  int *out = calloc(kInts, sizeof(int)), *in = calloc(kInts, sizeof(int));
  MPI_Request requests[2];
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
  out[0] = 1;
  MPI_Irecv(in, kInts, MPI_INT, partner, kTag, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, kInts, MPI_INT, partner, kTag, MPI_COMM_WORLD, &requests[1]);
  if (rank == 0) {
    for (int done = 0; ((volatile int*)in)[0] == 0 && !done;)
      MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    part(parts);
  }
  expect_loss(&requests[0], "a receive that was underway");
  expect_loss(&requests[1], "a send that was underway");
}

static void listen_in_vain(void) {
  MPI_Request request;
  int value;
  MPI_Irecv(&value, 1, MPI_INT, partner, kTag, MPI_COMM_WORLD, &request);
  expect_loss(&request, "a receive with nothing underway");
}

int main(int argc, char** argv) {
  const char* const parts = argc > 1 ? argv[1] : "";
  const bool idle = argc > 2 && strcmp(argv[2], "idle") == 0;
  int size, met = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  partner = (rank + size / 2) % size;
  MPI_Sendrecv(&rank, 1, MPI_INT, partner, kTag, &met, 1, MPI_INT, partner, kTag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(met == partner, "met rank %d", met);
  MPI_Barrier(MPI_COMM_WORLD);
  if (idle && rank == 0) part(parts);
  if (!idle && rank % (size / 2) == 0)
    talk(parts);
  else
    listen_in_vain();
  check_exit_alone(true);
}
