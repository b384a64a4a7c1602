/* threads.c: MPI_THREAD_MULTIPLE. Several threads of each rank send and receive at the same time.
 */
#include <pthread.h>
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kThreads = 4, kMessages = 60 };

static int rank;
static MPI_Comm shared; /* told apart by tag */

typedef struct Worker {
  pthread_t thread;
  int number;
  MPI_Comm own; /* half of the threads have one */
} Worker;

static uint32_t stamp_of(int sender, int worker, int message) {
  return 1 + (uint32_t)((sender * kThreads + worker) * kMessages + message);
}

/* Both directions at once, in sizes that take the eager and the rendezvous way. */
static void* work(void* argument) {
  static const int kBlocks[] = {0, 4, 300, 9000};
  const Worker* worker = argument;
  MPI_Comm comm = worker->own == MPI_COMM_NULL ? shared : worker->own;
  for (int m = 0; m < kMessages; m++) {
    const int blocks = kBlocks[(m + worker->number) % 4], peer = 1 - rank;
    Layout out = layout_strided(blocks, 2, 3), in = layout_irregular(blocks, 2);
    const uint32_t mine = stamp_of(rank, worker->number, m);
    const uint32_t theirs = stamp_of(peer, worker->number, m);
    Image sent = layout_image(&out, 1, mine, true), taken = layout_image(&in, 1, theirs, false);
    MPI_Request requests[2];
    MPI_Isend(sent.base, 1, out.type, peer, worker->number, comm, &requests[0]);
    MPI_Irecv(taken.base, 1, in.type, peer, worker->number, comm, &requests[1]);
    MPI_Wait(&requests[m % 2], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1 - m % 2], MPI_STATUS_IGNORE);
    CHECK_IMAGE(&taken, theirs, "thread %d, message %d", worker->number, m);
    image_free(&sent), image_free(&taken);
    layout_free(&out), layout_free(&in);
  }
  return NULL;
}

static void run(const char* path) {
  Worker workers[kThreads];
  path_set(shared, path);
  for (int i = 0; i < kThreads; i++) {
    workers[i].number = i;
    workers[i].own = MPI_COMM_NULL;
    if (i % 2) {
      MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].own);
      path_set(workers[i].own, path);
    }
  }
  for (int i = 0; i < kThreads; i++) pthread_create(&workers[i].thread, NULL, work, &workers[i]);
  for (int i = 0; i < kThreads; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < kThreads; i++) {
    if (workers[i].own != MPI_COMM_NULL) MPI_Comm_free(&workers[i].own);
  }
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(provided == MPI_THREAD_MULTIPLE, "the library provides level %d only", provided);
  if (provided == MPI_THREAD_MULTIPLE) {
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int p = 0; p < kPathCount; p++) run(kPaths[p]);
    MPI_Comm_free(&shared);
  }
  return check_finish();
}
