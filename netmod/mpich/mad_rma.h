/* mad_rma.h: one-sided communication is MPICH's generic one; here its waits for the members of a
 * group end when one of them has failed.
 */
#ifndef MAD_RMA_H_INCLUDED
#define MAD_RMA_H_INCLUDED

#include "mad_impl.h"

/* MPICH has all functions in one header; three of them are ours. */
#define MPIDI_NM_mpi_win_start MPIDI_MAD_generic_win_start
#define MPIDI_NM_mpi_win_wait MPIDI_MAD_generic_win_wait
#define MPIDI_NM_mpi_win_test MPIDI_MAD_generic_win_test
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_win_start
#undef MPIDI_NM_mpi_win_wait
#undef MPIDI_NM_mpi_win_test

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_start(MPIR_Group* group, int assert, MPIR_Win* win) {
  int mpi_errno = MPIDI_MAD_await_posts(group, assert, win);
  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_generic_win_start(group, assert, win) : mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_wait(MPIR_Win* win) {
  int mpi_errno = MPIDI_MAD_await_completes(win);
  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_generic_win_wait(win) : mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_test(MPIR_Win* win, int* flag) {
  int mpi_errno = MPIDI_MAD_generic_win_test(win, flag);
  return (mpi_errno == MPI_SUCCESS && !*flag) ? MPIDI_MAD_completes_missed(win) : mpi_errno;
}

#endif /* MAD_RMA_H_INCLUDED */
