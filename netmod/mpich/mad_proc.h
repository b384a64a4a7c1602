/* mad_proc.h: who is where. */
#ifndef MAD_PROC_H_INCLUDED
#define MAD_PROC_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm* comm) {
  return MPIDIU_rank_is_local(rank, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm* comm_ptr, int idx,
                                                    uint64_t* gpid_ptr, bool is_remote) {
  return MPIDI_MAD_comm_get_gpid(comm_ptr, idx, gpid_ptr, is_remote);
}

#endif /* MAD_PROC_H_INCLUDED */
