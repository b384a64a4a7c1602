/* death.c: a process that dies, and one that leaves in good order.
 *
 * Run with `mpiexec -disable-auto-cleanup` and below a shell (table.py says why). The last rank is
 * the victim; the others must learn of its end from their own operations within kPatience_s
 * seconds, print their verdict and exit with 0 without MPI_Finalize. The argument says what they
 * are doing when it happens.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"

enum { kTag = 1, kPatience_s = 15, kParts = 4, kLargeInts = 32 << 20 };

static MPI_Comm comm;
static int rank, size, victim;
static int victims = 1; /* more: any may be named, also who learnt of one, and left */

static _Noreturn void die(void) {
  kill(getpid(), SIGKILL);
  _exit(1); /* not reached */
}

/* When the others have left MPI_Init, where mpiexec's own services would miss the dead. */
static _Noreturn void die_later(void) {
  usleep(300000);
  die();
}

/* The class, and who it was. */
static void expect_failed_process(int error) {
  char text[MPI_MAX_ERROR_STRING] = "", who[60];
  int length;
  CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
  MPI_Error_string(error, text, &length);
  if (victims == 1)
    snprintf(who, sizeof(who), "Communication with rank %d of MPI_COMM_WORLD failed", victim);
  else
    snprintf(who, sizeof(who), "Communication with rank ");
  CHECK(strncmp(text, "Process failed", 14) == 0 && strstr(text, who), "the error says '%s'", text);
}

/* The request ends with the peer's failure, in time. */
static void expect_failure(MPI_Request* request, const char* what) {
  const double start = MPI_Wtime();
  MPI_Status status = {.MPI_ERROR = MPI_SUCCESS};
  int done = 0, error = MPI_SUCCESS;
  while (!done && error == MPI_SUCCESS && MPI_Wtime() - start < kPatience_s) {
    error = MPI_Test(request, &done, &status);
  }
  CHECK(done || error != MPI_SUCCESS, "%s: no end after %d s", what, kPatience_s);
  if (done || error != MPI_SUCCESS) expect_failed_process(error);
}

/* Sends until one fails. */
static void expect_failing_sends(void) {
  const double start = MPI_Wtime();
  int value = 0, error = MPI_SUCCESS;
  while (error == MPI_SUCCESS && MPI_Wtime() - start < kPatience_s) {
    error = MPI_Send(&value, 1, MPI_INT, victim, kTag, comm);
  }
  expect_failed_process(error);
}

/* Two witnesses still reach each other. */
static void expect_life(void) {
  int value = rank;
  if (size < 3 || rank > 1) return;
  if (rank == 0) {
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 1, kTag + 1, comm));
    CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, 1, kTag + 2, comm, MPI_STATUS_IGNORE));
    CHECK(value == 1, "received %d", value);
    MPI_Send(&value, 1, MPI_INT, 1, kTag + 3, comm);
  } else {
    CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, 0, kTag + 1, comm, MPI_STATUS_IGNORE));
    value = rank;
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, kTag + 2, comm));
    /* Without MPI_Finalize what was sent may not have left: stay until rank 0 says so, or is gone.
     */
    MPI_Recv(&value, 1, MPI_INT, 0, kTag + 3, comm, MPI_STATUS_IGNORE);
  }
}

/* All of a large buffer, or every second pair of ints. */
static MPI_Datatype large_type(bool gapped) {
  MPI_Datatype type;
  if (gapped)
    MPI_Type_vector(kLargeInts / 4, 2, 4, MPI_INT, &type);
  else
    MPI_Type_contiguous(kLargeInts, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

static int* large_buffer(int fill) {
  int* ints = malloc(kLargeInts * sizeof(int));
  if (!ints) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < kLargeInts; i++) ints[i] = fill;
  return ints;
}

/* True when the first byte of a message is there and the last is not. */
static void await_first_bytes(volatile const int* ints, MPI_Request* request) {
  int done = 0;
  while (ints[0] == 0 && !done) MPI_Test(request, &done, MPI_STATUS_IGNORE);
  CHECK(!done, "the message was complete before anyone could die");
}

/* The victim is the receiver: it dies when the first bytes are there. */
static void die_receiving(bool gapped) {
  MPI_Request request;
  MPI_Datatype type = large_type(gapped);
  int* ints = large_buffer(rank == victim ? 0 : 1);
  MPI_Barrier(comm);
  if (rank == victim) {
    MPI_Irecv(ints, 1, type, 0, kTag, comm, &request);
    await_first_bytes(ints, &request);
    die();
  }
  if (rank == 0) {
    const int error = MPI_Isend(ints, 1, type, victim, kTag, comm, &request);
    CHECK_MPI(error);
    expect_failure(&request, "a send whose receiver died in the middle");
  }
}

/* The victim is the sender: the witness, who sees the first bytes come, kills it. */
static void die_sending(bool gapped) {
  MPI_Request request;
  MPI_Datatype type = large_type(gapped);
  int* ints = large_buffer(rank == victim ? 1 : 0);
  pid_t pid = getpid();
  if (rank == victim) {
    MPI_Send(&pid, sizeof(pid), MPI_BYTE, 0, kTag, comm);
    MPI_Send(ints, 1, type, 0, kTag, comm);
    for (;;) pause();
  }
  if (rank == 0) {
    MPI_Recv(&pid, sizeof(pid), MPI_BYTE, victim, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Irecv(ints, 1, type, victim, kTag, comm, &request);
    await_first_bytes(ints, &request);
    kill(pid, SIGKILL);
    expect_failure(&request, "a receive whose sender died in the middle");
  }
}

static void die_awaited(int source, bool acquainted) {
  MPI_Request request;
  int value = 0;
  if (acquainted) MPI_Barrier(comm);
  if (rank == victim) die_later();
  MPI_Irecv(&value, 1, MPI_INT, source, kTag, comm, &request);
  expect_failure(&request, source == MPI_ANY_SOURCE ? "a receive from anyone" : "a receive");
  if (acquainted) expect_failing_sends();
}

/* Two ranks die, the one that watches the other with it; they were never spoken to, and each
 * other's names are all that the rest know. */
static void die_far(void) {
  MPI_Request request;
  int value = 0;
  victims = 2;
  if (rank == victim || rank == victim - 2) die_later();
  MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &request);
  expect_failure(&request, "a receive from anyone");
}

/* Not even connected: it must be the send that notices. */
static void die_unknown(void) {
  if (rank == victim) die_later();
  sleep(1); /* its death shall be over; what is tested does not depend on it */
  expect_failing_sends();
}

static void die_unmatched(void) {
  MPI_Request request;
  int value = 1;
  MPI_Barrier(comm);
  if (rank == victim) {
    MPI_Probe(0, kTag, comm, MPI_STATUS_IGNORE); /* it is there, and will never be received */
    die();
  }
  if (rank == 0) {
    CHECK_MPI(MPI_Issend(&value, 1, MPI_INT, victim, kTag, comm, &request));
    expect_failure(&request, "a synchronous send");
  }
}

static void die_probed(void) {
  MPI_Barrier(comm);
  if (rank == victim) die();
  expect_failed_process(MPI_Probe(victim, kTag, comm, MPI_STATUS_IGNORE));
}

/* Nobody hangs in a collective operation, and somebody learns why it failed. */
static void die_collective(void) {
  int sum = 0, error, mine, failed = 0;
  MPI_Barrier(comm);
  if (rank == victim) die();
  error = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  mine = error != MPI_SUCCESS;
  if (mine) CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
  CHECK_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, 1 - rank, kTag, &failed, 1, MPI_INT, 1 - rank, kTag,
                         comm, MPI_STATUS_IGNORE));
  CHECK(mine || failed, "both witnesses think that all is well");
  CHECK_CLASS(MPI_Bcast(&sum, 1, MPI_INT, victim, comm), MPIX_ERR_PROC_FAILED);
}

/* The root dies in the middle: as the witness waits in MPI_Bcast, a child of it watches. */
static void die_broadcasting(void) {
  const size_t bytes = kLargeInts * sizeof(int);
  volatile int* ints = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MPI_Comm two;
  pid_t pid = getpid(), watcher = 0;
  int error;
  if (ints == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_split(comm, rank == 1, rank, &two); /* rank 0 and the victim */
  if (rank == 1) return;
  MPI_Bcast(&pid, sizeof(pid), MPI_BYTE, 1, two);
  if (rank == 0) {
    watcher = fork();
    if (watcher == 0) {
      for (int i = 0; i < kPatience_s * 1000000 && ints[0] == 0; i++) usleep(1);
      kill(pid, SIGKILL);
      _exit(0);
    }
    do {
      error = MPI_Bcast((void*)ints, kLargeInts, MPI_INT, 1, two);
    } while (error == MPI_SUCCESS); /* until the watcher has its turn */
    CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
    waitpid(watcher, NULL, 0);
    return;
  }
  for (int i = 0; i < kLargeInts; i++) ints[i] = 1;
  for (;;) MPI_Bcast((void*)ints, kLargeInts, MPI_INT, 1, two);
}

/* Of 8 ranks one is gone, and a message is scattered and gathered again: those who miss a part of
 * it from the dead say so, and nobody hangs. */
static void die_before_scattering(void) {
  enum { kInts = 16384 };
  static int ints[kInts];
  int failed = 0, error;
  MPI_Barrier(comm);
  if (rank == victim) die();
  error = MPI_Bcast(ints, kInts, MPI_INT, 0, comm);
  if (error != MPI_SUCCESS) CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
  for (int other = 0; other < victim; other++) {
    int mine = error != MPI_SUCCESS, theirs = 0;
    if (other == rank) continue;
    CHECK_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, other, kTag, &theirs, 1, MPI_INT, other, kTag, comm,
                           MPI_STATUS_IGNORE));
    failed += mine + theirs;
  }
  CHECK(failed > 0, "all witnesses think that all is well");
}

/* Each exchanges parts with each in turn, the dead first: who learnt of it says so in its later
 * messages, which are received all the same. */
static void die_exchanging(void) {
  int parts[8] = {0}, error;
  MPI_Comm reversed;
  MPI_Comm_split(comm, 0, -rank, &reversed);
  MPI_Barrier(reversed);
  if (rank == victim) die();
  error = MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, 1, MPI_INT, reversed);
  CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
}

/* Parts that each sends to all others at once. */
static void die_allgathering(void) {
  enum { kInts = 5000, kMostRanks = 8 };
  int* const parts = calloc(kMostRanks * kInts, sizeof(int));
  int error;
  MPI_Barrier(comm);
  if (rank == victim) die();
  error = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, parts, kInts, MPI_INT, comm);
  CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
  free(parts);
}

/* The class may be MPI_ERR_RMA_SYNC, which MPICH puts over every failure to begin or end. */
static void expect_failed_epoch(int error) {
  char why[60];
  snprintf(why, sizeof(why), "Communication with rank %d of ", victim);
  CHECK(error != MPI_SUCCESS, "an epoch with the dead went well");
  CHECK_TEXT(error, why);
}

/* A window of each rank's cell, whose operations are messages, and the victim's process. */
static MPI_Win open_window(int* cell, pid_t* pid) {
  MPI_Win win;
  *pid = getpid();
  MPI_Bcast(pid, sizeof(*pid), MPI_BYTE, victim, comm);
  MPI_Win_create(cell, sizeof(*cell), sizeof(*cell), MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  return win;
}

/* An epoch with the dead ends with an error. `open`: it had begun, and gone well, before. */
static void die_one_sided(bool open) {
  int cell = 0, value = 1, error;
  pid_t pid;
  MPI_Win win = open_window(&cell, &pid);
  if (rank == victim && open) MPI_Recv(&value, 1, MPI_INT, 0, kTag, comm, MPI_STATUS_IGNORE);
  if (rank == victim) die();
  if (rank != 0) return;
  if (!open) kill(pid, SIGKILL); /* who has not left the barrier yet would answer */
  error = MPI_Win_lock(MPI_LOCK_SHARED, victim, 0, win);
  if (open) {
    CHECK_MPI(error);
    CHECK_MPI(MPI_Get(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(victim, win));
    kill(pid, SIGKILL);
  }
  if (error == MPI_SUCCESS) error = MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
  if (error == MPI_SUCCESS) error = MPI_Get(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
  if (error == MPI_SUCCESS) error = MPI_Win_unlock(victim, win);
  expect_failed_epoch(error);
}

/* It dies before it has taken what was put, and answered what was asked for: a flush says so. */
static void die_flushing(void) {
  int cell = 0, value = 1, got = 0;
  pid_t pid;
  MPI_Win win = open_window(&cell, &pid);
  if (rank == victim) MPI_Send(&value, 1, MPI_INT, 0, kTag, comm);
  while (rank == victim) pause();
  if (rank != 0) return;
  MPI_Recv(&value, 1, MPI_INT, victim, kTag, comm, MPI_STATUS_IGNORE);
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  CHECK_MPI(MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win));
  CHECK_MPI(MPI_Get(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win));
  kill(pid, SIGKILL);
  expect_failed_epoch(MPI_Win_flush(victim, win));
}

/* It had not looked for a while, so that what is put there is no message; a flush tells of its
 * death all the same. */
static void die_unlooked(void) {
  int cell = 0, value = 1, error = MPI_SUCCESS;
  const double begin = MPI_Wtime();
  pid_t pid;
  MPI_Win win = open_window(&cell, &pid);
  if (rank == victim) {
    usleep(50000);
    MPI_Recv(&value, 1, MPI_INT, 0, kTag, comm, MPI_STATUS_IGNORE);
  }
  if (rank != 0) return;
  usleep(10000);
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  for (int i = 0; i < 2; i++) {
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(victim, win));
  }
  kill(pid, SIGKILL); /* and while its memory is there, they go well */
  while (error == MPI_SUCCESS && MPI_Wtime() - begin < 20) {
    error = MPI_Put(&value, 1, MPI_INT, victim, 0, 1, MPI_INT, win);
    if (error == MPI_SUCCESS) error = MPI_Win_flush(victim, win);
  }
  expect_failed_epoch(error);
}

/* The dead process held a lock of rank 0's window, or stood in the queue for it (`queued`): rank 1
 * gets it all the same.  `near`: the lock is in shared memory. */
static void die_locking(bool queued, bool near) {
  static int cell; /* rank 1 writes it after rank 0 has left this function */
  int value = 7;
  void* memory;
  MPI_Win win;
  if (near)
    MPI_Win_allocate(sizeof(cell), sizeof(cell), MPI_INFO_NULL, comm, (void*)&memory, &win);
  else
    MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  if (rank == victim) {
    if (queued) MPI_Recv(&value, 1, MPI_INT, 1, kTag, comm, MPI_STATUS_IGNORE);
    if (queued) alarm(1); /* which kills it in the queue */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Send(&value, 1, MPI_INT, 1, kTag, comm);
    die();
  }
  if (rank == 1) {
    if (queued) {
      CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
      CHECK_MPI(MPI_Send(&value, 1, MPI_INT, victim, kTag, comm));
      CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, victim, kTag, comm, MPI_STATUS_IGNORE),
                  MPIX_ERR_PROC_FAILED);
      CHECK_MPI(MPI_Win_unlock(0, win));
    } else {
      CHECK_MPI(MPI_Recv(&value, 1, MPI_INT, victim, kTag, comm, MPI_STATUS_IGNORE));
    }
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_unlock(0, win));
  }
}

/* The dead process was doing atomic operations on shared memory, most likely in the middle of one:
 * those of others go on. */
static void die_accumulating(void) {
  enum { kWords = 1 << 18, kRounds = 10 };
  static int ones[kWords];
  pid_t pid = getpid();
  void* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(ones), sizeof(int), MPI_INFO_NULL, comm, (void*)&memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK_MPI(MPI_Win_lock_all(0, win));
  for (int i = 0; rank == victim; i++) {
    CHECK_MPI(MPI_Accumulate(ones, kWords, MPI_INT, 0, 0, kWords, MPI_INT, MPI_SUM, win));
    if (i == 0) CHECK_MPI(MPI_Send(&pid, sizeof(pid), MPI_BYTE, 0, kTag, comm));
  }
  if (rank == 0) {
    CHECK_MPI(MPI_Recv(&pid, sizeof(pid), MPI_BYTE, victim, kTag, comm, MPI_STATUS_IGNORE));
    usleep(20000);
    kill(pid, SIGKILL);
  }
  for (int i = 0; i < kRounds; i++) {
    CHECK_MPI(MPI_Accumulate(ones, kWords, MPI_INT, 0, 0, kWords, MPI_INT, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(0, win));
  }
}

/* The sender dies between a round that ended well and the data of the next; then there is no
 * sender. */
static void die_partitioned(void) {
  MPI_Request request;
  int ints[kParts] = {0};
  if (rank == victim) {
    MPI_Psend_init(ints, kParts, 1, MPI_INT, 0, kTag, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready_range(0, kParts - 1, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(ints, 1, MPI_INT, 0, kTag, comm, MPI_STATUS_IGNORE); /* after the next clearance */
    die();
  }
  if (rank == 0) {
    MPI_Precv_init(ints, kParts, 1, MPI_INT, victim, kTag, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Start(&request);
    MPI_Send(ints, 1, MPI_INT, victim, kTag, comm);
    expect_failure(&request, "a partitioned receive");
    MPI_Start(&request);
    expect_failure(&request, "a partitioned receive of the dead");
  }
}

/* The receiver dies before it clears the second round; then there is no receiver. */
static void die_partitioned_receiver(void) {
  MPI_Request request;
  int ints[kParts] = {0};
  if (rank == victim) {
    MPI_Precv_init(ints, kParts, 1, MPI_INT, 0, kTag, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(ints, 1, MPI_INT, 0, kTag, comm, MPI_STATUS_IGNORE);
    die();
  }
  if (rank == 0) {
    MPI_Psend_init(ints, kParts, 1, MPI_INT, victim, kTag, comm, MPI_INFO_NULL, &request);
    for (int round = 0; round < 3; round++) {
      MPI_Start(&request);
      if (round == 1) MPI_Send(ints, 1, MPI_INT, victim, kTag, comm);
      MPI_Pready_range(0, kParts - 1, request);
      if (round == 0)
        CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
      else
        expect_failure(&request, "a partitioned send");
    }
  }
}

/* All others wait at a fence for one who never comes, and again at the next. */
static void die_fencing(void) {
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, (void*)&memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK_MPI(MPI_Win_fence(0, win));
  if (rank == victim) die_later();
  for (int i = 0; i < 2; i++) {
    const int error = MPI_Win_fence(0, win);
    CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
    expect_failed_epoch(error);
  }
}

/* Collectives through shared memory, which they go by after some: all others wait for one who never
 * comes, the victim being the root of the last two. */
static void die_at_board(void) {
  double mine = rank, sum = 0;
  for (int i = 0; i < 40; i++) CHECK_MPI(MPI_Barrier(comm));
  if (rank == victim) die_later();
  CHECK_CLASS(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED);
  CHECK_CLASS(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm), MPIX_ERR_PROC_FAILED);
  CHECK_CLASS(MPI_Bcast(&mine, 1, MPI_DOUBLE, victim, comm), MPIX_ERR_PROC_FAILED);
  CHECK_CLASS(MPI_Scatter(&mine, 1, MPI_DOUBLE, &sum, 1, MPI_DOUBLE, victim, comm),
              MPIX_ERR_PROC_FAILED);
}

/* The root, which runs ahead, waits in the end for the victim to read; rank 0 for the root, which
 * lives, and never spoke to the victim. */
static void die_beside_board(void) {
  int value = rank, error = MPI_SUCCESS;
  for (int i = 0; i < 40; i++) CHECK_MPI(MPI_Bcast(&value, 1, MPI_INT, 1, comm));
  if (rank == victim) die_later();
  for (int i = 0; i < 40 && error == MPI_SUCCESS; i++)
    error = MPI_Bcast(&value, 1, MPI_INT, 1, comm);
  CHECK_CLASS(error, MPIX_ERR_PROC_FAILED);
}

/* Of two nodes: also those whose node nobody left learn that the sum is none. */
static void die_at_one_of_two_boards(void) {
  double mine = rank, sum = 0;
  for (int i = 0; i < 40; i++) CHECK_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm));
  if (rank == victim) die_later();
  CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) != MPI_SUCCESS,
        "a sum without the victim's is %f", sum);
}

/* Rank 0 waits for a member of a group that is dead: to post, or to complete. `near`: the window is
 * one of shared memory. */
static void die_in_group(bool posting, bool tests, bool near) {
  int *memory, cell = 0, others[2] = {1, victim}, error = MPI_SUCCESS, done = 0, zero = 0;
  MPI_Group world, group;
  MPI_Win win;
  MPI_Comm_group(comm, &world);
  if (near)
    MPI_Win_allocate(sizeof(cell), sizeof(cell), MPI_INFO_NULL, comm, (void*)&memory, &win);
  else
    MPI_Win_create(&cell, sizeof(cell), sizeof(cell), MPI_INFO_NULL, comm, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  if (rank == victim) die_later();
  MPI_Group_incl(world, rank == 0 ? 2 : 1, rank == 0 ? others : &zero, &group);
  if (rank == 1 && posting) CHECK_MPI(MPI_Win_post(group, 0, win));
  if (rank == 1 && !posting) {
    CHECK_MPI(MPI_Win_start(group, 0, win));
    CHECK_MPI(MPI_Win_complete(win));
  }
  if (rank != 0) return;
  if (posting) {
    error = MPI_Win_start(group, 0, win);
  } else {
    error = MPI_Win_post(group, 0, win);
    if (!tests && error == MPI_SUCCESS) error = MPI_Win_wait(win);
    while (tests && !done && error == MPI_SUCCESS) error = MPI_Win_test(win, &done);
  }
  expect_failed_epoch(error);
}

/* Not a death: rank 1 finalizes while rank 0 waits for anyone, and for rank 2, who takes his time.
 */
static int leave(void) {
  int values[2] = {0, 0};
  MPI_Request requests[2];
  MPI_Barrier(comm);
  if (rank == 0) {
    MPI_Irecv(&values[0], 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 2, kTag, comm, &requests[1]);
    CHECK_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(values[0] == 5 && values[1] == 6, "%d and %d", values[0], values[1]);
  } else if (rank == 2) {
    sleep(2); /* rank 1 is in MPI_Finalize by now, or the test proves less but is still right */
    values[0] = 5, values[1] = 6;
    CHECK_MPI(MPI_Send(&values[0], 1, MPI_INT, 0, kTag, comm));
    CHECK_MPI(MPI_Send(&values[1], 1, MPI_INT, 0, kTag, comm));
  }
  const int failures = check_failures();
  if (rank == 0 && failures == 0) printf("ok death\n");
  MPI_Finalize();
  return failures != 0;
}

static bool play(const char* scene) {
  if (strcmp(scene, "receiving") == 0)
    die_receiving(false);
  else if (strcmp(scene, "receiving-gapped") == 0)
    die_receiving(true);
  else if (strcmp(scene, "sending") == 0)
    die_sending(false);
  else if (strcmp(scene, "sending-gapped") == 0)
    die_sending(true);
  else if (strcmp(scene, "awaited") == 0)
    die_awaited(victim, true);
  else if (strcmp(scene, "awaited-unknown") == 0)
    die_awaited(victim, false);
  else if (strcmp(scene, "any-source") == 0)
    die_awaited(MPI_ANY_SOURCE, true);
  else if (strcmp(scene, "any-source-unknown") == 0)
    die_awaited(MPI_ANY_SOURCE, false);
  else if (strcmp(scene, "any-source-far") == 0)
    die_far();
  else if (strcmp(scene, "unknown") == 0)
    die_unknown();
  else if (strcmp(scene, "unmatched") == 0)
    die_unmatched();
  else if (strcmp(scene, "probed") == 0)
    die_probed();
  else if (strcmp(scene, "partitioned") == 0)
    die_partitioned();
  else if (strcmp(scene, "partitioned-receiver") == 0)
    die_partitioned_receiver();
  else if (strcmp(scene, "group-post") == 0)
    die_in_group(true, false, false);
  else if (strcmp(scene, "group-complete") == 0)
    die_in_group(false, false, false);
  else if (strcmp(scene, "group-test") == 0)
    die_in_group(false, true, false);
  else if (strcmp(scene, "group-post-near") == 0)
    die_in_group(true, false, true);
  else if (strcmp(scene, "group-complete-near") == 0)
    die_in_group(false, false, true);
  else if (strcmp(scene, "fencing") == 0)
    die_fencing();
  else if (strcmp(scene, "board") == 0)
    die_at_board();
  else if (strcmp(scene, "beside-board") == 0)
    die_beside_board();
  else if (strcmp(scene, "two-boards") == 0)
    die_at_one_of_two_boards();
  else if (strcmp(scene, "collective") == 0)
    die_collective();
  else if (strcmp(scene, "broadcasting") == 0)
    die_broadcasting();
  else if (strcmp(scene, "exchanging") == 0)
    die_exchanging();
  else if (strcmp(scene, "allgathering") == 0)
    die_allgathering();
  else if (strcmp(scene, "scattering") == 0)
    die_before_scattering();
  else if (strcmp(scene, "one-sided") == 0)
    die_one_sided(false);
  else if (strcmp(scene, "flushing") == 0)
    die_flushing();
  else if (strcmp(scene, "unlooked") == 0)
    die_unlooked();
  else if (strcmp(scene, "one-sided-open") == 0)
    die_one_sided(true);
  else if (strcmp(scene, "locking") == 0)
    die_locking(false, false);
  else if (strcmp(scene, "lock-queued") == 0)
    die_locking(true, false);
  else if (strcmp(scene, "locking-near") == 0)
    die_locking(false, true);
  else if (strcmp(scene, "lock-queued-near") == 0)
    die_locking(true, true);
  else if (strcmp(scene, "accumulating") == 0)
    die_accumulating();
  else
    return false;
  return true;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD; /* no duplicate: that would acquaint everybody with everybody */
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  victim = size - 1;
  const char* scene = argc > 1 ? argv[1] : "";
  if (strcmp(scene, "leaving") == 0) return leave();
  if (!play(scene)) {
    fprintf(stderr, "death: no scene '%s'\n", scene);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  expect_life();
  check_exit_alone(rank == 0);
}
