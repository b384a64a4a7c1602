/* spawn.c: processes started at run time; derived datatypes both ways; a child's end is no failure.
 */
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kChildren = 2, kTag = 1, kRounds = 2, kPatience_s = 20 };
static const int kBlocks[] = {3, 3000, 100000};

static uint32_t stamp;

/* Rank r of one side with rank r of the other. */
static void talk(MPI_Comm comm, int partner, bool begins, const char* path) {
  path_set(comm, path);
  for (int b = 0; b < 3; b++) {
    Layout layout = begins ? layout_strided(kBlocks[b], 2, 3) : layout_irregular(kBlocks[b], 2);
    Image image = layout_image(&layout, 1, ++stamp, begins);
    if (begins) MPI_Send(image.base, 1, layout.type, partner, kTag, comm);
    if (begins) image_fill(&image, stamp, false);
    MPI_Recv(image.base, 1, layout.type, partner, kTag, comm, MPI_STATUS_IGNORE);
    CHECK_IMAGE(&image, stamp, "%d blocks across worlds, path %s", kBlocks[b], path);
    if (!begins) MPI_Send(image.base, 1, layout.type, partner, kTag, comm);
    image_free(&image);
    layout_free(&layout);
  }
}

/* One world of both: a ring through all ranks. */
static void merged(MPI_Comm between, bool high) {
  MPI_Comm all;
  int rank, size, token = 0;
  MPI_Intercomm_merge(between, high, &all);
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  if (rank == 0) token = 1;
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, kTag, all, MPI_STATUS_IGNORE);
  token += rank;
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, kTag, all);
  if (rank == 0) {
    MPI_Recv(&token, 1, MPI_INT, size - 1, kTag, all, MPI_STATUS_IGNORE);
    CHECK(token == 1 + size * (size - 1) / 2, "the ring's sum is %d", token);
  }
  MPI_Comm_free(&all);
}

static int child(MPI_Comm parent) {
  int rank, failures;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int p = 0; p < kPathCount; p++) talk(parent, rank, false, kPaths[p]);
  merged(parent, true);
  if (rank == 0) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, kTag, parent);
  }
  failures = check_failures();
  MPI_Send(&failures, 1, MPI_INT, rank, kTag, parent);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return failures != 0;
}

static void spawn_once(char* program, int rank, char* port) {
  stamp = 0; /* as the children begin */
  static char argument[] = "child", *arguments[] = {argument, NULL};
  MPI_Comm children;
  int errors[kChildren], failures = 0;
  MPI_Comm_spawn(program, arguments, kChildren, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                 errors);
  for (int i = 0; i < kChildren; i++) CHECK_CLASS(errors[i], MPI_SUCCESS);
  for (int p = 0; p < kPathCount; p++) talk(children, rank, true, kPaths[p]);
  merged(children, false);
  if (rank == 0) {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, kTag, children, MPI_STATUS_IGNORE);
  }
  MPI_Recv(&failures, 1, MPI_INT, rank, kTag, children, MPI_STATUS_IGNORE);
  CHECK(failures == 0, "child %d found %d failures", rank, failures);
  MPI_Comm_disconnect(&children);
}

/* Nobody is there any more. */
static void connect_to_the_gone(const char* port) {
  MPI_Comm self = check_comm(MPI_COMM_SELF), between;
  const double start = MPI_Wtime();
  const int error = MPI_Comm_connect(port, MPI_INFO_NULL, 0, self, &between);
  CHECK(error != MPI_SUCCESS, "connected to a process that has left");
  CHECK(MPI_Wtime() - start < kPatience_s, "an error after %.0f s only", MPI_Wtime() - start);
  MPI_Comm_free(&self);
}

/* The children have left; whoever waits for anyone in the parents' world is not disturbed. */
static void after_children(int rank, int size) {
  int value = 0;
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &request);
    for (const double end = MPI_Wtime() + 1.5; MPI_Wtime() < end;) {
      int done = 0;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      CHECK(!done, "a receive ended with nobody sending");
      if (done) return;
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    const int sent = 77;
    MPI_Send(&sent, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  if (rank == 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(value == 77, "received %d", value);
  }
}

/* A child that speaks no fabric of its parent's says so in MPI_Init and ends. Its parent, who has
 * no way to learn of it, waits, so that an alarm ends it. */
static void spawn_unreachable(char* program) {
  static char fabric[] = "MPIR_CVAR_CH4_MAD_FABRIC=ofi:tcp", argument[] = "child";
  char *arguments[] = {fabric, program, argument, NULL}, env[] = "env";
  MPI_Comm child;
  alarm(20);
  MPI_Comm_spawn(env, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
  CHECK(false, "spawned a child that cannot reach its parent");
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  int rank, size;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    spawn_unreachable(argv[0]);
    return check_finish();
  }
  for (int i = 0; i < kRounds; i++) spawn_once(argv[0], rank, port);
  after_children(rank, size);
  if (rank == 0) connect_to_the_gone(port);
  return check_finish();
}
