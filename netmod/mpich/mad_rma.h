/* mad_rma.h: one-sided communication.
 *
 * Operations on memory that this process has, its own or a neighbour's on this node, are done by
 * itself (mad_direct.c), and where all of a window lies in one node, its locks, fences, posts and
 * completes are words in shared memory (mad_turns.c, mad_win.c).  All others travel in messages:
 * operations of ours (mad_far.c, mad_atomic.c), synchronisation of MPICH's, whose waits for the
 * members of a group end when one of them has failed (mad_win.c).
 */
#ifndef MAD_RMA_H_INCLUDED
#define MAD_RMA_H_INCLUDED

#include "mad_impl.h"

/* mad_direct.c: by itself, or by messages.  `request` NULL: the operation has none. */
int MPIDI_MAD_put(const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPIR_Win* win, MPIDI_winattr_t winattr,
                  MPIR_Request** request);
int MPIDI_MAD_get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPIR_Win* win, MPIDI_winattr_t winattr,
                  MPIR_Request** request);
int MPIDI_MAD_accumulate(const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, MPI_Aint target_disp, int target_count,
                         MPI_Datatype target_datatype, MPI_Op op, MPIR_Win* win,
                         MPIDI_winattr_t winattr, MPIR_Request** request);
int MPIDI_MAD_get_accumulate(const void* origin_addr, int origin_count,
                             MPI_Datatype origin_datatype, void* result_addr, int result_count,
                             MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                             int target_count, MPI_Datatype target_datatype, MPI_Op op,
                             MPIR_Win* win, MPIDI_winattr_t winattr, MPIR_Request** request);
int MPIDI_MAD_fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                           int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win* win,
                           MPIDI_winattr_t winattr);
int MPIDI_MAD_compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                               MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                               MPIR_Win* win, MPIDI_winattr_t winattr);

/* mad_turns.c */
int MPIDI_MAD_win_lock(int lock_type, int rank, int assert, MPIR_Win* win);
int MPIDI_MAD_win_unlock(int rank, MPIR_Win* win);
int MPIDI_MAD_win_lock_all(int assert, MPIR_Win* win);
int MPIDI_MAD_win_unlock_all(MPIR_Win* win);
/* `rank` negative: all.  `local`: only this process's memory may be used again. */
int MPIDI_MAD_win_flush(int rank, MPIR_Win* win, bool local);

/* mad_win.c */
int MPIDI_MAD_win_fence(int mode, MPIR_Win* win);
int MPIDI_MAD_win_post(MPIR_Group* group, int mode, MPIR_Win* win);
int MPIDI_MAD_win_start(MPIR_Group* group, int mode, MPIR_Win* win);
int MPIDI_MAD_win_complete(MPIR_Win* win);
int MPIDI_MAD_win_wait(MPIR_Win* win);
int MPIDI_MAD_win_test(MPIR_Win* win, int* flag);

/* mad_far.c: what a synchronisation returns, or else the error of an operation before it. */
int MPIDI_MAD_or_trouble(MPIR_Win* win, int mpi_errno);

/* mad_direct.c: makes the window's puts and gets that wait for others. */
void MPIDI_MAD_finish_copies(MPIR_Win* win);
int MPIDI_MAD_win_sync(MPIR_Win* win);

/* What this process wrote into shared memory is there for all before anything that it does later.
 */
MPL_STATIC_INLINE_PREFIX int MPIDI_MAD_complete_direct(MPIR_Win* win) {
  MPIDI_MAD_finish_copies(win);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_start(MPIR_Group* group, int assert, MPIR_Win* win) {
  return MPIDI_MAD_win_start(group, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_complete(MPIR_Win* win) {
  return MPIDI_MAD_win_complete(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_post(MPIR_Group* group, int assert, MPIR_Win* win) {
  return MPIDI_MAD_win_post(group, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_wait(MPIR_Win* win) {
  return MPIDI_MAD_win_wait(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_test(MPIR_Win* win, int* flag) {
  return MPIDI_MAD_win_test(win, flag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock(int lock_type, int rank, int assert,
                                                   MPIR_Win* win, MPIDI_av_entry_t* addr) {
  return MPIDI_MAD_win_lock(lock_type, rank, assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock(int rank, MPIR_Win* win,
                                                     MPIDI_av_entry_t* addr) {
  return MPIDI_MAD_win_unlock(rank, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock_all(int assert, MPIR_Win* win) {
  return MPIDI_MAD_win_lock_all(assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock_all(MPIR_Win* win) {
  return MPIDI_MAD_win_unlock_all(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush(int rank, MPIR_Win* win,
                                                    MPIDI_av_entry_t* addr) {
  return MPIDI_MAD_win_flush(rank, win, false);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local(int rank, MPIR_Win* win,
                                                          MPIDI_av_entry_t* addr) {
  return MPIDI_MAD_win_flush(rank, win, true);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_all(MPIR_Win* win) {
  return MPIDI_MAD_win_flush(-1, win, false);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local_all(MPIR_Win* win) {
  return MPIDI_MAD_win_flush(-1, win, true);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_fence(int assert, MPIR_Win* win) {
  return MPIDI_MAD_win_fence(assert, win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_sync(MPIR_Win* win) {
  return MPIDI_MAD_win_sync(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_shared_query(MPIR_Win* win, int rank, MPI_Aint* size,
                                                           int* disp_unit, void* baseptr) {
  return MPIDIG_mpi_win_shared_query(win, rank, size, disp_unit, baseptr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_cmpl_hook(MPIR_Win* win) {
  return MPIDI_MAD_complete_direct(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_win_local_cmpl_hook(MPIR_Win* win) { return MPI_SUCCESS; }

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_cmpl_hook(int rank, MPIR_Win* win) {
  return MPIDI_MAD_complete_direct(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rma_target_local_cmpl_hook(int rank, MPIR_Win* win) {
  return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void* origin_addr, int origin_count,
                                              MPI_Datatype origin_datatype, int target_rank,
                                              MPI_Aint target_disp, int target_count,
                                              MPI_Datatype target_datatype, MPIR_Win* win,
                                              MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr) {
  return MPIDI_MAD_put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win, winattr, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rput(const void* origin_addr, int origin_count,
                                               MPI_Datatype origin_datatype, int target_rank,
                                               MPI_Aint target_disp, int target_count,
                                               MPI_Datatype target_datatype, MPIR_Win* win,
                                               MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr,
                                               MPIR_Request** request) {
  return MPIDI_MAD_put(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void* origin_addr, int origin_count,
                                              MPI_Datatype origin_datatype, int target_rank,
                                              MPI_Aint target_disp, int target_count,
                                              MPI_Datatype target_datatype, MPIR_Win* win,
                                              MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr) {
  return MPIDI_MAD_get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win, winattr, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void* origin_addr, int origin_count,
                                               MPI_Datatype origin_datatype, int target_rank,
                                               MPI_Aint target_disp, int target_count,
                                               MPI_Datatype target_datatype, MPIR_Win* win,
                                               MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr,
                                               MPIR_Request** request) {
  return MPIDI_MAD_get(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                       target_count, target_datatype, win, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_accumulate(const void* origin_addr, int origin_count,
                                                     MPI_Datatype origin_datatype, int target_rank,
                                                     MPI_Aint target_disp, int target_count,
                                                     MPI_Datatype target_datatype, MPI_Op op,
                                                     MPIR_Win* win, MPIDI_av_entry_t* addr,
                                                     MPIDI_winattr_t winattr) {
  return MPIDI_MAD_accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype, op, win, winattr, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_raccumulate(
    const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, int target_rank,
    MPI_Aint target_disp, int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win* win,
    MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr, MPIR_Request** request) {
  return MPIDI_MAD_accumulate(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                              target_count, target_datatype, op, win, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get_accumulate(
    const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,
    int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
    int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win* win,
    MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr) {
  return MPIDI_MAD_get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                  result_count, result_datatype, target_rank, target_disp,
                                  target_count, target_datatype, op, win, winattr, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget_accumulate(
    const void* origin_addr, int origin_count, MPI_Datatype origin_datatype, void* result_addr,
    int result_count, MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
    int target_count, MPI_Datatype target_datatype, MPI_Op op, MPIR_Win* win,
    MPIDI_av_entry_t* addr, MPIDI_winattr_t winattr, MPIR_Request** request) {
  return MPIDI_MAD_get_accumulate(origin_addr, origin_count, origin_datatype, result_addr,
                                  result_count, result_datatype, target_rank, target_disp,
                                  target_count, target_datatype, op, win, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_fetch_and_op(const void* origin_addr, void* result_addr,
                                                       MPI_Datatype datatype, int target_rank,
                                                       MPI_Aint target_disp, MPI_Op op,
                                                       MPIR_Win* win, MPIDI_av_entry_t* addr,
                                                       MPIDI_winattr_t winattr) {
  return MPIDI_MAD_fetch_and_op(origin_addr, result_addr, datatype, target_rank, target_disp, op,
                                win, winattr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_compare_and_swap(const void* origin_addr,
                                                           const void* compare_addr,
                                                           void* result_addr, MPI_Datatype datatype,
                                                           int target_rank, MPI_Aint target_disp,
                                                           MPIR_Win* win, MPIDI_av_entry_t* addr,
                                                           MPIDI_winattr_t winattr) {
  return MPIDI_MAD_compare_and_swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                                    target_disp, win, winattr);
}

#endif /* MAD_RMA_H_INCLUDED */
