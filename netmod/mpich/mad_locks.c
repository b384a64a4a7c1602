/* mad_locks.c: the locks of our windows that other processes hold.
 *
 * A lock that died with its holder would keep everybody else waiting at a living target.  So grants
 * are kept until they are returned, and those of a process that is gone are returned in its name.
 */
#include "mad_core.h"
#include "utlist.h"

typedef struct MPIDI_MAD_grant {
  struct MPIDI_MAD_grant *next, *prev;
  mad_peer* peer;
  int rank;
  uint64_t win_id;
} grant_t;

void MPIDI_MAD_lock_granted(mad_peer* peer, int rank, uint64_t win_id) {
  grant_t* grant = MPL_malloc(sizeof(*grant), MPL_MEM_RMA);

  if (!grant) return; /* the lock is held all the same, for good: its return is not believed */
  grant->peer = peer;
  grant->rank = rank;
  grant->win_id = win_id;
  DL_APPEND(MPIDI_MAD_global.grants, grant);
  if (mad_peer_status(peer) < 0) MPIDI_MAD_global.sweep = true;
}

static grant_t* find_grant(const mad_peer* peer, uint64_t win_id) {
  grant_t* grant;

  DL_FOREACH(MPIDI_MAD_global.grants, grant) {
    if (grant->peer == peer && grant->win_id == win_id) break;
  }
  return grant;
}

bool MPIDI_MAD_holds_lock(const mad_peer* peer, uint64_t win_id) {
  return find_grant(peer, win_id) != NULL;
}

void MPIDI_MAD_lock_returned(const mad_peer* peer, uint64_t win_id) {
  grant_t* grant = find_grant(peer, win_id);

  DL_DELETE(MPIDI_MAD_global.grants, grant);
  MPL_free(grant);
}

static grant_t* grant_of_gone(void) {
  grant_t* grant;

  DL_FOREACH(MPIDI_MAD_global.grants, grant) {
    if (mad_peer_status(grant->peer) < 0) return grant;
  }
  return NULL;
}

/* MPICH grants the lock to the next in its queue, who may be gone as well. */
void MPIDI_MAD_release_locks_of_gone(void) {
  grant_t* grant;

  while ((grant = grant_of_gone()) != NULL) {
    MPIDIG_win_cntrl_msg_t unlock = {.win_id = grant->win_id, .origin_rank = (uint32_t)grant->rank};

    DL_DELETE(MPIDI_MAD_global.grants, grant);
    MPL_free(grant);
    MPIDI_MAD_window_message(MPIDIG_WIN_UNLOCK, &unlock);
  }
}
