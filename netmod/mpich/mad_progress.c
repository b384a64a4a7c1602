/* mad_progress.c: progress, and giving way where ranks outnumber cores.
 *
 * MPICH polls while it waits.  With a core for each rank that is best; without one it burns the
 * time slice that the peer needs in order to answer.  So after a few empty polls the core is
 * offered to others (sched_yield), and after some more this process sleeps until the fabric has
 * something for it.  Where there are more ranks than cores that is known from the start; other
 * jobs, and threads of the program, are noticed by how often, and for how long, the system takes
 * the core away.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_COUNT, sched_getaffinity */
#endif
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "mad_core.h"

/* Empty polls, at some 0.5 to 3 us each; then yield at every poll.  Collectives of 8 bytes among 4
 * ranks on 2 cores took 5.4 to 6.9 us with 1, 7.4 to 10 with 2. */
#define CROWDED_SPIN_POLLS 1
/* Then sleep at every poll.  Waking costs more than a yield where a core happens to be free: with 3
 * ranks on 2 cores rma/atomic_rmw_gacc of MPICH's suite took 84 s with 0, 60 s with 10, 18 s with
 * 40 and 22 s with 150; rma/atomic_get_2int 21 to 28 s; coll/nonblocking3, 10 ranks, 45 to 51 s. */
#define CROWDED_YIELD_POLLS 40
#define ALONE_SPIN_POLLS 2000 /* then yield now and then: others may run here too */
#define ALONE_YIELD_INTERVAL 32
#define CROWDED_SLEEP_MICROSECONDS 1000
#define THREADED_SLEEP_MICROSECONDS 20 /* asleep in MPICH's critical section: others want it */
#define LOOP_NANOSECONDS 10000         /* between the polls of a caller that only waits */
#define CLOCK_INTERVAL 512             /* polls between looks at the clock */
#define SWEEP_INTERVAL 64              /* polls between sweeps once a process is gone */
#define MAX_POLLS (1U << 30)
/* A core is shared that was taken from this process as often as this, once in at most 12.5 ms: the
 * system changes between those who share one every 1 to 5 ms, and disturbs one alone a few times a
 * second, and whenever it prints. */
#define TAKEN_INTERVAL 2048 /* empty polls between looks */
#define CROWDED_TAKEN_INTERVAL 64
#define TAKEN_OFTEN 8
#define TAKEN_NANOSECONDS 100000000
#define TAKEN_SHARE 5 /* and others had a fifth of the time */
/* Until it is found out anew: twice as long each time that it is soon found again, as others may
 * have been there for a moment. */
#define SHARED_NANOSECONDS_FIRST 10000000
#define SHARED_NANOSECONDS 1000000000
#define IDLE_NANOSECONDS 1000000000 /* then the peers we wait for are contacted */

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

  MPIDI_MAD_global.outnumbered = (ranks > cores_of_this_node());
  MPIDI_MAD_global.crowded = MPIDI_MAD_global.outnumbered;
}

int64_t MPIDI_MAD_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether the caller does nothing but wait, since it came back at once after the last empty poll:
 * one that computes between its calls of MPI_Test is not put to sleep.  Asked before a poll, which
 * may take longer than a caller may: some fabrics ask the system about each peer. */
static bool only_waits(void) {
  return MPIDI_MAD_global.crowded && MPIDI_MAD_global.idle_polls >= CROWDED_YIELD_POLLS &&
         MPIDI_MAD_nanoseconds() - MPIDI_MAD_global.last_idle < LOOP_NANOSECONDS;
}

void MPIDI_MAD_stay_awake(void) {
  if (MPIDI_MAD_global.crowded && MPIDI_MAD_global.idle_polls >= CROWDED_YIELD_POLLS - 1)
    MPIDI_MAD_global.idle_polls = CROWDED_SPIN_POLLS;
}

/* Of the thread that waits, since it was looked at first. */
static __thread struct {
  int64_t since, worked; /* nanoseconds */
  long taken;
} core_use;

static int64_t nanoseconds_of(struct timeval time) {
  return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* Others that came for a moment, as who passes on what this process prints, had little of it.  What
 * the program slept counts as theirs. */
static bool is_shared(long taken, int64_t worked, int64_t since) {
  return taken >= TAKEN_OFTEN && since - worked >= since / TAKEN_SHARE;
}

static void be_crowded(int64_t now) {
  const bool again = now < MPIDI_MAD_global.shared_until + SHARED_NANOSECONDS;

  MPIDI_MAD_global.shared_for = again ? MPL_MIN(2 * MPIDI_MAD_global.shared_for, SHARED_NANOSECONDS)
                                      : SHARED_NANOSECONDS_FIRST;
  MPIDI_MAD_global.shared_until = now + MPIDI_MAD_global.shared_for;
}

/* Whether others run on this process's core, of whom the number of ranks does not tell. */
static void look_for_others(void) {
  const int64_t now = MPIDI_MAD_nanoseconds();
  struct rusage used;
  int64_t worked, since;
  long taken;

  if (getrusage(RUSAGE_THREAD, &used) != 0) return;
  worked = nanoseconds_of(used.ru_utime) + nanoseconds_of(used.ru_stime);
  taken = used.ru_nivcsw - core_use.taken;
  since = now - core_use.since;
  MPIDI_MAD_mind_core(taken > 0);
  if (since <= TAKEN_NANOSECONDS && is_shared(taken, worked - core_use.worked, since))
    be_crowded(now);
  if (since > TAKEN_NANOSECONDS || taken >= TAKEN_OFTEN) {
    core_use.since = now;
    core_use.worked = worked;
    core_use.taken = used.ru_nivcsw;
  }
  MPIDI_MAD_global.crowded = (now < MPIDI_MAD_global.shared_until);
}

static void give_way(uint32_t polls, bool may_sleep) {
  if (!MPIDI_MAD_global.crowded) {
    if (polls > ALONE_SPIN_POLLS && polls % ALONE_YIELD_INTERVAL == 0) sched_yield();
    return;
  }
  if (may_sleep) {
    (void)mad_engine_wait(MPIDI_MAD_global.engine, MPIR_IS_THREADED ? THREADED_SLEEP_MICROSECONDS
                                                                    : CROWDED_SLEEP_MICROSECONDS);
    core_use.since = 0; /* that was no time of others */
  } else if (polls > CROWDED_SPIN_POLLS && polls < CROWDED_YIELD_POLLS) {
    sched_yield();
  }
  if (polls >= CROWDED_YIELD_POLLS) MPIDI_MAD_global.last_idle = MPIDI_MAD_nanoseconds();
}

/* After each SWEEP_INTERVAL, which divides the other intervals. */
static void now_and_then(uint32_t polls) {
  if (polls >= MAX_POLLS) MPIDI_MAD_global.idle_polls = ALONE_SPIN_POLLS;
  if (polls % CLOCK_INTERVAL == 0) {
    const int64_t now = MPIDI_MAD_nanoseconds();
    if (MPIDI_MAD_global.idle_since == 0) {
      MPIDI_MAD_global.idle_since = now;
    } else if (now - MPIDI_MAD_global.idle_since > IDLE_NANOSECONDS) {
      MPIDI_MAD_global.idle_since = now;
      MPIDI_MAD_touch_awaited();
    }
  }
  if (MPIDI_MAD_global.gone_peers > 0) MPIDI_MAD_global.sweep = true;
}

static uint32_t looks_interval(void) {
  return MPIDI_MAD_global.crowded ? CROWDED_TAKEN_INTERVAL : TAKEN_INTERVAL;
}

static void idle(bool may_sleep) {
  uint32_t polls = ++MPIDI_MAD_global.idle_polls;

  if (unlikely(MPIDI_MAD_global.waits_since == MPIDI_MAD_SHORT_WAIT) &&
      (MPIDI_MAD_global.crowded || polls >= SWEEP_INTERVAL))
    MPIDI_MAD_global.waits_since = MPIDI_MAD_nanoseconds();
  if (polls % SWEEP_INTERVAL == 0) now_and_then(polls);
  if (++MPIDI_MAD_global.empty_polls % looks_interval() == 0 && !MPIDI_MAD_global.outnumbered)
    look_for_others();
  give_way(polls, may_sleep);
}

int MPIDI_MAD_progress(int vci) {
  const bool may_sleep = only_waits();
  int events = 0, status;

  if (MPIDI_MAD_global.engine == NULL) return MPI_SUCCESS;
  status = mad_engine_progress(MPIDI_MAD_global.engine, &events);
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
  if (unlikely(status < 0)) return MPIDI_MAD_error(status);
  if (events > 0) {
    MPIDI_MAD_global.idle_polls = 0;
    MPIDI_MAD_global.idle_since = 0;
  } else {
    idle(may_sleep);
  }
  if (unlikely(MPIDI_MAD_global.sweep)) MPIDI_MAD_sweep();
  return MPI_SUCCESS;
}
