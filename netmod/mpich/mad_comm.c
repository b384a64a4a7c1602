/* mad_comm.c: communicators as they come and go. */
#include "mad_core.h"

int MPIDI_MAD_mpi_comm_commit_pre_hook(MPIR_Comm* comm) {
  MPIDI_MAD_comm_init(comm);
  return MPI_SUCCESS;
}

int MPIDI_MAD_mpi_comm_commit_post_hook(MPIR_Comm* comm) {
  MPIDI_MAD_pass_hints_on(comm);
  return MPI_SUCCESS;
}

int MPIDI_MAD_mpi_comm_free_hook(MPIR_Comm* comm) {
  MPIDI_MAD_piggyback_comm_free(comm);
  MPIDI_MAD_board_free(comm);
  if (MPIDI_MAD_global.gone) MPIDI_MAD_global.release = MPIDI_MAD_global.sweep = true;
  return MPI_SUCCESS;
}

int MPIDI_MAD_comm_set_hints(MPIR_Comm* comm, MPIR_Info* info) {
  MPIDI_MAD_comm_hints(comm, info);
  return MPI_SUCCESS;
}

int MPIDI_MAD_comm_get_gpid(MPIR_Comm* comm, int idx, uint64_t* gpid, bool is_remote) {
  int avtid = 0, lpid = 0;

  if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM || is_remote)
    MPIDIU_comm_rank_to_pid(comm, idx, &lpid, &avtid);
  else
    MPIDIU_comm_rank_to_pid_local(comm, idx, &lpid, &avtid);
  *gpid = MPIDIU_GPID_CREATE(avtid, lpid);
  return MPI_SUCCESS;
}
