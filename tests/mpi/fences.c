/* fences.c: fences order stores, loads and operations of all members of a window, whatever kinds of
 * epochs lie between them.
 *
 * Each rank's part of a window has a word for each rank. Values name the round and their writer, so
 * that one of the round before or after is seen. Two threads then do so, each with a window of its
 * own.
 */
#include <pthread.h>

#include "support/check.h"

enum { kRounds = 100, kMaxRanks = 64 };

static int rank, size;
static MPI_Group everybody;

typedef struct {
  MPI_Win win;
  int* memory; /* `size` words */
} window_t;

static int value_of(int round, int writer) { return 1 + round * kMaxRanks + writer; }

static window_t open_window(MPI_Comm comm) {
  window_t window;
  MPI_Win_allocate(size * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &window.memory,
                   &window.win);
  return window;
}

static void expect(const window_t* window, int round, const char* what) {
  for (int writer = 0; writer < size; writer++)
    CHECK(window->memory[writer] == value_of(round, writer), "round %d, %s: %d from rank %d", round,
          what, window->memory[writer], writer);
}

static void put_to_all(const window_t* window, const int* value) {
  for (int target = 0; target < size; target++)
    MPI_Put(value, 1, MPI_INT, target, rank, 1, MPI_INT, window->win);
}

/* What all have put is there after the fence, and what a rank stores then is got after the next. */
static void put_and_get(const window_t* window, int round, int asserted) {
  const int next = (rank + 1) % size, value = value_of(round, rank);
  int got = 0;
  MPI_Win_fence(asserted, window->win);
  put_to_all(window, &value);
  MPI_Win_fence(0, window->win);
  expect(window, round, "puts");
  window->memory[rank] = -value;
  MPI_Win_fence(0, window->win);
  MPI_Get(&got, 1, MPI_INT, next, next, 1, MPI_INT, window->win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
  CHECK(got == -value_of(round, next), "round %d: got %d from rank %d", round, got, next);
}

static void put_in_group(const window_t* window, int round) {
  const int value = value_of(round, rank);
  int done = 0;
  MPI_Win_post(everybody, 0, window->win);
  MPI_Win_start(everybody, 0, window->win);
  put_to_all(window, &value);
  MPI_Win_complete(window->win);
  if (round % 2 == 0) MPI_Win_wait(window->win);
  while (round % 2 == 1 && !done) MPI_Win_test(window->win, &done);
  expect(window, round, "a group's puts");
}

static void put_locked(const window_t* window, int round) {
  const int value = value_of(round, rank);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, window->win);
  MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, rank, 1, MPI_INT, window->win);
  MPI_Win_unlock((rank + 1) % size, window->win);
}

/* The last part of a round is ended by a fence, since a lock says nothing to its target. */
static void play(const window_t* window, int rounds) {
  for (int round = 0; round < rounds; round++) {
    const int before = (rank + size - 1) % size;
    put_and_get(window, round, round % 2 ? MPI_MODE_NOPRECEDE : 0);
    put_in_group(window, round);
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window->win);
    put_locked(window, round + 1);
    MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED, window->win);
    CHECK(window->memory[before] == value_of(round + 1, before), "round %d: %d, locked", round,
          window->memory[before]);
  }
}

/* Who stands at a fence serves others' messages: rank 0 comes when all have received. */
static void fence_late(const window_t* window, MPI_Comm comm) {
  static int parts[1 << 16];
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 0) {
    for (int other = 1; other < size; other++)
      CHECK_MPI(MPI_Recv(parts, 1 << 16, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE));
  } else {
    CHECK_MPI(MPI_Isend(parts, 1 << 16, MPI_INT, 0, 0, comm, &request));
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window->win);
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

/* A fence within another kind of epoch is refused, and nobody waits. */
static void expect_refusal(const window_t* window) {
  MPI_Win_set_errhandler(window->win, MPI_ERRORS_RETURN);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window->win);
  CHECK_CLASS(MPI_Win_fence(0, window->win), MPI_ERR_RMA_SYNC);
  MPI_Win_unlock(rank, window->win);
  MPI_Win_set_errhandler(window->win, MPI_ERRORS_ARE_FATAL);
}

static void* play_threaded(void* window) {
  play(window, kRounds / 4);
  return NULL;
}

int main(int argc, char** argv) {
  MPI_Comm comm;
  window_t windows[2];
  pthread_t thread;
  int level;

  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_group(comm, &everybody);
  for (int i = 0; i < 2; i++) windows[i] = open_window(comm);
  play(&windows[0], kRounds);
  fence_late(&windows[0], comm);
  expect_refusal(&windows[0]);
  if (level == MPI_THREAD_MULTIPLE) {
    pthread_create(&thread, NULL, play_threaded, &windows[1]);
    play(&windows[0], kRounds / 4);
    pthread_join(thread, NULL);
  }
  for (int i = 0; i < 2; i++) MPI_Win_free(&windows[i].win);
  MPI_Group_free(&everybody);
  MPI_Comm_free(&comm);
  return check_finish();
}
