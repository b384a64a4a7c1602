/* launched.c: a job as its launcher has to make it: as many ranks and nodes as were asked for.
 *
 * Arguments: ranks, nodes, and "closed" if the launcher starts no further processes and keeps no
 * names; or "abort": rank 1 aborts, and the others never end by themselves.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 1, kAbortCode = 7, kForever_s = 60 };

/* Each rank is met by each other one, and none twice. */
static void meet_all(int rank, int size) {
  int* theirs = calloc((size_t)size, sizeof(int));
  for (int distance = 1; distance < size; distance++) {
    int to = (rank + distance) % size, from = (rank - distance + size) % size;
    MPI_Sendrecv(&rank, 1, MPI_INT, to, kTag, &theirs[from], 1, MPI_INT, from, kTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(theirs[from] == from, "rank %d says it is rank %d", from, theirs[from]);
  }
  free(theirs);
}

static int count_nodes(void) {
  MPI_Comm node;
  int rank, first, nodes = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank);
  first = rank == 0;
  MPI_Allreduce(&first, &nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_free(&node);
  return nodes;
}

/* What the launcher does not do is an error of MPI's, after which the job goes on. */
static void ask_too_much(void) {
  MPI_Comm children;
  char port[MPI_MAX_PORT_NAME] = "a port";
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK(MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS,
        "a process was spawned");
  CHECK_CLASS(MPI_Publish_name("mad", MPI_INFO_NULL, port), MPI_ERR_NAME);
  CHECK_CLASS(MPI_Lookup_name("mad", MPI_INFO_NULL, port), MPI_ERR_NAME);
  CHECK_CLASS(MPI_Unpublish_name("mad", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  int rank, size, nodes;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    if (rank == 1) MPI_Abort(MPI_COMM_WORLD, kAbortCode);
    sleep(kForever_s);
    return EXIT_SUCCESS;
  }
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  CHECK(size == atoi(argv[1]), "the job has %d ranks, %s were started", size, argv[1]);
  meet_all(rank, size);
  nodes = count_nodes();
  CHECK(nodes == atoi(argv[2]), "the job has %d nodes, %s were asked for", nodes, argv[2]);
  if (argc > 3) ask_too_much();
  MPI_Barrier(MPI_COMM_WORLD);
  return check_finish();
}
