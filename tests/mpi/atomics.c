/* atomics.c: all ranks work on the same words of one window at the same time.
 *
 * Tickets by fetch_and_op, sums by accumulates of one element and of many, with gaps, a counter and
 * a lock made of compare_and_swap.  Meanwhile the window's owner loads its words directly, and
 * where the memory is shared so do the others: what only grows must not be seen to shrink, as words
 * that are aligned change at once.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/one_host.h"

enum {
  kTickets = 60,   /* a rank */
  kAdditions = 20, /* a rank, of all words */
  kSwaps = 40,     /* a rank */
  kEntries = 15,   /* a rank, into the lock */
  kWords = 600     /* that are added to; every second one by the accumulates with gaps */
};

/* The words, by their displacements. */
enum { kTicket, kSwapped, kLock, kGuarded, kSums, kAll = kSums + kWords };

typedef enum Flavour { kAllocated, kCreated, kShared, kFlavours } Flavour;

static const char* const kNames[kFlavours] = {"allocate", "create", "allocate_shared"};

static MPI_Comm comm;
static int rank, size, owner;
static MPI_Win win;
static volatile int64_t* words; /* the owner's, where this rank may load them */
static int64_t seen[kAll];
static const char* name;

/* ---- direct loads ---- */

static void look(int word) {
  const int64_t now = words[word];
  CHECK(now >= seen[word], "%s: word %d shrank from %lld to %lld", name, word,
        (long long)seen[word], (long long)now);
  seen[word] = now;
}

/* In an epoch of lock_all: makes others' updates visible, and progress while at it. */
static void look_around(void) {
  int flag;
  if (words == NULL) return;
  MPI_Win_sync(win);
  look(kTicket), look(kSwapped), look(kSums), look(kAll - 1);
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
}

/* ---- what is done to the words ---- */

static int64_t fetch(MPI_Op op, int64_t value, int word) {
  int64_t before;
  MPI_Fetch_and_op(&value, &before, MPI_INT64_T, owner, word, op, win);
  MPI_Win_flush(owner, win);
  return before;
}

static int64_t swap(int64_t expected, int64_t wanted, int word) {
  int64_t before;
  MPI_Compare_and_swap(&wanted, &expected, &before, MPI_INT64_T, owner, word, win);
  MPI_Win_flush(owner, win);
  return before;
}

/* No ticket is drawn twice, and a rank's own grow. */
static void draw_tickets(int* drawn) {
  int64_t last = -1;
  for (int i = 0; i < kTickets; i++) {
    const int64_t ticket = fetch(MPI_SUM, 1, kTicket);
    CHECK(ticket > last && ticket < size * kTickets, "%s: ticket %lld after %lld", name,
          (long long)ticket, (long long)last);
    if (ticket >= 0 && ticket < size * kTickets) drawn[ticket]++;
    last = ticket;
    look_around();
  }
}

/* All words with one accumulate, those with gaps with another, some one by one. */
static void add(void) {
  int64_t ones[kWords];
  MPI_Datatype every_second;
  for (int w = 0; w < kWords; w++) ones[w] = 1;
  MPI_Type_vector(kWords / 2, 1, 2, MPI_INT64_T, &every_second);
  MPI_Type_commit(&every_second);
  for (int i = 0; i < kAdditions; i++) {
    MPI_Accumulate(ones, kWords, MPI_INT64_T, owner, kSums, kWords, MPI_INT64_T, MPI_SUM, win);
    MPI_Accumulate(ones, kWords / 2, MPI_INT64_T, owner, kSums, 1, every_second, MPI_SUM, win);
    MPI_Accumulate(ones, 1, MPI_INT64_T, owner, kSums + i, 1, MPI_INT64_T, MPI_SUM, win);
    fetch(MPI_SUM, 1, kSums + kWords - 1 - i);
    look_around();
  }
  MPI_Type_free(&every_second);
}

static void swap_upwards(void) {
  int64_t now = fetch(MPI_NO_OP, 0, kSwapped);
  for (int i = 0; i < kSwaps; i++) {
    for (int64_t before; (before = swap(now, now + 1, kSwapped)) != now; now = before) {
      look_around();
    }
    now++;
  }
}

/* A lock of compare_and_swap around a get and a put. */
static void enter(void) {
  for (int i = 0; i < kEntries; i++) {
    int64_t count;
    while (swap(0, rank + 1, kLock) != 0) look_around();
    MPI_Get(&count, 1, MPI_INT64_T, owner, kGuarded, 1, MPI_INT64_T, win);
    MPI_Win_flush(owner, win);
    count++;
    MPI_Put(&count, 1, MPI_INT64_T, owner, kGuarded, 1, MPI_INT64_T, win);
    MPI_Win_flush(owner, win);
    const int64_t holder = swap(rank + 1, 0, kLock);
    CHECK(holder == rank + 1, "%s: the lock of rank %d was %lld's", name, rank,
          (long long)holder - 1);
  }
}

/* ---- the end ---- */

static int64_t sum_of(int word) {
  const int from_first = word, from_last = kWords - 1 - word;
  const int each =
      kAdditions * (word % 2 == 0 ? 2 : 1) + (from_first < kAdditions) + (from_last < kAdditions);
  return (int64_t)each * size;
}

static void check_words(const int64_t* memory) {
  CHECK(memory[kTicket] == size * kTickets, "%s: %lld tickets", name, (long long)memory[kTicket]);
  CHECK(memory[kSwapped] == size * kSwaps, "%s: %lld swaps", name, (long long)memory[kSwapped]);
  CHECK(memory[kGuarded] == size * kEntries && memory[kLock] == 0, "%s: %lld entries, lock %lld",
        name, (long long)memory[kGuarded], (long long)memory[kLock]);
  for (int w = 0; w < kWords; w++) {
    CHECK(memory[kSums + w] == sum_of(w), "%s: word %d is %lld and not %lld", name, w,
          (long long)memory[kSums + w], (long long)sum_of(w));
  }
}

static void check_tickets(const int* drawn) {
  int* all = calloc((size_t)(size * kTickets), sizeof(int));
  MPI_Reduce(drawn, all, size * kTickets, MPI_INT, MPI_SUM, 0, comm);
  for (int i = 0; rank == 0 && i < size * kTickets; i++) {
    CHECK(all[i] == 1, "%s: ticket %d was drawn %d times", name, i, all[i]);
  }
  free(all);
}

/* Only the owner has words; 0 bytes of the others. */
static int64_t* window_new(Flavour flavour, int64_t* memory) {
  const MPI_Aint bytes = rank == owner ? (MPI_Aint)(kAll * sizeof(int64_t)) : 0;
  int64_t* mine = memory;
  words = NULL;
  if (flavour == kCreated) MPI_Win_create(mine, bytes, 8, MPI_INFO_NULL, comm, &win);
  if (flavour == kAllocated) MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, comm, &mine, &win);
  if (flavour == kShared) {
    MPI_Aint its_bytes;
    int unit;
    void* shared;
    MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, comm, &mine, &win);
    MPI_Win_shared_query(win, owner, &its_bytes, &unit, &shared);
    words = shared;
  }
  if (rank == owner) words = mine;
  int* model;
  int flag;
  MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
  if (flag && *model != MPI_WIN_UNIFIED) words = NULL; /* loads would see nothing */
  return mine;
}

static void hammer(Flavour flavour) {
  static int64_t memory[kAll];
  int* drawn = calloc((size_t)(size * kTickets), sizeof(int));
  name = kNames[flavour];
  memset(seen, 0, sizeof(seen));
  int64_t* mine = window_new(flavour, memory);
  if (rank == owner) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, owner, 0, win);
    memset(mine, 0, kAll * sizeof(int64_t));
    MPI_Win_unlock(owner, win);
  }
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
  draw_tickets(drawn);
  add();
  swap_upwards();
  enter();
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  if (rank == owner) {
    MPI_Win_lock(MPI_LOCK_SHARED, owner, 0, win);
    check_words(mine);
    MPI_Win_unlock(owner, win);
  }
  check_tickets(drawn);
  free(drawn);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const bool shared = on_one_host(comm);
  for (Flavour flavour = kAllocated; flavour < kFlavours; flavour++) {
    if (flavour == kShared && !shared) continue;
    owner = flavour == kCreated ? size - 1 : 0;
    hammer(flavour);
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
