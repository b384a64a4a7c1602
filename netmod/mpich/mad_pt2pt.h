/* mad_pt2pt.h: point-to-point communication, forwarded to mad_pt2pt.c. */
#ifndef MAD_PT2PT_H_INCLUDED
#define MAD_PT2PT_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void* buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm* comm, int context_offset,
                                                MPIDI_av_entry_t* addr, MPIR_Request** request) {
  return MPIDI_MAD_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, false,
                         MPIR_ERR_NONE, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void* buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm* comm, int context_offset,
                                                 MPIDI_av_entry_t* addr, MPIR_Request** request) {
  return MPIDI_MAD_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, true,
                         MPIR_ERR_NONE, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void* buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm* comm, int context_offset,
                                                 MPIDI_av_entry_t* addr, MPIR_Request** request,
                                                 MPIR_Errflag_t* errflag) {
  return MPIDI_MAD_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, false,
                         *errflag, request);
}

/* What is sent is on its way. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request* sreq) { return MPI_SUCCESS; }

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void* buf, MPI_Aint count, MPI_Datatype datatype,
                                                int rank, int tag, MPIR_Comm* comm,
                                                int context_offset, MPIDI_av_entry_t* addr,
                                                MPIR_Request** request, MPIR_Request* partner) {
  return MPIDI_MAD_irecv(buf, count, datatype, rank, tag, comm, context_offset, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void* buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request* message) {
  return MPIDI_MAD_imrecv(buf, count, datatype, message);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(MPIR_Request* rreq) {
  return MPIDI_MAD_cancel_recv(rreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm* comm,
                                                 int context_offset, MPIDI_av_entry_t* addr,
                                                 int* flag, MPI_Status* status) {
  return MPIDI_MAD_iprobe(source, tag, comm, context_offset, flag, status);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm* comm,
                                                  int context_offset, MPIDI_av_entry_t* addr,
                                                  int* flag, MPIR_Request** message,
                                                  MPI_Status* status) {
  return MPIDI_MAD_improbe(source, tag, comm, context_offset, flag, message, status);
}

#endif /* MAD_PT2PT_H_INCLUDED */
