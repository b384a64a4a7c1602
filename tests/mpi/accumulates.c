/* accumulates.c: two ranks accumulate much to one, whose memory for that is taken once.
 *
 * A target that takes each buffer from the system anew and gives it back touches every page again;
 * what is counted are its page faults.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "support/check.h"

enum { kWords = 1 << 18, kRounds = 10, kPieces = 10, kPageBytes = 4096 };

static MPI_Comm comm;
static int rank;

static long page_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/* Each origin adds its words to the target's, kPieces times a round. */
static void add_rounds(MPI_Win win, const uint32_t* mine, int rounds) {
  for (int r = 0; r < rounds; r++) {
    MPI_Win_lock_all(0, win);
    for (int i = 0; rank != 0 && i < kPieces; i++) {
      MPI_Accumulate(mine, kWords, MPI_UINT32_T, 0, 0, kWords, MPI_UINT32_T, MPI_SUM, win);
      MPI_Win_flush_local(0, win);
    }
    MPI_Win_unlock_all(win);
    MPI_Barrier(comm);
  }
}

static uint32_t word_of(int origin, uint32_t word) { return word * 2654435761u + (uint32_t)origin; }

static void check_sums(const uint32_t* sums, int rounds, int size) {
  int wrong = 0;
  for (uint32_t w = 0; w < kWords; w++) {
    uint32_t sum = 0;
    for (int origin = 1; origin < size; origin++) sum += word_of(origin, w);
    wrong += sums[w] != sum * (uint32_t)(rounds * kPieces);
  }
  CHECK(wrong == 0, "%d of %d sums are wrong", wrong, kWords);
}

int main(int argc, char** argv) {
  int size = 0;
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  uint32_t* mine = malloc(sizeof(uint32_t) * kWords);
  uint32_t* sums = calloc(kWords, sizeof(uint32_t));
  if (!mine || !sums) MPI_Abort(comm, 1);
  for (uint32_t w = 0; w < kWords; w++) mine[w] = word_of(rank, w);
  MPI_Win win;
  MPI_Win_create(sums, sizeof(uint32_t) * kWords, 4, MPI_INFO_NULL, comm, &win);
  add_rounds(win, mine, 2);
  const long before = page_faults();
  add_rounds(win, mine, kRounds);
  const long faults = page_faults() - before;
  const long pages = (long)(size - 1) * kRounds * kPieces * (kWords * 4L / kPageBytes);
  CHECK(rank != 0 || faults < pages / 10, "%ld page faults for %ld pages that arrived", faults,
        pages);
  MPI_Win_free(&win);
  if (rank == 0) check_sums(sums, 2 + kRounds, size);
  free(mine);
  free(sums);
  MPI_Comm_free(&comm);
  return check_finish();
}
