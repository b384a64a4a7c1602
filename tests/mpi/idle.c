/* idle.c: a receive from anyone that waits for long contacts one rank, and needs none.
 *
 * Rank 0 may open no file for a while, so that it can contact nobody; the other ranks do nothing.
 * Later the message comes.
 */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/check.h"

/* The device looks for the dead after one to two seconds: slower, this test proves less. */
enum { kTag = 1, kWithoutFiles_ms = 2200, kIdle_ms = 2700, kMostFiles = 5 };

static int open_files(void) {
  int count = 0;
  DIR* files = opendir("/proc/self/fd");
  if (!files) return -1;
  while (readdir(files)) count++;
  closedir(files);
  return count;
}

/* Tests until `end`; the message is not to come. */
static void wait_until(double end, MPI_Request* request) {
  int done = 0, error = MPI_SUCCESS;
  while (!done && error == MPI_SUCCESS && MPI_Wtime() < end)
    error = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  CHECK_MPI(error);
  CHECK(!done, "the receive ended before anything was sent");
}

static void receive(int size) {
  int value = 0;
  MPI_Request request;
  struct rlimit before, none;
  const double start = MPI_Wtime();
  const int files = open_files(), next = dup(0);
  close(next);
  getrlimit(RLIMIT_NOFILE, &before);
  none = before;
  none.rlim_cur = (rlim_t)next;
  CHECK(before.rlim_cur == before.rlim_max, "the limit of files was not raised");
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &request);
  CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0, "setrlimit");
  wait_until(start + kWithoutFiles_ms * 1e-3, &request);
  CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0, "setrlimit");
  wait_until(start + kIdle_ms * 1e-3, &request);
  CHECK(open_files() <= files + kMostFiles, "%d files more, of %d ranks", open_files() - files,
        size);
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(value == 7, "received %d", value);
}

int main(int argc, char** argv) {
  int rank, size, value = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    receive(size);
  } else {
    usleep((kIdle_ms + 2000) * 1000);
    if (rank == size - 1) CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD));
  }
  return check_finish();
}
