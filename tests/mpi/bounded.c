/* bounded.c: what a message costs in memory besides the user's own.
 *
 * Neither a flood of messages that nobody receives, nor one message of a great many blocks, makes a
 * process grow by more than a fixed budget.  The paths off and pack are exempt: a buffer of the
 * whole message is what they are.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/memory.h"
#include "support/path.h"

enum { kTag = 1, kFlood = 200, kFloodBytes = 1 << 20, kBlocks = 2 << 20, kBudget = 16 << 20 };

static MPI_Comm comm;
static int rank;

static void end_watch(size_t before, const char* what) {
  const size_t growth = memory_growth(before);
  CHECK(growth <= kBudget, "%s: grew by %zu MiB", what, growth >> 20);
}

/* The receiver progresses, but receives nothing before all are sent. */
static void flood(void) {
  char* buffer = memory_touched(kFloodBytes, rank == 0 ? 'x' : 0);
  MPI_Request requests[kFlood];
  MPI_Barrier(comm);
  const size_t before = memory_watch();
  if (rank == 0) {
    int done = 0;
    for (int i = 0; i < kFlood; i++) {
      MPI_Isend(buffer, kFloodBytes, MPI_BYTE, 1, kTag, comm, &requests[i]);
    }
    for (int i = 0; i < 2000; i++) MPI_Testall(kFlood, requests, &done, MPI_STATUSES_IGNORE);
    CHECK(!done, "200 MiB were sent to a rank that receives nothing");
    MPI_Send(NULL, 0, MPI_BYTE, 1, kTag + 1, comm);
    MPI_Waitall(kFlood, requests, MPI_STATUSES_IGNORE);
  } else {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, kTag + 1, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < kFlood; i++) {
      memset(buffer, 0, kFloodBytes);
      MPI_Recv(buffer, kFloodBytes, MPI_BYTE, 0, kTag, comm, MPI_STATUS_IGNORE);
      CHECK(buffer[0] == 'x' && !memcmp(buffer, buffer + 1, kFloodBytes - 1), "message %d", i);
    }
  }
  end_watch(before, "200 unexpected messages of 1 MiB");
  free(buffer);
}

/* 2 Mi blocks of 16 bytes: a list of them would be twice as large as the budget. */
static void many_blocks(const char* path) {
  MPI_Datatype type;
  char what[80];
  snprintf(what, sizeof(what), "a message of 2 Mi blocks, path %s", path);
  MPI_Type_vector(kBlocks, 16, 24, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  char* buffer = memory_touched((size_t)kBlocks * 24, rank == 0 ? 'y' : 0);
  path_set(comm, path);
  MPI_Barrier(comm);
  const size_t before = memory_watch();
  if (rank == 0)
    MPI_Send(buffer, 1, type, 1, kTag, comm);
  else
    MPI_Recv(buffer, 1, type, 0, kTag, comm, MPI_STATUS_IGNORE);
  end_watch(before, what);
  size_t wrong = 0;
  for (size_t i = 0; rank == 1 && i < (size_t)kBlocks * 24 - 8; i++) {
    wrong += buffer[i] != (i % 24 < 16 ? 'y' : 0);
  }
  CHECK(wrong == 0, "%zu bytes wrong: %s", wrong, what);
  free(buffer);
  MPI_Type_free(&type);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  flood();
  for (int p = 0; p < kPathCount; p++) {
    if (strcmp(kPaths[p], "off") != 0 && strcmp(kPaths[p], "pack") != 0) many_blocks(kPaths[p]);
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
