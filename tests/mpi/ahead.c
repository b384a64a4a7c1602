/* ahead.c: a member of a window's groups is an epoch ahead of another, which has not yet looked.
 *
 * Four ranks; the even and the odd ones expose their memory to each other, then each kind to
 * itself. Rank 1 waits before its first MPI_Win_start until rank 3 has posted the second epoch,
 * whose post so comes to it together with those of the first.
 */
#include <string.h>
#include <unistd.h>

#include "support/check.h"

enum { kRanks = 4, kEpochs = 20, kAheadMicroseconds = 20000 };

static MPI_Comm comm;
static int rank;
static MPI_Group even, odd;

static MPI_Group half(MPI_Group all, int first) {
  const int ranks[] = {first, first + 2};
  MPI_Group group;
  MPI_Group_incl(all, 2, ranks, &group);
  return group;
}

/* The first epoch has no operations, so that nobody waits for rank 1 to look. */
static void wait_for_others(MPI_Win win, bool tests) {
  int flag = 0;
  MPI_Win_complete(win);
  if (!tests) MPI_Win_wait(win);
  while (tests && !flag) MPI_Win_test(win, &flag);
}

static void cross(MPI_Win win, bool tests) {
  const MPI_Group others = rank % 2 == 0 ? odd : even;
  MPI_Win_post(others, 0, win);
  if (rank == 1) usleep(kAheadMicroseconds);
  MPI_Win_start(others, 0, win);
  wait_for_others(win, tests);
}

static void among_our_own(MPI_Win win, int* memory, int epoch, bool tests) {
  const MPI_Group own = rank % 2 == 0 ? even : odd;
  const int word = 1 + epoch * kRanks + rank;
  memset(memory, 0, kRanks * sizeof(int));
  MPI_Win_post(own, 0, win);
  MPI_Win_start(own, 0, win);
  for (int target = rank % 2; target < kRanks; target += 2) {
    MPI_Put(&word, 1, MPI_INT, target, rank, 1, MPI_INT, win);
  }
  wait_for_others(win, tests);
  for (int origin = 0; origin < kRanks; origin++) {
    const int expected = origin % 2 == rank % 2 ? 1 + epoch * kRanks + origin : 0;
    CHECK(memory[origin] == expected, "epoch %d: %d from rank %d, not %d", epoch, memory[origin],
          origin, expected);
  }
}

static void play(MPI_Win win, int* memory) {
  for (int epoch = 0; epoch < kEpochs; epoch++) {
    cross(win, epoch % 2 == 1);
    among_our_own(win, memory, epoch, epoch % 4 > 1);
  }
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  int memory[kRanks], *shared;
  MPI_Group all;
  MPI_Win win;

  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_group(comm, &all);
  even = half(all, 0);
  odd = half(all, 1);
  MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, comm, &win);
  play(win, memory);
  MPI_Win_allocate(sizeof(memory), sizeof(int), MPI_INFO_NULL, comm, &shared, &win);
  play(win, shared);
  MPI_Group_free(&all);
  MPI_Group_free(&even);
  MPI_Group_free(&odd);
  MPI_Comm_free(&comm);
  return check_finish();
}
