/* mad_am.h: active messages, forwarded to mad_am.c and mad_recv.c.
 *
 * There is one engine and one virtual channel, so the channel arguments say nothing.
 */
#ifndef MAD_AM_H_INCLUDED
#define MAD_AM_H_INCLUDED

#include "mad_impl.h"

/* Sizes that MPICH asks for when it dimensions its own eager buffers, which mad never uses. */
#define MPIDI_MAD_NOMINAL_EAGER_SZ (16 * 1024)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm* comm, int handler_id,
                                               const void* am_hdr, MPI_Aint am_hdr_sz,
                                               const void* data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request* sreq) {
  return MPIDI_MAD_am_isend(rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype, sreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend_reply(MPIR_Comm* comm, int src_rank, int handler_id,
                                                     const void* am_hdr, MPI_Aint am_hdr_sz,
                                                     const void* data, MPI_Aint count,
                                                     MPI_Datatype datatype, int src_vci,
                                                     int dst_vci, MPIR_Request* sreq) {
  return MPIDI_MAD_am_isend(src_rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype,
                            sreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm* comm, int handler_id,
                                                  const void* am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci) {
  return MPIDI_MAD_am_send_hdr(rank, comm, handler_id, am_hdr, am_hdr_sz, false);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr_reply(MPIR_Comm* comm, int src_rank,
                                                        int handler_id, const void* am_hdr,
                                                        MPI_Aint am_hdr_sz, int src_vci,
                                                        int dst_vci) {
  return MPIDI_MAD_am_send_hdr(src_rank, comm, handler_id, am_hdr, am_hdr_sz, true);
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_hdr_max_sz(void) { return MPIDI_MAD_am_hdr_max_sz(); }

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_limit(void) {
  return MPIDI_MAD_NOMINAL_EAGER_SZ;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_buf_limit(void) {
  return MPIDI_MAD_NOMINAL_EAGER_SZ;
}

/* Always: rendezvous is the engine's, and MPICH's own handshake would only add a round trip. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_check_eager(MPI_Aint am_hdr_sz, MPI_Aint data_sz,
                                                      const void* data, MPI_Aint count,
                                                      MPI_Datatype datatype, MPIR_Request* sreq) {
  return true;
}

MPL_STATIC_INLINE_PREFIX MPIDIG_recv_data_copy_cb MPIDI_NM_am_get_data_copy_cb(uint32_t attr) {
  return MPIDI_MAD_am_ready;
}

#endif /* MAD_AM_H_INCLUDED */
