/* mad_am.c: active messages on their way out.
 *
 * Partitioned communication and the synchronisation of windows are MPICH's, over active messages.
 * One with data is one mad_send(): the engine decides about eager and rendezvous, and the request
 * is complete once nothing here has to look after it.  Only am_send_hdr() has none: what MPICH
 * sends by it answers a message, or asks for one that it waits for, so their number is bounded by
 * the requests and windows of both sides.  An error completes the request with that error instead
 * of leaving the caller with a request that nobody completes.
 */
#include "mad_core.h"

_Static_assert(sizeof(mad_op) <= sizeof(MPIDI_MAD_slot_t),
               "mad_pre.h leaves too little room for mad_op");
_Static_assert(_Alignof(mad_op) <= _Alignof(MPIDI_MAD_slot_t), "mad_pre.h misaligns mad_op");

MPI_Aint MPIDI_MAD_am_hdr_max_sz(void) {
  return (MPI_Aint)mad_max_header_bytes(MPIDI_MAD_global.engine);
}

void MPIDI_MAD_am_request_init(MPIR_Request* req) {
  memset(MPIDI_MAD_AM(req), 0, sizeof(MPIDI_MAD_am_request_t));
}

void MPIDI_MAD_am_request_finalize(MPIR_Request* req) {
  MPIDI_MAD_am_request_t* am = MPIDI_MAD_AM(req);

  MPL_free(am->send.buffer);
  MPL_free(am->recv.buffer);
  if (am->incoming && MPIDI_MAD_global.engine) mad_discard(MPIDI_MAD_global.engine, am->incoming);
  memset(am, 0, sizeof(*am));
}

/* Gives the slot back and tells MPICH; the origin callback may free the request or send on it
 * again. */
static void send_done(MPIR_Request* sreq, int error) {
  MPIDI_MAD_am_request_t* am = MPIDI_MAD_AM(sreq);
  int handler = am->send.handler;

  MPL_free(am->send.buffer);
  am->send.buffer = NULL;
  if (error) {
    sreq->status.MPI_ERROR = error;
    if (sreq->kind == MPIR_REQUEST_KIND__PART)
      MPIDIG_REQUEST(sreq, req->part_am_req.part_req_ptr)->status.MPI_ERROR = error;
  }
  MPIDIG_global.origin_cbs[handler](sreq);
}

void MPIDI_MAD_on_sent(void* context, mad_op* op, int status) {
  MPIR_Request* sreq = op->context;

  if (MPIDIG_REQUEST(sreq, req) != NULL)
    send_done(sreq, status < 0 ? MPIDI_MAD_request_error(sreq, status) : MPI_SUCCESS);
  else if (sreq->kind == MPIR_REQUEST_KIND__RMA)
    MPIDI_MAD_far_sent(sreq, status);
  else
    MPIDI_MAD_send_done(sreq, status);
}

int MPIDI_MAD_pack_whole(const void* data, MPI_Aint count, MPI_Datatype datatype,
                         MPIDI_MAD_layout_t* layout, void** buffer) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint packed;

  *buffer = MPL_malloc(layout->bytes, MPL_MEM_BUFFER);
  MPIR_ERR_CHKANDJUMP(*buffer == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  mpi_errno =
      MPIDI_MAD_pack_by_mpich(data, count, datatype, *buffer, (MPI_Aint)layout->bytes, &packed);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_Assert((uint64_t)packed == layout->bytes);
  layout->base = *buffer;
  layout->count = layout->bytes;
  layout->type = NULL;

fn_exit:
  return mpi_errno;
fn_fail:
  MPL_free(*buffer);
  *buffer = NULL;
  goto fn_exit;
}

/* MPI_SUCCESS with *done false: on_sent() follows. */
static int start_send(mad_peer* peer, int rank, MPIR_Comm* comm, int handler_id, const void* am_hdr,
                      MPI_Aint am_hdr_sz, const void* data, MPI_Aint count, MPI_Datatype datatype,
                      MPIR_Request* sreq, bool* done) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_transfer_t* transfer = &MPIDI_MAD_AM(sreq)->send;
  mad_op* op = (mad_op*)&transfer->slot;
  MPIDI_MAD_layout_t layout;
  mad_path path;
  int status;

  mpi_errno = MPIDI_MAD_comm_path(comm, &path);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(data, count, datatype, &layout);
  MPIR_ERR_CHECK(mpi_errno);

  if (path == MAD_PATH_OFF && layout.type) {
    mpi_errno = MPIDI_MAD_pack_whole(data, count, datatype, &layout, &transfer->buffer);
    MPIR_ERR_CHECK(mpi_errno);
  }
  op->context = sreq;
  op->group = comm->context_id;
  status = mad_send(MPIDI_MAD_global.engine, peer, (uint8_t)handler_id, am_hdr, am_hdr_sz,
                    layout.base, layout.count, layout.type, path, op);
  if (status < 0) {
    mpi_errno = MPIDI_MAD_peer_error(status, rank, comm);
    goto fn_fail;
  }
  *done = (status == MAD_SUCCESS);

fn_exit:
  return mpi_errno;
fn_fail:
  *done = true;
  goto fn_exit;
}

int MPIDI_MAD_am_isend(int rank, MPIR_Comm* comm, int handler_id, const void* am_hdr,
                       MPI_Aint am_hdr_sz, const void* data, MPI_Aint count, MPI_Datatype datatype,
                       MPIR_Request* sreq) {
  int mpi_errno;
  mad_peer* peer = MPIDI_MAD_peer(comm, rank);
  bool done;

  MPIDI_MAD_AM(sreq)->send.handler = (uint8_t)handler_id;
  if (unlikely(!peer)) {
    send_done(sreq, MPIDI_MAD_global.why_nowhere);
    return MPI_SUCCESS;
  }
  mpi_errno = start_send(peer, rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype,
                         sreq, &done);
  if (done) send_done(sreq, mpi_errno);
  return MPI_SUCCESS;
}

int MPIDI_MAD_am_send_hdr(int rank, MPIR_Comm* comm, int handler_id, const void* am_hdr,
                          MPI_Aint am_hdr_sz, bool reply) {
  mad_peer* peer;
  int status;

  /* Who asked says what rank it has; a send says so before its communicator is known. */
  if (reply && (rank < 0 || rank >= comm->remote_size)) return MPI_SUCCESS;
  peer = MPIDI_MAD_peer(comm, rank);
  if (unlikely(!peer)) {
    status = MPIDI_MAD_not_asked(rank, true, handler_id, am_hdr, MPIDI_MAD_global.why_nowhere);
    return reply ? MPI_SUCCESS : status;
  }
  status = mad_send_header(MPIDI_MAD_global.engine, peer, (uint8_t)handler_id, am_hdr,
                           (size_t)am_hdr_sz);
  /* Also to one who is gone: MPICH counts the lock as held. */
  if (handler_id == MPIDIG_WIN_LOCK_ACK || handler_id == MPIDIG_WIN_LOCKALL_ACK)
    MPIDI_MAD_lock_granted(peer, rank, ((const MPIDIG_win_cntrl_msg_t*)am_hdr)->win_id);
  if (status >= 0) return MPIDI_MAD_asked(peer, rank, handler_id, am_hdr);
  status = MPIDI_MAD_not_asked(rank, mad_peer_status(peer) < 0, handler_id, am_hdr,
                               MPIDI_MAD_peer_error(status, rank, comm));
  return reply ? MPI_SUCCESS : status;
}
