/* sessions.c: MPI without MPI_Init: sessions that overlap. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "support/path.h"

enum { kTag = 1, kBlocks = 5000 };

/* A gapped message each way, and a path of its own. */
static int talk(MPI_Comm comm, int round) {
  static int ints[3 * kBlocks];
  int rank, wrong = 0;
  MPI_Datatype type;
  MPI_Comm_rank(comm, &rank);
  path_set(comm, kPaths[(round + 1) % kPathCount]);
  MPI_Type_vector(kBlocks, 2, 3, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 3 * kBlocks; i++) ints[i] = rank == 0 ? round * 100000 + i : -1;
  if (rank == 0) MPI_Send(ints, 1, type, 1, kTag, comm);
  if (rank == 1) {
    MPI_Recv(ints, 1, type, 0, kTag, comm, MPI_STATUS_IGNORE);
    for (int i = 0; i < 3 * kBlocks - 1; i++)
      wrong += ints[i] != (i % 3 < 2 ? round * 100000 + i : -1);
  }
  MPI_Type_free(&type);
  return wrong;
}

typedef struct Opened {
  MPI_Session session;
  MPI_Comm comm;
} Opened;

static Opened open_session(const char* tag) {
  Opened opened;
  MPI_Group group;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened.session);
  MPI_Group_from_session_pset(opened.session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &opened.comm);
  MPI_Group_free(&group);
  return opened;
}

static void close_session(Opened* opened) {
  MPI_Comm_free(&opened->comm);
  MPI_Session_finalize(&opened->session);
}

/* Two that overlap; what is wrong in all processes. */
static int play(int round, int* rank) {
  int wrong = 0, all = 0;
  Opened first = open_session("tests/mpi/sessions/first");
  MPI_Comm_rank(first.comm, rank);
  wrong += talk(first.comm, 4 * round + 1);
  Opened second = open_session("tests/mpi/sessions/second");
  wrong += talk(second.comm, 4 * round + 2) + talk(first.comm, 4 * round + 3);
  close_session(&first);
  wrong += talk(second.comm, 4 * round + 4);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, second.comm);
  close_session(&second);
  return all;
}

/* "again": another one when all have ended, which is refused with a reason. */
int main(int argc, char** argv) {
  const bool again = argc > 1 && strcmp(argv[1], "again") == 0;
  int rank, wrong = 0;
  for (int round = 0; round < (again ? 2 : 1); round++) wrong += play(round, &rank);
  if (wrong && rank == 0) fprintf(stderr, "%d ints wrong\n", wrong);
  if (!wrong && rank == 0) printf("ok sessions\n");
  return wrong != 0;
}
