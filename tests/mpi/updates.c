/* updates.c: accumulates and fetching operations in windows whose memory the origin does not have.
 *
 * Each rank updates the window of its right neighbour: every length from one element to many
 * pieces, with holes at either side; one operation after another at the same place, whose order
 * counts, also where some are left to MPICH; many that fetch at once; pairs, which have holes of
 * their own; and what lies outside of the window.
 */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { kWords = 1 << 18, kFilling = -77 };

static int rank, size, right, left;
static int *memory, *expected;
static MPI_Win win;

static int word(int from, int i) { return from * 1000 + i * 3 + 1; }

static void make_window(void) {
  memory = malloc(kWords * sizeof(int));
  expected = malloc(kWords * sizeof(int));
  for (int i = 0; i < kWords; i++) memory[i] = expected[i] = kFilling;
  MPI_Win_create(memory, kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void check_memory(const char* what) {
  int i = 0;
  while (i < kWords && memory[i] == expected[i]) i++;
  CHECK(i == kWords, "%s: word %d is %d and not %d", what, i, memory[i], expected[i]);
}

/* `count` blocks of `length` ints, `pitch` apart. */
static MPI_Datatype blocks(int count, int length, int pitch) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, pitch, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

/* ---- lengths ---- */

/* Adds, and fetches what was there before; types are freed while it is on its way. */
static void add(int elements, int holes) {
  enum { kAt = 100 };
  const int there_pitch = holes & 2 ? 4 : 3, here_pitch = holes & 1 ? 5 : 3;
  int* data = malloc((size_t)elements * 5 * sizeof(int));
  int* before = calloc((size_t)elements * 3, sizeof(int));
  MPI_Datatype here = blocks(elements, 3, here_pitch), there = blocks(elements, 3, there_pitch);
  for (int i = 0; i < elements * 5; i++) data[i] = word(rank, i);
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Accumulate(data, 1, here, right, kAt, 1, there, MPI_SUM, win));
  CHECK_MPI(MPI_Get_accumulate(data, 1, here, before, elements * 3, MPI_INT, right, kAt, 1, there,
                               MPI_SUM, win));
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  CHECK_MPI(MPI_Win_fence(0, win));
  int wrong = 0;
  for (int i = 0; i < elements * 3; i++) {
    const int place = kAt + i / 3 * there_pitch + i % 3, from = i / 3 * here_pitch + i % 3;
    expected[place] = (int)((unsigned)expected[place] + 2u * (unsigned)word(left, from));
  }
  check_memory("sums");
  /* What the right neighbour had in between: what it has now without one of the two. */
  int* now = malloc((size_t)elements * 4 * sizeof(int));
  CHECK_MPI(MPI_Get(now, elements * there_pitch, MPI_INT, right, kAt, elements * there_pitch,
                    MPI_INT, win));
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < elements * 3; i++) {
    const unsigned after = (unsigned)now[i / 3 * there_pitch + i % 3];
    wrong += (unsigned)before[i] != after - (unsigned)word(rank, i / 3 * here_pitch + i % 3);
  }
  CHECK(wrong == 0, "%d of %d words fetched with holes %d are wrong", wrong, elements * 3, holes);
  free(now);
  free(data);
  free(before);
}

static void lengths(void) {
  for (int elements = 1; elements <= 40000; elements = elements * 6 + 1)
    for (int holes = 0; holes < 4; holes++) add(elements, holes);
}

/* ---- order ---- */

/* So many blocks without order that no message's header has their description: those are MPICH's.
 */
static MPI_Datatype scattered(int count) {
  int* places = malloc((size_t)count * sizeof(int));
  unsigned seed = 1;
  MPI_Datatype type;
  for (int i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    places[i] = i * 4 + (int)(seed >> 30);
  }
  MPI_Type_create_indexed_block(count, 1, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  free(places);
  return type;
}

/* Long and short ones in turn, each of which replaces what the one before wrote; every third is
 * MPICH's.  The last one's values stay. */
static void order(void) {
  enum { kTurns = 30, kLong = 60000, kScattered = 8000 };
  MPI_Datatype type = scattered(kScattered);
  int* data = malloc((size_t)kTurns * kLong * sizeof(int));
  int* old = malloc(kTurns * sizeof(int));
  for (int turn = 0; turn < kTurns; turn++)
    for (int i = 0; i < kLong; i++) data[turn * kLong + i] = turn * 7 + rank;
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
  for (int turn = 0; turn < kTurns; turn++) {
    const int* mine = data + (size_t)turn * kLong;
    const int count = turn % 2 ? 4 : kLong;
    if (turn % 3 == 2)
      CHECK_MPI(MPI_Accumulate(mine, kScattered, MPI_INT, right, 0, 1, type, MPI_REPLACE, win));
    else
      CHECK_MPI(MPI_Accumulate(mine, count, MPI_INT, right, 0, count, MPI_INT, MPI_REPLACE, win));
    CHECK_MPI(MPI_Fetch_and_op(NULL, old + turn, MPI_INT, right, 2, MPI_NO_OP, win));
  }
  CHECK_MPI(MPI_Accumulate(data, kLong, MPI_INT, right, 0, kLong, MPI_INT, MPI_REPLACE, win));
  CHECK_MPI(MPI_Win_unlock(right, win));
  for (int turn = 0; turn < kTurns; turn++) {
    /* Word 2 is not in the scattered type, or is. */
    const int now = turn * 7 + rank, then = turn > 0 ? old[turn - 1] : now;
    CHECK(old[turn] == now || (turn % 3 == 2 && old[turn] == then), "turn %d: %d and not %d", turn,
          old[turn], now);
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kLong; i++) expected[i] = left;
  check_memory("the last one");
  MPI_Type_free(&type);
  free(old);
  free(data);
}

/* ---- many at once ---- */

/* More results than may be under way, long and short: each operation sees those before it. */
static void many_fetches(void) {
  enum { kMany = 2000, kLong = 30000, kLongs = 6, kAt = 1000 };
  int* results = malloc(kMany * sizeof(int));
  int* longs = calloc((size_t)kLongs * kLong, sizeof(int));
  int* ones = malloc(kLong * sizeof(int));
  int wrong = 0;
  for (int i = 0; i < kLong; i++) ones[i] = 1;
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < kLong; i++) memory[kAt + i] = i;
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < kMany; i++) {
    CHECK_MPI(MPI_Fetch_and_op(ones, results + i, MPI_INT, right, kAt, MPI_SUM, win));
    if (i % (kMany / kLongs) == 0 && i / (kMany / kLongs) < kLongs)
      CHECK_MPI(MPI_Get_accumulate(ones, kLong, MPI_INT, longs + i / (kMany / kLongs) * kLong,
                                   kLong, MPI_INT, right, kAt, kLong, MPI_INT, MPI_SUM, win));
  }
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < kMany; i++) {
    int before = (i - 1) / (kMany / kLongs) + 1; /* long ones */
    if (i == 0) before = 0;
    if (before > kLongs) before = kLongs;
    wrong += results[i] != i + before;
  }
  CHECK(wrong == 0, "%d of %d results are wrong", wrong, kMany);
  wrong = 0;
  for (int n = 0; n < kLongs; n++)
    for (int i = 1; i < kLong; i++) wrong += longs[n * kLong + i] != i + n;
  CHECK(wrong == 0, "%d words of long results are wrong", wrong);
  for (int i = 0; i < kLong; i++) expected[kAt + i] = i + kLongs + (i == 0 ? kMany : 0);
  check_memory("many at once");
  free(ones);
  free(longs);
  free(results);
}

/* All ranks count in one word by comparing and swapping. */
static void compare_and_swap(void) {
  enum { kTurns = 40, kAt = 7 };
  const int before = expected[kAt];
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_Win_lock_all(0, win));
  for (int turn = 0; turn < kTurns; turn++) {
    int guess = before, found = 0;
    for (;;) {
      const int wanted = guess + 1;
      CHECK_MPI(MPI_Compare_and_swap(&wanted, &guess, &found, MPI_INT, 0, kAt, win));
      CHECK_MPI(MPI_Win_flush(0, win));
      if (found == guess) break;
      guess = found;
    }
  }
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) expected[kAt] += kTurns * size;
  check_memory("compare and swap");
}

/* ---- pairs ---- */

typedef struct {
  double value;
  int place;
} pair_t;

/* Pairs that are 16 bytes apart and have 12, every second or all, in more pieces than one. */
static void pairs(void) {
  enum { kPairs = 9000 };
  pair_t* window = calloc((size_t)kPairs * 2, sizeof(pair_t));
  pair_t* mine = calloc(kPairs, sizeof(pair_t));
  MPI_Datatype every_second;
  MPI_Win pairs_win;
  int wrong = 0;
  for (int i = 0; i < kPairs; i++) mine[i] = (pair_t){i % 5 ? i : -i, rank};
  for (int i = 0; i < kPairs * 2; i++) window[i] = (pair_t){i / 2 % 3 ? -1e9 : 1e9, 1000 + i};
  MPI_Type_vector(kPairs, 1, 2, MPI_DOUBLE_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_Win_create(window, (MPI_Aint)sizeof(pair_t) * kPairs * 2, sizeof(pair_t), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &pairs_win);
  MPI_Win_fence(0, pairs_win);
  MPI_Accumulate(mine, kPairs, MPI_DOUBLE_INT, right, 0, 1, every_second, MPI_MAXLOC, pairs_win);
  MPI_Win_fence(0, pairs_win);
  for (int i = 0; i < kPairs * 2; i++) {
    const bool raised = i % 2 == 0 && i / 2 % 3;
    const pair_t want = raised ? (pair_t){i / 2 % 5 ? i / 2 : -(i / 2), left}
                               : (pair_t){i / 2 % 3 ? -1e9 : 1e9, 1000 + i};
    wrong += window[i].value != want.value || window[i].place != want.place;
  }
  CHECK(wrong == 0, "%d of %d pairs are wrong", wrong, kPairs * 2);
  MPI_Win_free(&pairs_win);
  MPI_Type_free(&every_second);
  free(mine);
  free(window);
}

/* ---- outside of the window ---- */

static void outside(void) {
  enum { kLong = 50000 };
  int* data = calloc(kLong, sizeof(int));
  int* old = calloc(kLong, sizeof(int));
  int one = 1;
  MPI_Request request;
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Accumulate(&one, 1, MPI_INT, right, kWords, 1, MPI_INT, MPI_SUM, win));
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(
      MPI_Accumulate(data, kLong, MPI_INT, right, kWords - 9, kLong, MPI_INT, MPI_REPLACE, win));
  CHECK_CLASS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
  CHECK_MPI(MPI_Fetch_and_op(&one, old, MPI_INT, right, kWords, MPI_SUM, win));
  CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(MPI_Compare_and_swap(&one, &one, old, MPI_INT, right, INT_MAX, win));
  CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(MPI_Rget_accumulate(data, kLong, MPI_INT, old, kLong, MPI_INT, right, kWords - 9, kLong,
                                MPI_INT, MPI_SUM, win, &request));
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(MPI_Fetch_and_op(&one, old, MPI_INT, right, 20, MPI_NO_OP, win));
  CHECK_MPI(MPI_Win_unlock(right, win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  check_memory("outside");
  free(old);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  make_window();
  lengths();
  order();
  many_fetches();
  compare_and_swap();
  pairs();
  outside();
  MPI_Win_free(&win);
  free(memory);
  free(expected);
  return check_finish();
}
