/* mad_errors.c: libmad's errors in MPI's words. */
#include "mad_core.h"

static bool is_failure(int status) {
  return status == MAD_ERR_PEER_FAILED || status == MAD_ERR_UNREACHABLE ||
         status == MAD_ERR_PROTOCOL || status == MAD_ERR_VERSION || status == MAD_ERR_CLOSED;
}

static int class_of(int status) {
  if (is_failure(status)) return MPIX_ERR_PROC_FAILED;
  switch (status) {
    case MAD_ERR_MEMORY:
      return MPI_ERR_NO_MEM;
    case MAD_ERR_TRUNCATED:
      return MPI_ERR_TRUNCATE;
    case MAD_ERR_CONVERSION:
      return MPI_ERR_CONVERSION;
    default:
      return MPI_ERR_OTHER;
  }
}

int MPIDI_MAD_error(int status) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                              class_of(status), "**mad", "**mad %s", mad_last_error());
}

static int failed_because(int rank, MPIR_Comm* comm, const char* why) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                              MPIX_ERR_PROC_FAILED, "**mad_peer", "**mad_peer %d %C %s", rank,
                              comm->handle, why);
}

int MPIDI_MAD_peer_error(int status, int rank, MPIR_Comm* comm) {
  if (rank < 0 || comm == NULL) return MPIDI_MAD_error(status);
  if (is_failure(status)) return failed_because(rank, comm, mad_last_error());
  if (status == MAD_ERR_CORRUPT)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_OTHER, "**mad_corrupt", "**mad_corrupt %d %C %s", rank,
                                comm->handle, mad_last_error());
  return MPIDI_MAD_error(status);
}

void MPIDI_MAD_partner(MPIR_Request* req, int* rank, MPIR_Comm** comm) {
  MPIR_Request* part = NULL;

  *comm = req->comm;
  switch (req->kind) {
    case MPIR_REQUEST_KIND__SEND:
      *rank = MPIDIG_REQUEST(req, u.send.dest);
      break;
    case MPIR_REQUEST_KIND__RECV:
      *rank = MPIDIG_REQUEST(req, u.recv.source);
      break;
    case MPIR_REQUEST_KIND__RMA: /* at the origin, or at the target */
      *rank = MPIDIG_REQUEST(req, u.origin.target_rank);
      *comm = req->u.rma.win->comm_ptr;
      break;
    case MPIR_REQUEST_KIND__PART:
      part = MPIDIG_REQUEST(req, req->part_am_req.part_req_ptr);
      *rank = (part->kind == MPIR_REQUEST_KIND__PART_SEND)
                  ? MPIDI_PART_REQUEST(part, u.send.dest)
                  : MPIDI_PART_REQUEST(part, u.recv.source);
      *comm = part->comm;
      break;
    default:
      *comm = NULL;
      break;
  }
}

int MPIDI_MAD_request_error(MPIR_Request* req, int status) {
  MPIR_Comm* comm;
  int rank = MPI_PROC_NULL;

  MPIDI_MAD_partner(req, &rank, &comm);
  return MPIDI_MAD_peer_error(status, rank, comm);
}

int MPIDI_MAD_failed_error(int rank, MPIR_Comm* comm, int status) {
  const char* why = (status == MAD_ERR_CLOSED)        ? "it has left in good order (MPI_Finalize)"
                    : (status == MAD_ERR_UNREACHABLE) ? "it cannot be reached"
                    : (status == MAD_ERR_VERSION)     ? "its libmad is of another version"
                    : (status == MAD_ERR_PROTOCOL)    ? "it broke the wire protocol"
                                                      : "it died";

  return failed_because(rank, comm, why);
}

int MPIDI_MAD_rank_error(int rank, MPIR_Comm* comm) {
  int status = MPIDI_MAD_status(comm, rank);

  return status < 0 ? MPIDI_MAD_failed_error(rank, comm, status) : MPI_SUCCESS;
}
