/* races.c: a program for libmad_piggyback.so with MAD_PIGGYBACK=races, which knows nothing of it.
 *
 * `races ordered`: each receive of any source has one message to take only, by messages or by a
 * barrier between them.  `races free`: rank 0 takes those of all others in any order, so that all
 * receives but the last could have taken another one.
 */
#include <string.h>

#include "support/check.h"

enum { kTag = 7, kRounds = 5 };

static int rank, size;

static void receive_any(int tag) {
  int value = -1;
  MPI_Status status;
  MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
  CHECK(value == status.MPI_SOURCE, "%d from %d", value, status.MPI_SOURCE);
}

static void send(int to, int tag) { MPI_Send(&rank, 1, MPI_INT, to, tag, MPI_COMM_WORLD); }

/* Each sender has heard that the message before was taken. */
static void by_messages(void) {
  int token = 0;
  for (int from = 1; from < size; from++) {
    if (rank == from) {
      MPI_Recv(&token, 1, MPI_INT, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      send(0, kTag);
    }
    if (rank == 0) {
      MPI_Send(&token, 1, MPI_INT, from, kTag + 1, MPI_COMM_WORLD);
      receive_any(kTag);
    }
  }
}

static void by_barriers(void) {
  for (int from = 1; from < size; from++) {
    if (rank == from) send(0, kTag);
    if (rank == 0) receive_any(kTag);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Nothing orders them: of every round all but the last receive race. */
static void by_nothing(void) {
  MPI_Request requests[2];
  int values[2] = {-1, -1};
  for (int round = 0; round < kRounds; round++) {
    if (rank > 0) send(0, kTag);
    for (int i = 1; rank == 0 && i < size; i++) receive_any(kTag);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 1 || rank == 2) send(0, kTag);
  if (rank == 0) {
    for (int i = 0; i < 2; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(values[0] + values[1] == 3, "%d and %d", values[0], values[1]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "free") == 0) {
    by_nothing();
  } else {
    by_messages();
    MPI_Barrier(MPI_COMM_WORLD);
    by_barriers();
  }
  return check_finish();
}
