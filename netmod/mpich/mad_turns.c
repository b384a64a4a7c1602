/* mad_turns.c: passive-target locks of windows that lie in one node, as words in shared memory.
 *
 * A process that wants a target's lock draws a number there and has its turn when no process with a
 * lower number wants or holds the lock in a way that excludes it: the bakery algorithm, but numbers
 * are drawn by one atomic addition.  So nobody starves, nobody needs the target, and a process that
 * died is passed over.  Locks of windows with processes of several nodes are MPICH's.
 */
#include "mad_window.h"

/* A process's word at a target: nothing, or it is drawing, or its number and kind. */
enum { NOTHING = 0, DRAWING = 1, EXCLUSIVE = 1, NUMBER_SHIFT = 1 };

#define POLL_INTERVAL 64 /* flushes and unlocks that had nothing to wait for, between polls */

static MPL_atomic_int64_t* word_of(const MPIDI_MAD_shared_t* shared, int target, int origin) {
  return MPIDI_MAD_word(shared, shared->turns, target, origin);
}

static bool excludes(int64_t theirs, int64_t mine) {
  if (theirs == NOTHING || theirs == DRAWING) return theirs == DRAWING;
  return theirs >> NUMBER_SHIFT < mine >> NUMBER_SHIFT && ((theirs | mine) & EXCLUSIVE) != 0;
}

static bool is_gone(MPIR_Win* win, int rank) {
  return MPIDI_MAD_global.gone_peers > 0 && MPIDI_MAD_status(win->comm_ptr, rank) < 0;
}

/* An error if the process is known to be gone. */
static int target_error(MPIR_Win* win, int rank) {
  if (likely(MPIDI_MAD_global.gone_peers == 0)) return MPI_SUCCESS;
  return MPIDI_MAD_rank_error(rank, win->comm_ptr);
}

int MPIDI_MAD_poll_awake(uint32_t* polls) {
  int mpi_errno = MPI_SUCCESS;

  if (++*polls < MPIDI_MAD_AWAKE_POLLS) MPIDI_MAD_stay_awake();
  mpi_errno = MPIDI_progress_test_vci(0);
  MPIR_ERR_CHECK(mpi_errno);
  MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Returns when the other process does not exclude this one's number at the target any more. */
static int await_other(MPIR_Win* win, int target, int other, int64_t mine) {
  const MPL_atomic_int64_t* word = word_of(MPIDI_MAD_words_of(win), target, other);
  int mpi_errno = MPI_SUCCESS, error = MPI_SUCCESS;
  uint32_t polls = 0;

  while (excludes(MPL_atomic_acquire_load_int64(word), mine) && !is_gone(win, other)) {
    error = target_error(win, target);
    if (error) return error;
    mpi_errno = MPIDI_MAD_poll_awake(&polls);
    MPIR_ERR_CHECK(mpi_errno);
    if (polls % MPIDI_MAD_TOUCH_INTERVAL == 0) {
      MPIDI_MAD_touch(MPIDI_MAD_peer(win->comm_ptr, other));
      if (target != win->comm_ptr->rank) MPIDI_MAD_touch(MPIDI_MAD_peer(win->comm_ptr, target));
    }
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static void release(MPIR_Win* win, int target) {
  MPL_atomic_release_store_int64(word_of(MPIDI_MAD_words_of(win), target, win->comm_ptr->rank),
                                 NOTHING);
}

static int acquire(MPIR_Win* win, int target, int kind) {
  const MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  MPL_atomic_int64_t* word = word_of(shared, target, win->comm_ptr->rank);
  int mpi_errno = MPI_SUCCESS;
  int64_t mine;

  /* Who draws a higher number sees this one drawing, and waits for it to say what it has drawn. */
  MPL_atomic_release_store_int64(word, DRAWING);
  mine = (MPL_atomic_fetch_add_int64(&shared->targets[target].now.tickets, 1) + 1) << NUMBER_SHIFT |
         kind;
  MPL_atomic_release_store_int64(word, mine);
  for (int other = 0; other < shared->ranks && mpi_errno == MPI_SUCCESS; other++)
    if (other != win->comm_ptr->rank) mpi_errno = await_other(win, target, other, mine);
  if (mpi_errno) release(win, target);
  return mpi_errno;
}

/* Now and then, also where there is nothing to wait for: other processes may wait for messages of
 * this one, which may do nothing but look at memory, and for its core. */
int MPIDI_MAD_poll_sometimes(void) {
  static unsigned calls;

  if (++calls % POLL_INTERVAL != 0) return MPI_SUCCESS;
  MPIDI_MAD_stay_awake();
  return MPIDI_progress_test_vci(0);
}

/* ---- locks by messages, which are MPICH's ---- */

static int lock_by_message(int lock_type, int rank, int assert, MPIR_Win* win) {
  MPIDIG_win_target_t* target = MPIDIG_win_target_find(win, rank);

  /* MPICH takes MPI_MODE_NOCHECK of one lock for that of all later ones of the target, which would
   * never be given back. */
  if (target && !target->sync.lock.locked) target->sync.assert_mode = 0;
  return MPIDIG_mpi_win_lock(lock_type, rank, assert, win);
}

/* What a synchronisation that waits for the window's operations returned. */
static int end_waiting(MPIR_Win* win, int mpi_errno) {
  MPIDI_MAD_global.waits_since = 0;
  return MPIDI_MAD_or_trouble(win, mpi_errno);
}

static int unlock_by_message(int rank, MPIR_Win* win) {
  MPIDI_MAD_begin_waiting(win);
  const int mpi_errno = end_waiting(win, MPIDIG_mpi_win_unlock(rank, win));
  MPIDIG_win_target_t* target = MPIDIG_win_target_find(win, rank);

  /* Else MPICH takes it for one to operate on as long as any other is locked. */
  if (target && !target->sync.lock.locked) target->sync.access_epoch_type = MPIDIG_EPOTYPE_NONE;
  return mpi_errno;
}

/* One who is known to be gone keeps all from being locked; of one whose end is learnt meanwhile the
 * next synchronisation tells. */
static int lock_all_by_message(int assert, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;

  if (unlikely(MPIDI_MAD_global.gone_peers > 0) && !(assert& MPI_MODE_NOCHECK))
    for (int target = 0; target < win->comm_ptr->local_size && !mpi_errno; target++)
      mpi_errno = MPIDI_MAD_rank_error(target, win->comm_ptr);
  return mpi_errno ? mpi_errno : MPIDIG_mpi_win_lock_all(assert, win);
}

static int unlock_all_by_message(MPIR_Win* win) {
  MPIDI_MAD_begin_waiting(win);
  return end_waiting(win, MPIDIG_mpi_win_unlock_all(win));
}

/* ---- MPI's calls ---- */

int MPIDI_MAD_win_lock(int lock_type, int rank, int assert, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIDIG_win_target_t* target;

  if (!MPIDI_MAD_words_of(win)) return lock_by_message(lock_type, rank, assert, win);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_LOCK_EPOCH_CHECK_NONE(win, rank, mpi_errno, goto fn_fail);
  mpi_errno = target_error(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  if (!(assert& MPI_MODE_NOCHECK)) {
    mpi_errno = acquire(win, rank, lock_type == MPI_LOCK_EXCLUSIVE ? EXCLUSIVE : 0);
    MPIR_ERR_CHECK(mpi_errno);
  }
  target = MPIDIG_win_target_get(win, rank);
  target->sync.lock.locked = 1;
  target->sync.access_epoch_type = MPIDIG_EPOTYPE_LOCK;
  MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_LOCK;
  MPIDIG_WIN(win, sync).lock.count++;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_win_unlock(int rank, MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIDIG_win_target_t* target;

  if (!MPIDI_MAD_words_of(win)) return unlock_by_message(rank, win);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_ACCESS_EPOCH_CHECK(win, MPIDIG_EPOTYPE_LOCK, mpi_errno, goto fn_fail);
  target = MPIDIG_win_target_find(win, rank);
  MPIR_ERR_CHKANDJUMP(target == NULL, mpi_errno, MPI_ERR_RMA_SYNC, "**rmasync");
  MPIDIG_EPOCH_CHECK_TARGET_LOCK(target, mpi_errno, goto fn_fail);
  (void)MPIDI_MAD_complete_direct(win);
  release(win, rank);
  target->sync.lock.locked = 0;
  target->sync.access_epoch_type = MPIDIG_EPOTYPE_NONE;
  if (MPIR_CVAR_CH4_RMA_MEM_EFFICIENT) MPIDIG_win_target_delete(win, target);
  if (--MPIDIG_WIN(win, sync).lock.count == 0)
    MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
  mpi_errno = MPIDI_MAD_poll_sometimes();
  if (mpi_errno == MPI_SUCCESS) mpi_errno = target_error(win, rank);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_win_lock_all(int assert, MPIR_Win* win) {
  const MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  int mpi_errno = MPI_SUCCESS, target = 0;

  if (!shared) return lock_all_by_message(assert, win);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_ACCESS_EPOCH_CHECK_NONE(win, mpi_errno, goto fn_fail);
  for (; !(assert& MPI_MODE_NOCHECK) && target < shared->ranks; target++) {
    mpi_errno = target_error(win, target);
    if (mpi_errno == MPI_SUCCESS) mpi_errno = acquire(win, target, 0);
    MPIR_ERR_CHECK(mpi_errno);
  }
  MPIDIG_WIN(win, sync).lockall.allLocked = (unsigned)shared->ranks;
  MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_LOCK_ALL;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  while (target > 0) release(win, --target);
  goto fn_exit;
}

int MPIDI_MAD_win_unlock_all(MPIR_Win* win) {
  const MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  int mpi_errno = MPI_SUCCESS;

  if (!shared) return unlock_all_by_message(win);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_ACCESS_EPOCH_CHECK(win, MPIDIG_EPOTYPE_LOCK_ALL, mpi_errno, goto fn_fail);
  (void)MPIDI_MAD_complete_direct(win);
  for (int target = 0; target < shared->ranks; target++) release(win, target);
  if (MPIR_CVAR_CH4_RMA_MEM_EFFICIENT) MPIDIG_win_target_cleanall(win);
  MPIDIG_WIN(win, sync).lockall.allLocked = 0;
  MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
  mpi_errno = MPIDI_MAD_poll_sometimes();

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int flush_messages(int rank, MPIR_Win* win, bool local) {
  if (rank < 0) return local ? MPIDIG_mpi_win_flush_local_all(win) : MPIDIG_mpi_win_flush_all(win);
  return local ? MPIDIG_mpi_win_flush_local(rank, win) : MPIDIG_mpi_win_flush(rank, win);
}

/* Where no operation is a message, what is left is to make those that wait, and to order them. */
int MPIDI_MAD_win_flush(int rank, MPIR_Win* win, bool local) {
  int mpi_errno = MPI_SUCCESS;

  if (!MPIDI_MAD_words_of(win)) {
    MPIDI_MAD_begin_waiting(win);
    return end_waiting(win, flush_messages(rank, win, local));
  }
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDIG_EPOCH_CHECK_PASSIVE(win, mpi_errno, goto fn_fail);
  if (rank >= 0 && MPIDIG_WIN(win, sync).access_epoch_type == MPIDIG_EPOTYPE_LOCK) {
    const MPIDIG_win_target_t* target = MPIDIG_win_target_find(win, rank);
    if (target) MPIDIG_EPOCH_CHECK_TARGET_LOCK(target, mpi_errno, goto fn_fail);
  }
  if (local)
    MPIDI_MAD_finish_copies(win);
  else
    (void)MPIDI_MAD_complete_direct(win);
  mpi_errno = MPIDI_MAD_poll_sometimes();
  if (mpi_errno == MPI_SUCCESS && rank >= 0) mpi_errno = target_error(win, rank);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
