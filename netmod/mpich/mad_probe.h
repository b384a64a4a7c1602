/* mad_probe.h: probes of MPICH's queue of unexpected messages, which also notice failed processes.
 */
#ifndef MAD_PROBE_H_INCLUDED
#define MAD_PROBE_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm* comm,
                                                 int context_offset, MPIDI_av_entry_t* addr,
                                                 int* flag, MPI_Status* status) {
  int mpi_errno = MPIDIG_mpi_iprobe(source, tag, comm, context_offset, 0, flag, status);
  return (mpi_errno == MPI_SUCCESS && !*flag) ? MPIDI_MAD_probe_missed(source, comm) : mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm* comm,
                                                  int context_offset, MPIDI_av_entry_t* addr,
                                                  int* flag, MPIR_Request** message,
                                                  MPI_Status* status) {
  int mpi_errno = MPIDIG_mpi_improbe(source, tag, comm, context_offset, 0, flag, message, status);
  return (mpi_errno == MPI_SUCCESS && !*flag) ? MPIDI_MAD_probe_missed(source, comm) : mpi_errno;
}

#endif /* MAD_PROBE_H_INCLUDED */
