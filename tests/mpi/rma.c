/* rma.c: one-sided operations with derived datatypes at the origin, at the target, and at both.
 *
 * With the argument "allocated" in windows that MPI allocates, which neighbours may share.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"
#include "support/random_type.h"

enum { kRandomTypes = 24, kManyBytes = 200000 };

static MPI_Comm comm;
static int rank, size, left, right;
static bool allocated;

typedef enum Sync { kFence, kLock, kLockAll, kPostStart, kSyncCount } Sync;

static const char* const kSyncNames[kSyncCount] = {"fence", "lock", "lock_all", "post/start"};

/* One neighbour on each side may be the same rank. */
static void epoch_begin(Sync sync, MPI_Win win) {
  MPI_Group world, targets, origins;
  if (sync == kFence) MPI_Win_fence(0, win);
  if (sync == kLock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
  if (sync == kLockAll) MPI_Win_lock_all(0, win);
  if (sync != kPostStart) return;
  MPI_Comm_group(comm, &world);
  MPI_Group_incl(world, 1, &right, &targets);
  MPI_Group_incl(world, 1, &left, &origins);
  MPI_Win_post(origins, 0, win);
  MPI_Win_start(targets, 0, win);
  MPI_Group_free(&world);
  MPI_Group_free(&targets);
  MPI_Group_free(&origins);
}

static void epoch_end(Sync sync, MPI_Win win) {
  if (sync == kFence) MPI_Win_fence(0, win);
  if (sync == kLock) MPI_Win_unlock(right, win);
  if (sync == kLockAll) MPI_Win_flush(right, win), MPI_Win_unlock_all(win);
  if (sync == kPostStart) MPI_Win_complete(win), MPI_Win_wait(win);
  MPI_Barrier(comm); /* everybody's accesses are over */
}

/* A window over the memory, or over memory of MPI's with the same in it, which is returned. */
static void* open_window(void* memory, size_t bytes, int unit, MPI_Win* win) {
  void* base = memory;
  if (allocated) {
    MPI_Win_allocate((MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, (void*)&base, win);
    memcpy(base, memory, bytes);
  } else {
    MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, comm, win);
  }
  MPI_Barrier(comm);
  return base;
}

/* One over an image whose type map may begin below its base. */
static void* expose(Image* image, MPI_Win* win) {
  return open_window(image->memory, image->size, 1, win);
}

static uint32_t stamp_of(int origin) { return 100 + (uint32_t)origin; }

/* `mine` is the origin's layout, `theirs` the target's; the same signature. */
static void put(const Layout* mine, const Layout* theirs, size_t count, Sync sync,
                const char* what) {
  Image source = layout_image(mine, count, stamp_of(rank), true);
  Image window = layout_image(theirs, count, stamp_of(left), false);
  MPI_Win win;
  const void* exposed = expose(&window, &win);
  epoch_begin(sync, win);
  MPI_Put(source.base, (int)count, mine->type, right, -window.low, (int)count, theirs->type, win);
  epoch_end(sync, win);
  /* A lock of one's own makes what others put there visible. */
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  memmove(window.memory, exposed, window.size);
  CHECK_IMAGE(&window, stamp_of(left), "Put, %s, %s", kSyncNames[sync], what);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
  image_free(&source), image_free(&window);
}

static void get(const Layout* mine, const Layout* theirs, size_t count, Sync sync,
                const char* what) {
  Image window = layout_image(theirs, count, stamp_of(rank), true);
  Image result = layout_image(mine, count, stamp_of(right), false);
  MPI_Win win;
  (void)expose(&window, &win);
  epoch_begin(sync, win);
  MPI_Get(result.base, (int)count, mine->type, right, -window.low, (int)count, theirs->type, win);
  epoch_end(sync, win);
  CHECK_IMAGE(&result, stamp_of(right), "Get, %s, %s", kSyncNames[sync], what);
  MPI_Win_free(&win);
  image_free(&window), image_free(&result);
}

static void moves(void) {
  static const int kBlocks[] = {1, 40, 5000, 30000};
  for (int b = 0; b < 4; b++) {
    char what[60];
    snprintf(what, sizeof(what), "%d blocks", kBlocks[b]);
    Layout gapped = layout_strided(kBlocks[b], 3, 5), dense = layout_contiguous(3 * kBlocks[b]);
    Layout irregular = layout_irregular(kBlocks[b], 3);
    for (Sync sync = kFence; sync < kSyncCount; sync++) {
      put(&gapped, &dense, 1, sync, what), get(&gapped, &dense, 1, sync, what);
      put(&dense, &irregular, 1, sync, what), get(&dense, &irregular, 1, sync, what);
      put(&irregular, &gapped, 2, sync, what), get(&irregular, &gapped, 2, sync, what);
    }
    layout_free(&gapped), layout_free(&dense), layout_free(&irregular);
  }
}

/* Pair types apart: MPICH 4.0.2 cannot rebuild them at the target (pmodels/mpich #6341). */
static void random_moves(uint64_t seed) {
  for (int i = 0; i < kRandomTypes; i++) {
    RandomType a = random_type_new(seed + (uint64_t)i, 1),
               b = random_type_new(seed + (uint64_t)i, 2);
    const size_t bytes = typemap_bytes(&a.map);
    const size_t count = bytes ? 1 + (i % 3 ? 0 : kManyBytes) / bytes : 1;
    const Layout mine = {a.type, a.map, a.extent}, theirs = {b.type, b.map, b.extent};
    put(&mine, &theirs, count, (Sync)(i % kSyncCount), a.text);
    get(&mine, &theirs, count, (Sync)(i % kSyncCount), a.text);
    random_type_free(&a), random_type_free(&b);
  }
}

/* ---- accumulate: every rank adds to rank 0's window, through a type with gaps ---- */

enum { kInts = 3000 };

static int count_wrong(const int* window, int factor, int offset) {
  int wrong = 0;
  for (int i = 0; i < kInts; i++) {
    wrong += window[2 * i] != i * factor + offset || window[2 * i + 1] != -7;
  }
  return wrong;
}

/* MPICH leaves what it does not need in a message's header as it was on the stack. */
__attribute__((noinline)) static void fill_stack(int with) {
  volatile char old[65536];
  for (size_t i = 0; i < sizeof(old); i++) old[i] = (char)with;
}

static void accumulate(void) {
  Layout every_second = layout_strided(kInts, 1, 2);
  int *memory = malloc(2 * kInts * sizeof(int)), *mine = malloc(kInts * sizeof(int));
  int* before = calloc(kInts, sizeof(int));
  const int nothing = 0;
  MPI_Win win;
  for (int i = 0; i < 2 * kInts; i++) memory[i] = i % 2 ? -7 : 0;
  for (int i = 0; i < kInts; i++) mine[i] = i * (rank + 1) + 1;
  const int* window = open_window(memory, 2 * kInts * sizeof(int), sizeof(int), &win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < 100; i++) {
    fill_stack(0xFF);
    MPI_Accumulate(&nothing, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  }
  MPI_Accumulate(mine, kInts, MPI_INT, 0, 0, 1, every_second.type, MPI_SUM, win);
  MPI_Win_fence(0, win);
  const int factor = size * (size + 1) / 2;
  if (rank == 0) CHECK(count_wrong(window, factor, size) == 0, "Accumulate through gaps");
  MPI_Win_fence(0, win);

  /* One at a time: fetch what is there, replace it. */
  for (int r = 0; r < size; r++) {
    MPI_Barrier(comm);
    if (r != rank) continue;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get_accumulate(mine, kInts, MPI_INT, before, kInts, MPI_INT, 0, 0, 1, every_second.type,
                       MPI_REPLACE, win);
    MPI_Win_unlock(0, win);
    int wrong = 0;
    for (int i = 0; i < kInts; i++) wrong += before[i] != (r ? i * r + 1 : i * factor + size);
    CHECK(wrong == 0, "Get_accumulate fetched %d wrong values", wrong);
  }
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  if (rank == 0) CHECK(count_wrong(window, size, 1) == 0, "MPI_REPLACE through gaps");
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
  layout_free(&every_second);
  free(memory), free(mine), free(before);
}

/* Each rank draws tickets until there are none left; no ticket is drawn twice. */
static void tickets(void) {
  enum { kTickets = 100 };
  int counter = 0, drawn[kTickets] = {0}, all[kTickets], ticket = 0;
  const int one = 1;
  MPI_Win win;
  (void)open_window(&counter, sizeof(counter), sizeof(int), &win);
  MPI_Win_lock_all(0, win);
  while (ticket < kTickets) {
    MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    if (ticket < kTickets) drawn[ticket]++;
  }
  MPI_Win_unlock_all(win);
  MPI_Reduce(drawn, all, kTickets, MPI_INT, MPI_SUM, 0, comm);
  for (int i = 0; rank == 0 && i < kTickets; i++) CHECK(all[i] == 1, "ticket %d: %d", i, all[i]);
  MPI_Win_free(&win);
}

/* Requests of their own, completed out of order. */
static void request_based(void) {
  enum { kRequests = 6 };
  Layout layout = layout_strided(2000, 2, 3);
  Image window = layout_image(&layout, kRequests, stamp_of(rank), true), parts[kRequests];
  MPI_Win win;
  MPI_Request requests[kRequests];
  (void)expose(&window, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < kRequests; i++) {
    parts[i] = layout_image(&layout, (size_t)i + 1, stamp_of(right), false);
    MPI_Rget(parts[i].base, i + 1, layout.type, right, -window.low, i + 1, layout.type, win,
             &requests[i]);
  }
  for (int i = kRequests - 1; i >= 0; i--) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    CHECK_IMAGE(&parts[i], stamp_of(right), "Rget of %d elements", i + 1);
    image_free(&parts[i]);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  image_free(&window);
  layout_free(&layout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  right = (rank + 1) % size, left = (rank + size - 1) % size;
  allocated = argc > 1 && strcmp(argv[1], "allocated") == 0;
  const uint64_t seed = random_seed(1000);
  for (int p = 0; p < (allocated ? 1 : kPathCount); p++) {
    path_set(comm, kPaths[p]); /* windows are on duplicates, which inherit it */
    moves();
    random_moves(seed + 1000 * (uint64_t)p);
  }
  accumulate();
  tickets();
  request_based();
  MPI_Comm_free(&comm);
  return check_finish();
}
