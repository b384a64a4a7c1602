/* mad_recv.c: active messages on their way in.
 *
 * A message with payload is handed to MPICH's callback as a transport rendezvous: MPICH creates or
 * finds the request, and we move the bytes to where it says.
 */
#include "mad_core.h"

static int type_mismatch(void) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TYPE,
                              "**dtypemismatch", 0);
}

/* Two of the same type, of which MPI allows one to be received. */
static bool is_twin(MPI_Datatype basic) {
  return basic == MPI_2INT || basic == MPI_2INTEGER || basic == MPI_2REAL ||
         basic == MPI_2DOUBLE_PRECISION;
}

/* A message that ends inside a basic element was sent with another signature.  Only layouts with
 * holes are looked at: contiguous data is bytes to MPICH's other devices too.  And only those whose
 * elements have one size: what MPICH counts of others, MPIR_Get_elements_x_impl(), is wrong for
 * subarrays, darrays and structs with an empty member, and divides by zero for some of them. */
static int check_signature(MPIR_Request* rreq, MPI_Aint bytes) {
  MPIR_Datatype* type = NULL;
  MPI_Aint element;

  MPIR_Datatype_get_ptr(MPIDIG_REQUEST(rreq, datatype), type);
  if (type == NULL || type->is_contig) return MPI_SUCCESS;
  element = type->builtin_element_size; /* below 1: they differ, or there are none */
  if (is_twin(type->basic_type)) element /= 2;
  return (element > 0 && bytes % element != 0) ? type_mismatch() : MPI_SUCCESS;
}

int MPIDI_MAD_check_received(MPIR_Request* rreq, void* buffer, MPI_Aint* bytes) {
  MPI_Aint unpacked = 0;
  int error;

  if (likely(buffer == NULL))
    return HANDLE_IS_BUILTIN(MPIDIG_REQUEST(rreq, datatype)) ? MPI_SUCCESS
                                                             : check_signature(rreq, *bytes);
  if (MPIDI_MAD_AM(rreq)->recv.fields) {
    error = MPIDI_MAD_unpack_fields(buffer, *bytes, MPIDIG_REQUEST(rreq, buffer),
                                    MPIDIG_REQUEST(rreq, count), MPIDIG_REQUEST(rreq, datatype));
    return error ? error : check_signature(rreq, *bytes);
  }
  error = MPIDI_MAD_unpack_by_mpich(buffer, *bytes, MPIDIG_REQUEST(rreq, buffer),
                                    MPIDIG_REQUEST(rreq, count), MPIDIG_REQUEST(rreq, datatype),
                                    &unpacked);
  if (!error && unpacked < *bytes && !rreq->status.MPI_ERROR) error = type_mismatch();
  *bytes = unpacked;
  return error;
}

/* Tells MPICH.  The completion callback may answer on this very request, so nothing of it is
 * touched afterwards. */
static void receive_done(MPIR_Request* rreq, uint64_t received, int error) {
  MPIDI_MAD_am_request_t* am = MPIDI_MAD_AM(rreq);
  MPI_Aint bytes = (MPI_Aint)received;

  if (!error && (am->recv.buffer || am->recv.partial))
    error = MPIDI_MAD_check_received(rreq, am->recv.buffer, &bytes);
  MPL_free(am->recv.buffer);
  am->recv.buffer = NULL;
  MPIR_STATUS_SET_COUNT(rreq->status, bytes);
  if (error) {
    rreq->status.MPI_ERROR = error;
    if (rreq->kind == MPIR_REQUEST_KIND__PART)
      MPIDIG_REQUEST(rreq, req->part_am_req.part_req_ptr)->status.MPI_ERROR = error;
  }
  MPIDIG_REQUEST(rreq, req->target_cmpl_cb)(rreq);
}

/* One-sided operations have no receive that could fail: wrong bytes in a window, or an answer that
 * never comes, would be nobody's error. */
static int corrupt_error(MPIR_Request* rreq) {
  int error = MPIDI_MAD_request_error(rreq, MAD_ERR_CORRUPT);

  if (rreq->kind == MPIR_REQUEST_KIND__RMA)
    MPID_Abort(rreq->u.rma.win->comm_ptr, error, 1, "one-sided data were changed on their way");
  return error;
}

/* Too long a message is no failure of the transport, and MPICH's error for it is set beforehand. */
int MPIDI_MAD_receive_error(MPIR_Request* rreq, int status) {
  if (status >= 0 || status == MAD_ERR_TRUNCATED) return MPI_SUCCESS;
  if (status == MAD_ERR_CORRUPT) return corrupt_error(rreq);
  return MPIDI_MAD_request_error(rreq, status);
}

void MPIDI_MAD_on_received(void* context, mad_op* op, uint64_t bytes, int status) {
  if (MPIDIG_REQUEST((MPIR_Request*)op->context, req) == NULL) /* no active message's */
    MPIDI_MAD_far_received(op->context, status);
  else
    receive_done(op->context, bytes, MPIDI_MAD_receive_error(op->context, status));
}

/* Where MPICH wants the bytes.  Lists of iovs exist only for transports that ask for one. */
static int receive_layout(MPIR_Request* rreq, MPIDI_MAD_layout_t* layout) {
  const MPIDIG_rreq_async_t* async = &MPIDIG_REQUEST(rreq, req->recv_async);

  if (async->recv_type == MPIDIG_RECV_DATATYPE)
    return MPIDI_MAD_layout(MPIDIG_REQUEST(rreq, buffer), MPIDIG_REQUEST(rreq, count),
                            MPIDIG_REQUEST(rreq, datatype), layout);
  MPIR_Assert(async->recv_type == MPIDIG_RECV_CONTIG);
  layout->base = async->iov_one.iov_base;
  layout->count = async->iov_one.iov_len;
  layout->type = NULL;
  layout->bytes = async->iov_one.iov_len;
  return MPI_SUCCESS;
}

static void receive(MPIR_Request* rreq) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_am_request_t* am = MPIDI_MAD_AM(rreq);
  mad_incoming* incoming = am->incoming;
  uint64_t incoming_bytes = am->incoming_bytes, received = 0;
  mad_op* op = (mad_op*)&am->recv.slot;
  MPIR_Comm* comm = rreq->comm;
  mad_path path;
  MPIDI_MAD_layout_t layout;
  int status;

  am->incoming = NULL;
  /* A wrong attribute is reported by the next send; here its owner gets the default. */
  (void)MPIDI_MAD_comm_path(comm, &path);
  mpi_errno = receive_layout(rreq, &layout);
  MPIR_ERR_CHECK(mpi_errno);
  if (incoming_bytes > layout.bytes && !rreq->status.MPI_ERROR)
    rreq->status.MPI_ERROR = MPIDIG_ERR_TRUNCATE(layout.bytes, incoming_bytes);

  am->recv.partial = (layout.type && incoming_bytes < layout.bytes);
  if (path == MAD_PATH_OFF && layout.type) {
    uint64_t room = MPL_MIN(incoming_bytes, layout.bytes);
    am->recv.buffer = MPL_malloc(MPL_MAX(room, 1), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(am->recv.buffer == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    layout.base = am->recv.buffer;
    layout.count = room;
    layout.type = NULL;
  }

  op->context = rreq;
  op->group = comm ? comm->context_id : 0;
  status = mad_recv(MPIDI_MAD_global.engine, incoming, layout.base, layout.count, layout.type, path,
                    op, &received);
  if (status != MAD_IN_PROGRESS)
    receive_done(rreq, received, MPIDI_MAD_receive_error(rreq, status));
  return;

fn_fail:
  mad_discard(MPIDI_MAD_global.engine, incoming);
  receive_done(rreq, 0, mpi_errno);
}

int MPIDI_MAD_am_ready(MPIR_Request* rreq) {
  if (MPIDI_MAD_AM(rreq)->incoming) receive(rreq);
  return MPI_SUCCESS;
}

static void mpich_message(uint8_t handler, void* header, uint64_t payload_bytes,
                          mad_incoming* incoming) {
  MPIR_Request* rreq = NULL;
  uint32_t attr = 0;

  MPIDIG_AM_ATTR_SET_VCIS(attr, 0, 0);
  if (payload_bytes == 0) {
    MPIDIG_global.target_msg_cbs[handler](header, NULL, 0, attr, NULL);
    return;
  }
  attr |= MPIDIG_AM_ATTR__IS_ASYNC | MPIDIG_AM_ATTR__IS_RNDV;
  MPIDIG_global.target_msg_cbs[handler](header, NULL, 0, attr, &rreq);
  if (rreq == NULL) {
    mad_discard(MPIDI_MAD_global.engine, incoming);
    return;
  }
  MPIDI_MAD_AM(rreq)->incoming = incoming;
  MPIDI_MAD_AM(rreq)->incoming_bytes = payload_bytes;
  if (MPIDIG_recv_initialized(rreq)) receive(rreq);
}

static void reject(mad_peer* from, const char* wrong, mad_incoming* incoming) {
  char why[128];

  snprintf(why, sizeof(why), "it sent %s", wrong);
  if (incoming) mad_discard(MPIDI_MAD_global.engine, incoming);
  (void)mad_peer_reject(MPIDI_MAD_global.engine, from, why);
}

void MPIDI_MAD_on_message(void* context, mad_peer* from, uint8_t handler, void* header,
                          size_t header_bytes, uint64_t payload_bytes, mad_incoming* incoming) {
  const bool far = (handler >= MPIDI_MAD_HANDLER_ACCUMULATE && handler <= MPIDI_MAD_HANDLER_GOT);
  const char* wrong =
      far ? MPIDI_MAD_far_message(from, handler, header, header_bytes, payload_bytes, incoming)
          : MPIDI_MAD_wrong_header(from, handler, header, header_bytes, payload_bytes);

  if (unlikely(wrong != NULL)) {
    reject(from, wrong, incoming);
  } else if (far) {
    return;
  } else if (handler == MPIDI_MAD_HANDLER_WATCH) {
    MPIDI_MAD_watch_message(header);
  } else if (handler == MPIDI_MAD_HANDLER_DYNAMIC) {
    MPIDI_MAD_dynamic_message(from, header, header_bytes);
  } else if (handler == MPIDI_MAD_HANDLER_FINALIZE) {
    MPIDI_MAD_global.finalize_rounds |= *(uint32_t*)header;
  } else if (handler == MPIDIG_WIN_POST || handler == MPIDIG_WIN_COMPLETE) {
    MPIDI_MAD_member_spoke(handler, header);
  } else {
    MPIDI_MAD_answered(from, handler, header);
    if (handler == MPIDIG_WIN_UNLOCK || handler == MPIDIG_WIN_UNLOCKALL)
      MPIDI_MAD_lock_returned(from, ((const MPIDIG_win_cntrl_msg_t*)header)->win_id);
    mpich_message(handler, header, payload_bytes, incoming);
  }
}
