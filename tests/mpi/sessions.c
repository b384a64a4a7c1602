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

static int told = MPI_SUCCESS;

static void take_error(MPI_Session* session, int* error, ...) {
  if (*session == MPI_SESSION_NULL) told = *error;
}

/* The error handler is told of an error of MPI_Session_init; a session is open. */
static int wrongly_told(void) {
  int wrong = 0;
  MPI_Errhandler telling;
  MPI_Session open;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &open);
  MPI_Session_create_errhandler(take_error, &telling);
  wrong += MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, NULL) == MPI_SUCCESS;
  wrong += told != MPI_SUCCESS;
  wrong += MPI_Session_init(MPI_INFO_NULL, telling, NULL) == MPI_SUCCESS;
  wrong += told == MPI_SUCCESS;
  MPI_Errhandler_free(&telling);
  MPI_Session_finalize(&open);
  return wrong;
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
  wrong += wrongly_told();
  wrong += talk(second.comm, 4 * round + 4);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, second.comm);
  close_session(&second);
  return all;
}

/* After the last session there is none, however often it is tried. */
static int wrongly_refused(void) {
  int wrong = 0;
  MPI_Session session;
  for (int i = 0; i < 3; i++)
    wrong += MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS;
  return wrong;
}

/* "again": another one when all have ended, which is refused with a reason; "returned": and told by
 * an error code. */
int main(int argc, char** argv) {
  const bool returned = argc > 1 && strcmp(argv[1], "returned") == 0;
  const bool again = argc > 1 && strcmp(argv[1], "again") == 0;
  int rank, wrong = 0;
  for (int round = 0; round < (again ? 2 : 1); round++) wrong += play(round, &rank);
  if (returned) wrong += wrongly_refused();
  if (wrong && rank == 0) fprintf(stderr, "%d wrong\n", wrong);
  if (!wrong && rank == 0) printf("ok sessions\n");
  return wrong != 0;
}
