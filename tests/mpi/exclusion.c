/* exclusion.c: atomic operations and locks of many ranks at once, in windows that MPI allocates.
 *
 * Those of a target's node are done in shared memory and those of other nodes by messages; where
 * the environment makes two nodes of one, both meet at every target.  Nothing may get lost between
 * them.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

enum { kRounds = 300, kMany = 1000, kSections = 100 };

static MPI_Comm comm;
static int rank, size;

static int64_t* allocate(int words, MPI_Win* win) {
  int64_t* memory = NULL;
  MPI_Win_allocate((MPI_Aint)(sizeof(int64_t) * (size_t)words), sizeof(int64_t), MPI_INFO_NULL,
                   comm, (void*)&memory, win);
  memset(memory, 0, sizeof(int64_t) * (size_t)words);
  MPI_Barrier(comm);
  return memory;
}

/* Adds one to a word, however often others get in between. */
static void add_by_swaps(int target, MPI_Aint word, MPI_Win win) {
  int64_t seen = 0, expected, next;
  do {
    expected = seen;
    next = expected + 1;
    MPI_Compare_and_swap(&next, &expected, &seen, MPI_INT64_T, target, word, win);
    MPI_Win_flush(target, win);
  } while (seen != expected);
}

/* Every rank adds to the words of all, one at a time and many at once; who fetches sees each sum
 * once. */
static void atomic(void) {
  MPI_Win win;
  MPI_Datatype every_second;
  const int64_t one = 1;
  int64_t ones[kMany], ticket, last = -1, *mine = allocate(kMany, &win);
  for (int i = 0; i < kMany; i++) ones[i] = 1;
  MPI_Type_vector(kMany / 2, 1, 2, MPI_INT64_T, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kRounds; i++) {
    const int target = (rank + i) % size;
    MPI_Accumulate(&one, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Accumulate(ones, kMany, MPI_INT64_T, target, 0, kMany, MPI_INT64_T, MPI_SUM, win);
    MPI_Accumulate(ones, kMany / 2, MPI_INT64_T, target, 0, 1, every_second, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, kMany - 1, MPI_SUM, win);
    add_by_swaps(target, 0, win);
    MPI_Win_flush(0, win);
    CHECK(ticket > last, "ticket %lld after %lld", (long long)ticket, (long long)last);
    last = ticket;
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  int64_t wrong = 0, total = 0;
  for (int i = 0; i < kMany; i++) {
    const int64_t times =
        (int64_t)kRounds; /* each origin visits each target kRounds / size times */
    int64_t sum = times * (1 + (i % 2 == 0) + 2 * (i == 0));
    if (i == kMany - 1 && rank == 0) sum += times * size;
    wrong += mine[i] != sum;
    total += mine[i];
  }
  CHECK(wrong == 0, "%lld sums are wrong, their total is %lld", (long long)wrong, (long long)total);
  MPI_Win_unlock(rank, win);
  MPI_Type_free(&every_second);
  MPI_Win_free(&win);
}

/* Two words that are only written together, and read together. */
static void write_both(MPI_Win win) {
  int64_t words[2];
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Get(&words[0], 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
  MPI_Get(&words[1], 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, win);
  MPI_Win_flush(0, win);
  CHECK(words[0] == words[1], "%lld and %lld", (long long)words[0], (long long)words[1]);
  words[0]++;
  MPI_Put(&words[0], 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
  MPI_Win_flush(0, win);
  MPI_Put(&words[0], 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, win);
  MPI_Win_unlock(0, win);
}

static void read_both(bool all, MPI_Win win) {
  int64_t words[2] = {-1, -2};
  if (all)
    MPI_Win_lock_all(0, win);
  else
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Get(&words[0], 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win);
  MPI_Win_flush(0, win);
  MPI_Get(&words[1], 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, win);
  if (all)
    MPI_Win_unlock_all(win);
  else
    MPI_Win_unlock(0, win);
  CHECK(words[0] == words[1], "%lld and %lld", (long long)words[0], (long long)words[1]);
}

static void locks(void) {
  MPI_Win win;
  int64_t* mine = allocate(2, &win);
  for (int i = 0; i < kSections; i++) {
    write_both(win);
    read_both(i % 2 == 0, win);
  }
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  const int64_t sum = rank == 0 ? (int64_t)kSections * size : 0;
  CHECK(mine[0] == sum && mine[1] == sum, "%lld and %lld", (long long)mine[0], (long long)mine[1]);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

/* Locks of several targets at once, and what is wrong with an epoch. */
static void epochs(void) {
  MPI_Win win;
  int64_t value = 0;
  (void)allocate(1, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  for (int i = 0; i < size; i++) CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, i, 0, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  for (int i = 0; i < size; i++) {
    CHECK_MPI(MPI_Win_unlock(i, win));
    CHECK_CLASS(MPI_Put(&value, 1, MPI_INT64_T, i, 0, 1, MPI_INT64_T, win), MPI_ERR_RMA_SYNC);
  }
  CHECK_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_MPI(MPI_Win_unlock_all(win));
  MPI_Barrier(comm);
  if (rank == 0) {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, MPI_MODE_NOCHECK, win));
    CHECK_MPI(MPI_Put(&value, 1, MPI_INT64_T, size - 1, 0, 1, MPI_INT64_T, win));
    CHECK_MPI(MPI_Win_unlock(size - 1, win));
  }
  for (int i = 0; i < 2; i++) { /* who said MPI_MODE_NOCHECK once need not mean it for ever */
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win));
    CHECK_MPI(MPI_Win_unlock(size - 1, win));
  }
  MPI_Win_free(&win);
}

/* An operator that its type does not have is the caller's mistake, and nobody else's trouble. */
static void wrong_operators(void) {
  MPI_Win win;
  double value = 1, before = 0;
  (void)allocate(1, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < size; i++) {
    CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_DOUBLE, i, 0, 1, MPI_DOUBLE, MPI_BAND, win),
                MPI_ERR_OP);
    CHECK_CLASS(MPI_Fetch_and_op(&value, &before, MPI_DOUBLE, i, 0, MPI_BXOR, win), MPI_ERR_OP);
    CHECK_CLASS(MPI_Accumulate(&value, 8, MPI_BYTE, i, 0, 8, MPI_BYTE, MPI_SUM, win), MPI_ERR_OP);
    CHECK_MPI(MPI_Win_flush(i, win));
  }
  CHECK_MPI(MPI_Win_unlock_all(win));
  MPI_Barrier(comm);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  CHECK(kRounds % size == 0, "%d ranks", size);
  atomic();
  locks();
  epochs();
  wrong_operators();
  MPI_Comm_free(&comm);
  return check_finish();
}
