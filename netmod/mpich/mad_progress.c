/* mad_progress.c: progress, and giving way where ranks outnumber cores.
 *
 * MPICH polls while it waits.  With a core for each rank that is best; without one it burns the
 * time slice that the peer needs in order to answer.  So after a budget of empty polls the core is
 * offered to others (sched_yield), and after a longer one this process sleeps for moments.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT, sched_getaffinity */
#endif
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "mad_core.h"

/* Empty polls, at some 0.5 to 3 us each.  Where ranks are crowded the peer cannot answer while we
 * poll, so they give way almost at once: nonblocking3 of MPICH's suite, 10 ranks on 2 cores, took
 * 55 s with 50 and 250 polls, 42 to 46 s with these; sendflood, 8 ranks, more than 60 s and 36 s.
 */
#define CROWDED_SPIN_POLLS 2   /* then yield at every poll */
#define CROWDED_YIELD_POLLS 40 /* then sleep at every poll */
#define ALONE_SPIN_POLLS 2000  /* then yield now and then: others may run here too */
#define ALONE_YIELD_INTERVAL 32
#define CROWDED_NAP_NANOSECONDS 20000
#define CLOCK_INTERVAL 512 /* polls between looks at the clock */
#define SWEEP_INTERVAL 64  /* polls between sweeps once a process is gone */
#define MAX_POLLS (1U << 30)
#define IDLE_SECONDS 1.0 /* then the peers we wait for are contacted */

static int cores_of_this_node(void) {
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t mine;

  /* A mask smaller than the node is a container's, or the binding of one rank: there the count says
   * nothing about the others. */
  if (sched_getaffinity(0, sizeof(mine), &mine) == 0 && CPU_COUNT(&mine) > 1)
    return MPL_MIN(CPU_COUNT(&mine), (int)online);
  return (int)online;
}

void MPIDI_MAD_progress_init(void) {
  /* Spawned processes share the node with their parents, who are at least one. */
  int ranks = MPIR_Process.local_size + (MPIR_Process.has_parent ? 1 : 0);

  MPIDI_MAD_global.oversubscribed = (ranks > cores_of_this_node());
}

static void give_way(uint32_t polls) {
  if (MPIDI_MAD_global.oversubscribed) {
    if (polls > CROWDED_YIELD_POLLS) {
      const struct timespec nap = {0, CROWDED_NAP_NANOSECONDS};
      nanosleep(&nap, NULL);
    } else if (polls > CROWDED_SPIN_POLLS) {
      sched_yield();
    }
  } else if (polls > ALONE_SPIN_POLLS && polls % ALONE_YIELD_INTERVAL == 0) {
    sched_yield();
  }
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void idle(void) {
  uint32_t polls = ++MPIDI_MAD_global.idle_polls;

  if (polls >= MAX_POLLS) MPIDI_MAD_global.idle_polls = ALONE_SPIN_POLLS;
  if (polls % CLOCK_INTERVAL == 0) {
    double now = seconds_now();
    if (MPIDI_MAD_global.idle_since == 0) {
      MPIDI_MAD_global.idle_since = now;
    } else if (now - MPIDI_MAD_global.idle_since > IDLE_SECONDS) {
      MPIDI_MAD_global.idle_since = now;
      MPIDI_MAD_touch_awaited();
    }
  }
  if (polls % SWEEP_INTERVAL == 0 && MPIDI_MAD_global.gone_peers > 0) MPIDI_MAD_global.sweep = true;
  give_way(polls);
}

int MPIDI_MAD_progress(int vci) {
  int events = 0, status;

  if (MPIDI_MAD_global.engine == NULL) return MPI_SUCCESS;
  status = mad_engine_progress(MPIDI_MAD_global.engine, &events);
  if (unlikely(status < 0)) return MPIDI_MAD_error(status, MPI_PROC_NULL);
  if (events > 0) {
    MPIDI_MAD_global.idle_polls = 0;
    MPIDI_MAD_global.idle_since = 0;
  } else {
    idle();
  }
  if (unlikely(MPIDI_MAD_global.sweep)) MPIDI_MAD_sweep();
  return MPI_SUCCESS;
}
