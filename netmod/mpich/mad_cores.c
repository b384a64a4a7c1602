/* mad_cores.c: processes of a node that find themselves on one core while others are free.
 *
 * The system starts processes where it sees room for them, but those that wake each other while
 * they start often end up on one core, and as they never sleep once they poll it may take 30 ms
 * until one of them is moved: 3 us a message where 0.1 would do.  So each tells the others of its
 * node, in the memory that MPICH has for its start, on which core it runs, and who sees that
 * another is there moves to one that none of them told.  It is not bound: the cores that it may use
 * are the same before and after.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CPU_ISSET, sched_getcpu */
#endif
#include <sched.h>

#include "mad_core.h"
#include "mpidu_init_shm.h"

/* A process's block in MPICH's memory.  Something else was there before. */
typedef struct {
  MPL_atomic_int_t core; /* TOLD and its number */
} place_t;

#define TOLD 0x6d616400

static place_t* place_of(int local_rank) {
  void* block = NULL;

  (void)MPIDU_Init_shm_query(local_rank, &block);
  return block;
}

static void tell_core(int core) {
  MPL_atomic_store_int(&place_of(MPIR_Process.local_rank)->core, TOLD + core);
}

/* Whether a process of the node is there, of those before `end` in their order. */
static bool is_taken(int core, int end) {
  for (int rank = 0; rank < end; rank++)
    if (rank != MPIR_Process.local_rank &&
        MPL_atomic_load_int(&place_of(rank)->core) == TOLD + core)
      return true;
  return false;
}

/* The next core that this process may use and nobody is on; -1: there is none. */
static int free_core(int from, const cpu_set_t* mine) {
  for (int step = 1; step < CPU_SETSIZE; step++) {
    const int core = (from + step) % CPU_SETSIZE;
    if (CPU_ISSET(core, mine) && !is_taken(core, MPIR_Process.local_size)) return core;
  }
  return -1;
}

static void move_to_free_core(int from) {
  cpu_set_t mine, one;
  int core;

  if (sched_getaffinity(0, sizeof(mine), &mine) != 0) return;
  core = free_core(from, &mine);
  if (core < 0) return;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  tell_core(core); /* first: who has the old core next looks for another one, too */
  if (sched_setaffinity(0, sizeof(one), &one) == 0)
    (void)sched_setaffinity(0, sizeof(mine), &mine);
  else
    tell_core(from);
}

/* Who comes second moves: the first saw nobody. */
void MPIDI_MAD_cores_init(void) {
  const int core = sched_getcpu();

  if (MPIR_Process.local_size == 1 || MPIDI_MAD_global.outnumbered || core < 0) return;
  MPIDI_MAD_global.tells_core = true;
  tell_core(core);
  if (is_taken(core, MPIR_Process.local_size)) move_to_free_core(core);
}

/* Of two that both see each other the second moves. */
void MPIDI_MAD_mind_core(bool was_taken) {
  const int core = sched_getcpu();

  if (!MPIDI_MAD_global.tells_core) return;
  tell_core(core);
  if (was_taken && is_taken(core, MPIR_Process.local_rank)) move_to_free_core(core);
}
