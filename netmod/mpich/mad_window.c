/* mad_window.c: the segment that the processes of a node share of a window, and atomic operations.
 *
 * Every atomic operation on a target's memory is done under the target's mutex, be it a process of
 * its node that does it or the target itself for a message from another node.  So those of one
 * element and of a million exclude each other, whatever their types and operators.
 */
#include "mad_window.h"

#include <errno.h>

/* Tries for a mutex before its waiter sleeps: most operations take less than a sleep costs. */
#define MUTEX_TRIES 200

void MPIDI_MAD_enter(MPIDI_MAD_target_t* target) {
  int status = EBUSY;

  if (target == NULL) return;
  for (int i = 0; i < MUTEX_TRIES && status == EBUSY; i++)
    status = pthread_mutex_trylock(&target->now.mutex);
  if (status == EBUSY) status = pthread_mutex_lock(&target->now.mutex);
  /* Its holder died.  What it was writing may be half done, as where a target dies itself. */
  if (status == EOWNERDEAD) status = pthread_mutex_consistent(&target->now.mutex);
  MPIR_Assert(status == 0);
}

/* A robust mutex that the caller does not hold stays as it is (EPERM). */
void MPIDI_MAD_leave(MPIDI_MAD_target_t* target) {
  if (target != NULL) (void)pthread_mutex_unlock(&target->now.mutex);
}

static MPIDI_MAD_target_t* own_target(MPIR_Win* win) {
  const MPIDI_MAD_shared_t* shared = MPIDI_MAD_shared_of(win);

  return shared ? &shared->targets[win->comm_ptr->node_comm->rank] : NULL;
}

void MPIDI_MAD_atomic_begin(MPIR_Win* win) { MPIDI_MAD_enter(own_target(win)); }

void MPIDI_MAD_atomic_end(MPIR_Win* win) { MPIDI_MAD_leave(own_target(win)); }

/* 0, or why not. */
static int init_mutex(pthread_mutex_t* mutex) {
  pthread_mutexattr_t kind;
  int status = pthread_mutexattr_init(&kind);

  if (status != 0) return status;
  status = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  if (status == 0) status = pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  if (status == 0) status = pthread_mutex_init(mutex, &kind);
  (void)pthread_mutexattr_destroy(&kind);
  return status;
}

/* Whether all processes of the node say so. */
static int agree(MPIR_Comm* node, bool mine, bool* all) {
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;

  return MPIR_Allreduce(&mine, all, 1, MPI_C_BOOL, MPI_LAND, node, &errflag);
}

/* The segment, zero; NULL on all processes if one cannot have it. */
static int allocate(MPIR_Comm* node, MPIDI_MAD_shared_t* shared, bool whole) {
  int mpi_errno = MPI_SUCCESS;
  const size_t ranks = (size_t)node->local_size;
  const size_t table = whole ? ranks * ranks : 0; /* words */
  void* memory = NULL;
  bool failed = false, ready;

  mpi_errno = MPIDU_shm_alloc(
      node, ranks * sizeof(MPIDI_MAD_target_t) + 3 * table * sizeof(MPL_atomic_int64_t), &memory,
      &failed);
  MPIR_ERR_CHECK(mpi_errno);
  if (failed) goto fn_exit;
  shared->ranks = (int)ranks;
  shared->targets = memory;
  if (whole) {
    shared->turns = (MPL_atomic_int64_t*)(shared->targets + ranks);
    shared->posts = shared->turns + table;
    shared->completes = shared->posts + table;
  }
  mpi_errno = agree(node, init_mutex(&shared->targets[node->rank].now.mutex) == 0, &ready);
  if (mpi_errno != MPI_SUCCESS || !ready) {
    (void)MPIDU_shm_free(memory);
    shared->targets = NULL;
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_share_window(MPIR_Win* win) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* node = win->comm_ptr->node_comm;
  MPIDI_MAD_shared_t* shared = NULL;
  bool all;

  if (MPIDIG_WIN(win, shared_table) == NULL) return MPI_SUCCESS; /* as on all of the node */
  shared = MPL_calloc(1, sizeof(*shared), MPL_MEM_RMA);
  mpi_errno = agree(node, MPIR_CVAR_CH4_MAD_SHARED_WINDOWS && shared != NULL, &all);
  MPIR_ERR_CHECK(mpi_errno);
  if (!all) goto fn_fail;
  mpi_errno = allocate(node, shared, node->local_size == win->comm_ptr->local_size);
  MPIR_ERR_CHECK(mpi_errno);
  if (shared->targets == NULL) goto fn_fail;
  if (shared->turns != NULL && mad_copies_create(&shared->copies) != MAD_SUCCESS)
    shared->copies = NULL;
  win->dev.netmod.mad.shared = shared;
  MPIDI_WIN(win, winattr) |= MPIDI_WINATTR_SHM_ALLOCATED;

fn_exit:
  return mpi_errno;
fn_fail: /* also without an error: active messages then */
  MPL_free(shared);
  goto fn_exit;
}

int MPIDI_MAD_unshare_window(MPIR_Win* win) {
  MPIDI_MAD_shared_t* shared = MPIDI_MAD_shared_of(win);
  int mpi_errno = MPI_SUCCESS;

  if (shared == NULL) return MPI_SUCCESS;
  MPIDI_WIN(win, winattr) &= ~MPIDI_WINATTR_SHM_ALLOCATED;
  mpi_errno = MPIDU_shm_free(shared->targets);
  mad_copies_destroy(shared->copies);
  MPL_free(shared);
  return mpi_errno;
}
