/* mad_headers.c: what the headers of MPICH's active messages say, checked before MPICH reads them.
 *
 * MPICH believes its peers: it reads as many bytes as its structure has, follows the addresses of
 * requests that travel to a peer and back, and takes handles, ranks and lengths as they come.  Here
 * all of these are compared with what this process knows.  Addresses of requests are looked up in
 * MPICH's own pools, whose memory is requests for ever; whether the one there waits for this very
 * message of this very peer is written in it (MPIDI_MAD_am_request_t) or among the questions of
 * mad_answers.c.
 *
 * What a one-sided operation does within a window is its origin's affair: displacements are not
 * checked, nor the inside of a type's description.
 */
#include "mad_core.h"

/* Bytes of each message's header; of those that are not here MPICH sends none over this device. */
static const uint8_t header_sizes[MPIDI_AM_HANDLERS_MAX] = {
    [MPIDIG_PART_SEND_INIT] = sizeof(MPIDIG_part_send_init_msg_t),
    [MPIDIG_PART_CTS] = sizeof(MPIDIG_part_cts_msg_t),
    [MPIDIG_PART_SEND_DATA] = sizeof(MPIDIG_part_send_data_msg_t),
    [MPIDIG_PUT_REQ] = sizeof(MPIDIG_put_msg_t),
    [MPIDIG_PUT_ACK] = sizeof(MPIDIG_put_ack_msg_t),
    [MPIDIG_PUT_DT_REQ] = sizeof(MPIDIG_put_msg_t),
    [MPIDIG_PUT_DAT_REQ] = sizeof(MPIDIG_put_dat_msg_t),
    [MPIDIG_PUT_DT_ACK] = sizeof(MPIDIG_put_dt_ack_msg_t),
    [MPIDIG_GET_REQ] = sizeof(MPIDIG_get_msg_t),
    [MPIDIG_GET_ACK] = sizeof(MPIDIG_get_ack_msg_t),
    [MPIDIG_ACC_REQ] = sizeof(MPIDIG_acc_req_msg_t),
    [MPIDIG_ACC_ACK] = sizeof(MPIDIG_acc_ack_msg_t),
    [MPIDIG_ACC_DT_REQ] = sizeof(MPIDIG_acc_req_msg_t),
    [MPIDIG_ACC_DAT_REQ] = sizeof(MPIDIG_acc_dat_msg_t),
    [MPIDIG_ACC_DT_ACK] = sizeof(MPIDIG_acc_dt_ack_msg_t),
    [MPIDIG_GET_ACC_REQ] = sizeof(MPIDIG_get_acc_req_msg_t),
    [MPIDIG_GET_ACC_ACK] = sizeof(MPIDIG_get_acc_ack_msg_t),
    [MPIDIG_GET_ACC_DT_REQ] = sizeof(MPIDIG_get_acc_req_msg_t),
    [MPIDIG_GET_ACC_DAT_REQ] = sizeof(MPIDIG_get_acc_dat_msg_t),
    [MPIDIG_GET_ACC_DT_ACK] = sizeof(MPIDIG_get_acc_dt_ack_msg_t),
    [MPIDIG_CSWAP_REQ] = sizeof(MPIDIG_cswap_req_msg_t),
    [MPIDIG_CSWAP_ACK] = sizeof(MPIDIG_cswap_ack_msg_t),
    [MPIDIG_WIN_COMPLETE] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_POST] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_LOCK] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_LOCK_ACK] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_UNLOCK] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_UNLOCK_ACK] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_LOCKALL] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_LOCKALL_ACK] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_WIN_UNLOCKALL] = sizeof(MPIDIG_win_cntrl_msg_t),
    [MPIDIG_COMM_ABORT] = sizeof(int),
};

/* ---- requests ---- */

static bool is_of(const MPIR_Request* request, const void* block, size_t count) {
  uintptr_t offset = (uintptr_t)request - (uintptr_t)block;

  return block && offset < count * sizeof(MPIR_Request) && offset % sizeof(MPIR_Request) == 0;
}

static bool is_request(const MPIR_Request* request) {
  for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
    const MPIR_Object_alloc_t* pool = &MPIR_Request_mem[vci];
    if (is_of(request, pool->direct, pool->direct_size)) return true;
    for (int i = 0; i < pool->indirect_size; i++)
      if (is_of(request, pool->indirect[i], REQUEST_NUM_INDICES)) return true;
  }
  return false;
}

bool MPIDI_MAD_waits_for(const MPIR_Request* request, const mad_peer* peer, int begun_by,
                         int or_by) {
  int handler;

  if (!is_request(request) || request->kind != MPIR_REQUEST_KIND__RMA ||
      MPIDI_MAD_AM(request)->acknowledger != peer)
    return false;
  handler = MPIDI_MAD_AM(request)->send.handler;
  return handler == begun_by || handler == or_by;
}

/* The target has the type, and wants the data, once. */
static bool may_send_data(MPIR_Request* request, const mad_peer* peer, int begun_by) {
  if (!MPIDI_MAD_waits_for(request, peer, begun_by, begun_by) ||
      MPIDI_MAD_AM(request)->send.described)
    return false;
  MPIDI_MAD_AM(request)->send.described = true;
  return true;
}

/* An operation on a window of ours, whose data its origin owes since the type is here, once. */
static bool wants_data(MPIR_Request* request, const mad_peer* peer, int begun_by) {
  if (!is_request(request) || request->kind != MPIR_REQUEST_KIND__RMA ||
      !MPIDI_MAD_AM(request)->recv.described || MPIDI_MAD_AM(request)->recv.handler != begun_by ||
      MPIDI_MAD_peer(request->u.rma.win->comm_ptr, MPIDIG_REQUEST(request, u.target.origin_rank)) !=
          peer)
    return false;
  MPIDI_MAD_AM(request)->recv.described = false;
  return true;
}

static bool is_partitioned_send_to(const MPIR_Request* request, const mad_peer* peer) {
  return is_request(request) && MPIR_Object_get_ref(request) > 0 &&
         request->kind == MPIR_REQUEST_KIND__PART_SEND &&
         MPIDI_MAD_peer(request->comm, MPIDI_PART_REQUEST(request, u.send.dest)) == peer;
}

/* ---- windows, types ---- */

MPIR_Win* MPIDI_MAD_window_of(uint64_t win_id, int64_t rank, const mad_peer* peer) {
  MPIR_Win* win = MPIDIU_map_lookup(MPIDI_global.win_map, win_id);

  if (win == MPIDIU_MAP_NOT_FOUND || win->dev.netmod.mad.members == NULL || rank < 0 ||
      rank >= win->comm_ptr->local_size)
    return NULL;
  return (MPIDI_MAD_peer(win->comm_ptr, (int)rank) == peer) ? win : NULL;
}

MPI_Aint MPIDI_MAD_predefined_bytes(MPI_Aint count, MPI_Datatype datatype) {
  MPI_Aint size;

  if (count < 0 || !MPIR_DATATYPE_IS_PREDEFINED(datatype)) return -1;
  if (HANDLE_IS_BUILTIN(datatype) && (datatype & 0xff) >= MPIR_DATATYPE_N_BUILTIN) return -1;
  MPIR_Datatype_get_size_macro(datatype, size);
  return (size == 0 || count <= MPIR_AINT_MAX / size) ? count * size : -1;
}

/* ---- messages ---- */

/* A target's type follows the header, or is the payload, or is a predefined one. */
typedef struct {
  MPI_Aint follows; /* bytes; 0: it is predefined */
  MPI_Aint count;
  MPI_Datatype datatype;
} target_t;

static bool is_target(const target_t* target, size_t header_bytes, size_t size) {
  if (target->follows < 0 || header_bytes != size + (size_t)target->follows) return false;
  return target->follows > 0 ? target->count >= 0
                             : MPIDI_MAD_predefined_bytes(target->count, target->datatype) >= 0;
}

static const char* wrong_put(const mad_peer* from, const MPIDIG_put_msg_t* msg, size_t header_bytes,
                             uint64_t payload_bytes, bool described) {
  target_t target = {described ? 0 : msg->flattened_sz, msg->target_count,
                     described ? MPI_BYTE : (MPI_Datatype)msg->target_datatype};

  if (!MPIDI_MAD_window_of(msg->win_id, msg->src_rank, from))
    return "a put into a window that it is not of";
  if (!is_target(&target, header_bytes, sizeof(*msg))) return "a put to no type";
  if (payload_bytes == 0 || msg->origin_data_sz < 0 ||
      payload_bytes != (uint64_t)(described ? msg->flattened_sz : msg->origin_data_sz))
    return "a put of another length than it says";
  return NULL;
}

static const char* wrong_get(const mad_peer* from, const MPIDIG_get_msg_t* msg, size_t header_bytes,
                             uint64_t payload_bytes) {
  target_t target = {0, msg->target_count,
                     msg->flattened_sz ? MPI_BYTE : (MPI_Datatype)msg->target_datatype};

  if (!MPIDI_MAD_window_of(msg->win_id, msg->src_rank, from))
    return "a get from a window that it is not of";
  if (!is_target(&target, header_bytes, sizeof(*msg))) return "a get of no type";
  if (msg->flattened_sz < 0 || payload_bytes != (uint64_t)msg->flattened_sz)
    return "a get of another length than it says";
  return NULL;
}

/* Without data where the operation does nothing.  The length of a result is set, and read, only
 * where it goes back. */
static const char* wrong_accumulate(const mad_peer* from, int handler,
                                    const MPIDIG_acc_req_msg_t* msg, size_t header_bytes,
                                    uint64_t payload_bytes) {
  bool described = handler == MPIDIG_ACC_DT_REQ || handler == MPIDIG_GET_ACC_DT_REQ;
  bool gets = handler == MPIDIG_GET_ACC_REQ || handler == MPIDIG_GET_ACC_DT_REQ;
  target_t target = {described ? 0 : msg->flattened_sz, msg->target_count,
                     described ? MPI_BYTE : msg->target_datatype};
  MPI_Aint bytes = (msg->op == MPI_NO_OP && msg->origin_count == 0)
                       ? 0
                       : MPIDI_MAD_predefined_bytes(msg->origin_count, msg->origin_datatype);
  int op = msg->op & 0xff;

  if (!MPIDI_MAD_window_of(msg->win_id, msg->src_rank, from))
    return "an accumulate into a window that it is not of";
  if (!HANDLE_IS_BUILTIN(msg->op) || op == 0 || op >= MPIR_OP_N_BUILTIN)
    return "an accumulate with no operation";
  if (!is_target(&target, header_bytes, sizeof(*msg)) || bytes < 0 ||
      (gets && msg->result_data_sz < 0))
    return "an accumulate of no type";
  if (payload_bytes != (uint64_t)(described ? msg->flattened_sz : bytes) ||
      (described && msg->flattened_sz <= 0))
    return "an accumulate of another length than it says";
  return NULL;
}

static const char* wrong_compare(const mad_peer* from, const MPIDIG_cswap_req_msg_t* msg,
                                 uint64_t payload_bytes) {
  MPI_Aint bytes = MPIDI_MAD_predefined_bytes(2, msg->datatype);

  if (!MPIDI_MAD_window_of(msg->win_id, msg->src_rank, from))
    return "a compare and swap in a window that it is not of";
  if (bytes <= 0 || payload_bytes != (uint64_t)bytes) return "a compare and swap of no type";
  return NULL;
}

/* MPICH takes what does not come from the address NULL. */
static bool result_is_missing(const MPIR_Request* request, uint64_t payload_bytes) {
  MPI_Aint size;

  MPIR_Datatype_get_size_macro(MPIDIG_REQUEST(request, req->areq.result_datatype), size);
  return payload_bytes == 0 && size > 0 && MPIDIG_REQUEST(request, req->areq.result_count) > 0;
}

static bool accumulated_is_missing(const MPIR_Request* request, uint64_t payload_bytes) {
  return payload_bytes == 0 && MPIDIG_REQUEST(request, req->areq.origin_count) > 0;
}

/* Whether somebody here waits for it. */
static bool is_awaited(const mad_peer* from, int handler, const void* header,
                       uint64_t payload_bytes) {
  /* Where they are in the structures of those messages that name one of ours. */
  MPIR_Request* ours = *(MPIR_Request* const*)header;

  switch (handler) {
    case MPIDIG_PUT_ACK:
      return MPIDI_MAD_waits_for(ours, from, MPIDIG_PUT_REQ, MPIDIG_PUT_DT_REQ);
    case MPIDIG_GET_ACK:
      return MPIDI_MAD_waits_for(ours, from, MPIDIG_GET_REQ, MPIDIG_GET_REQ) && payload_bytes > 0 &&
             (uint64_t)((const MPIDIG_get_ack_msg_t*)header)->target_data_sz == payload_bytes;
    case MPIDIG_ACC_ACK:
      return MPIDI_MAD_waits_for(ours, from, MPIDIG_ACC_REQ, MPIDIG_ACC_DT_REQ);
    case MPIDIG_GET_ACC_ACK:
      return MPIDI_MAD_waits_for(ours, from, MPIDIG_GET_ACC_REQ, MPIDIG_GET_ACC_DT_REQ) &&
             !result_is_missing(ours, payload_bytes);
    case MPIDIG_CSWAP_ACK:
      return MPIDI_MAD_waits_for(ours, from, MPIDIG_CSWAP_REQ, MPIDIG_CSWAP_REQ) &&
             payload_bytes > 0;
    case MPIDIG_PUT_DT_ACK:
      ours = ((const MPIDIG_put_dt_ack_msg_t*)header)->origin_preq_ptr;
      return may_send_data(ours, from, MPIDIG_PUT_DT_REQ);
    case MPIDIG_ACC_DT_ACK:
      ours = ((const MPIDIG_acc_dt_ack_msg_t*)header)->origin_preq_ptr;
      return may_send_data(ours, from, MPIDIG_ACC_DT_REQ);
    case MPIDIG_GET_ACC_DT_ACK:
      ours = ((const MPIDIG_get_acc_dt_ack_msg_t*)header)->origin_preq_ptr;
      return may_send_data(ours, from, MPIDIG_GET_ACC_DT_REQ);
    case MPIDIG_PUT_DAT_REQ:
      return payload_bytes > 0 && wants_data(ours, from, MPIDIG_PUT_DT_REQ);
    case MPIDIG_ACC_DAT_REQ:
      return wants_data(ours, from, MPIDIG_ACC_DT_REQ) &&
             !accumulated_is_missing(ours, payload_bytes);
    case MPIDIG_GET_ACC_DAT_REQ:
      return wants_data(ours, from, MPIDIG_GET_ACC_DT_REQ) &&
             !accumulated_is_missing(ours, payload_bytes);
    case MPIDIG_PART_CTS:
      return is_partitioned_send_to(ours, from);
    case MPIDIG_PART_SEND_DATA:
      return MPIDI_MAD_is_asked(from, handler, (uintptr_t)ours) &&
             (payload_bytes > 0 || MPIDIG_PART_REQUEST(ours, u.recv).sdata_size == 0);
    default:
      return false;
  }
}

static const char* wrong_control(const mad_peer* from, int handler,
                                 const MPIDIG_win_cntrl_msg_t* msg) {
  if (!MPIDI_MAD_window_of(msg->win_id, msg->origin_rank, from))
    return "a message of a window that it is not of";
  switch (handler) {
    case MPIDIG_WIN_UNLOCK:
    case MPIDIG_WIN_UNLOCKALL:
      return MPIDI_MAD_holds_lock(from, msg->win_id) ? NULL : "a lock back that it does not hold";
    case MPIDIG_WIN_LOCK_ACK:
    case MPIDIG_WIN_LOCKALL_ACK:
    case MPIDIG_WIN_UNLOCK_ACK:
      return MPIDI_MAD_is_asked(from, handler, msg->win_id)
                 ? NULL
                 : "an answer about a lock that nobody asked for";
    default:
      return NULL;
  }
}

static bool is_control(int handler) {
  return handler >= MPIDIG_WIN_COMPLETE && handler <= MPIDIG_WIN_UNLOCKALL_ACK;
}

/* A message of the device itself. */
static const char* wrong_own(int handler, size_t header_bytes, uint64_t payload_bytes) {
  bool known = (handler == MPIDI_MAD_HANDLER_DYNAMIC && header_bytes >= sizeof(int32_t)) ||
               (handler == MPIDI_MAD_HANDLER_FINALIZE && header_bytes == sizeof(uint32_t)) ||
               (handler == MPIDI_MAD_HANDLER_WATCH && header_bytes == sizeof(MPIDI_MAD_word_t));

  return (known && payload_bytes == 0) ? NULL
                                       : "a message of a kind that this device does not have";
}

const char* MPIDI_MAD_wrong_header(const mad_peer* from, int handler, const void* header,
                                   size_t header_bytes, uint64_t payload_bytes) {
  size_t size;

  if (handler >= MPIDI_AM_HANDLERS_MAX) return wrong_own(handler, header_bytes, payload_bytes);
  size = header_sizes[handler];
  if (size == 0) return "a message of a kind that this device does not have";
  if (header_bytes < size) return "a message with a header that is too short";
  switch (handler) {
    case MPIDIG_PUT_REQ:
    case MPIDIG_PUT_DT_REQ:
      return wrong_put(from, header, header_bytes, payload_bytes, handler == MPIDIG_PUT_DT_REQ);
    case MPIDIG_ACC_REQ:
    case MPIDIG_GET_ACC_REQ:
    case MPIDIG_ACC_DT_REQ:
    case MPIDIG_GET_ACC_DT_REQ:
      return wrong_accumulate(from, handler, header, header_bytes, payload_bytes);
    default:
      break;
  }
  if (header_bytes != size) return "a message with a header that is too long";
  if (handler == MPIDIG_GET_REQ) return wrong_get(from, header, header_bytes, payload_bytes);
  if (handler == MPIDIG_CSWAP_REQ) return wrong_compare(from, header, payload_bytes);
  if (is_control(handler)) return wrong_control(from, handler, header);
  if (handler == MPIDIG_PART_SEND_INIT || handler == MPIDIG_COMM_ABORT) return NULL;
  return is_awaited(from, handler, header, payload_bytes) ? NULL
                                                          : "an answer that nobody waits for";
}
