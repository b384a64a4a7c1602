/* mad_errors.c: libmad's errors in MPI's words. */
#include "mad_core.h"

int MPIDI_MAD_error(int status, int rank) {
  const char* why = mad_last_error();

  switch (status) {
    case MAD_ERR_PEER_FAILED:
    case MAD_ERR_UNREACHABLE:
    case MAD_ERR_CLOSED:
      if (rank >= 0)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_PROC_FAILED, "**mad_peer", "**mad_peer %d %s", rank,
                                    why);
      return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                  MPIX_ERR_PROC_FAILED, "**mad", "**mad %s", why);
    case MAD_ERR_MEMORY:
      return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                  MPI_ERR_NO_MEM, "**mad", "**mad %s", why);
    case MAD_ERR_TRUNCATED:
      return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                  MPI_ERR_TRUNCATE, "**mad", "**mad %s", why);
    case MAD_ERR_CORRUPT:
      if (rank >= 0)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_OTHER, "**mad_corrupt", "**mad_corrupt %d %s", rank,
                                    why);
      /* fall through */
    default:
      return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                  MPI_ERR_OTHER, "**mad", "**mad %s", why);
  }
}

int MPIDI_MAD_failed_error(int rank, int status) {
  const char* why = (status == MAD_ERR_CLOSED)        ? "it has left in good order (MPI_Finalize)"
                    : (status == MAD_ERR_UNREACHABLE) ? "it cannot be reached"
                    : (status == MAD_ERR_VERSION)     ? "its libmad is of another version"
                    : (status == MAD_ERR_PROTOCOL)    ? "it broke the wire protocol"
                                                      : "it died";

  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                              MPIX_ERR_PROC_FAILED, "**mad_peer", "**mad_peer %d %s", rank, why);
}

int MPIDI_MAD_rank_error(int rank, MPIR_Comm* comm) {
  int status = mad_peer_status(MPIDI_MAD_peer(comm, rank));

  return status < 0 ? MPIDI_MAD_failed_error(rank, status) : MPI_SUCCESS;
}
