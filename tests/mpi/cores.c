/* cores.c: processes that wait for each other on one core move apart, and may use the same cores as
 * before.
 *
 * Both put themselves on one core without being bound to it, as the system may at their start, and
 * send each other messages.  By itself the system separates them after 20 to 30 ms, which are
 * mostly hundreds of messages or more.  Other processes of the machine may come in between: that
 * half of the attempts take few messages is enough.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "support/check.h"

enum { kTag = 4, kAttempts = 30, kMostMessages = 20000, kFew = 100 };

static int rank;

static void go_to(int core, const cpu_set_t* allowed) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  CHECK(sched_setaffinity(0, sizeof(one), &one) == 0, "sched_setaffinity");
  CHECK(sched_setaffinity(0, sizeof(*allowed), allowed) == 0, "sched_setaffinity");
}

static void answer(void) {
  for (int go = 1; go;) {
    int core;
    MPI_Recv(&go, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    core = sched_getcpu();
    if (go) MPI_Send(&core, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
}

/* Questions until the other process answers from another core. */
static int ask(void) {
  int messages = 0, go = 1, stop = 0, core;
  do {
    MPI_Send(&go, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    MPI_Recv(&core, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } while (++messages < kMostMessages && core == sched_getcpu());
  MPI_Send(&stop, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  return messages;
}

int main(int argc, char** argv) {
  cpu_set_t before, after;
  int core = 0, few = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sched_getaffinity(0, sizeof(before), &before);
  if (CPU_COUNT(&before) < 2) return check_skip("needs two cores");
  while (!CPU_ISSET(core, &before)) core++;
  for (int i = 0; i < kAttempts; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    go_to(core, &before);
    if (rank == 0)
      few += ask() <= kFew;
    else
      answer();
  }
  CHECK(rank != 0 || few >= kAttempts / 2, "few messages in only %d of %d attempts", few,
        kAttempts);
  sched_getaffinity(0, sizeof(after), &after);
  CHECK(CPU_EQUAL(&before, &after), "may use %d cores, before %d", CPU_COUNT(&after),
        CPU_COUNT(&before));
  return check_finish();
}
