/* mad_part.h: partitioned communication is MPICH's generic one; here a send learns that its
 * receiver has failed.
 */
#ifndef MAD_PART_H_INCLUDED
#define MAD_PART_H_INCLUDED

#include "mad_impl.h"

#define MPIDI_NM_part_start MPIDI_MAD_generic_part_start
#include "netmod_am_fallback_part.h"
#undef MPIDI_NM_part_start

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_part_start(MPIR_Request* request) {
  int mpi_errno = MPIDI_MAD_generic_part_start(request);
  return (mpi_errno == MPI_SUCCESS) ? MPIDI_MAD_part_started(request) : mpi_errno;
}

#endif /* MAD_PART_H_INCLUDED */
