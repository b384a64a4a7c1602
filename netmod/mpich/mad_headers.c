/* mad_headers.c: what the headers of MPICH's active messages say, checked before MPICH reads them.
 *
 * MPICH believes its peers: it reads as many bytes as its structure has, follows the addresses of
 * requests that travel to a peer and back, and takes ranks and lengths as they come.  Here all of
 * these are compared with what this process knows.  Addresses of requests are looked up in MPICH's
 * own pools, whose memory is requests for ever; whether the one there waits for this very message
 * of this very peer is written in it (MPIDI_MAD_am_request_t) or among the questions of
 * mad_answers.c.
 */
#include "mad_core.h"

/* Bytes of each message's header; of those that are not here MPICH sends none over this device. */
static const uint8_t header_sizes[MPIDI_AM_HANDLERS_MAX] = {
    [MPIDIG_PART_SEND_INIT] = sizeof(MPIDIG_part_send_init_msg_t),
    [MPIDIG_PART_CTS] = sizeof(MPIDIG_part_cts_msg_t),
    [MPIDIG_PART_SEND_DATA] = sizeof(MPIDIG_part_send_data_msg_t),
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

bool MPIDI_MAD_waits_for(const MPIR_Request* request, const mad_peer* peer, int begun_by) {
  return is_request(request) && request->kind == MPIR_REQUEST_KIND__RMA &&
         MPIDI_MAD_AM(request)->acknowledger == peer &&
         MPIDI_MAD_AM(request)->send.handler == begun_by;
}

static bool is_partitioned_send_to(const MPIR_Request* request, const mad_peer* peer) {
  return is_request(request) && MPIR_Object_get_ref(request) > 0 &&
         request->kind == MPIR_REQUEST_KIND__PART_SEND &&
         MPIDI_MAD_peer(request->comm, MPIDI_PART_REQUEST(request, u.send.dest)) == peer;
}

/* ---- windows ---- */

MPIR_Win* MPIDI_MAD_window_of(uint64_t win_id, int64_t rank, const mad_peer* peer) {
  MPIR_Win* win = MPIDIU_map_lookup(MPIDI_global.win_map, win_id);

  if (win == MPIDIU_MAP_NOT_FOUND || win->dev.netmod.mad.members == NULL || rank < 0 ||
      rank >= win->comm_ptr->local_size)
    return NULL;
  return (MPIDI_MAD_peer(win->comm_ptr, (int)rank) == peer) ? win : NULL;
}

/* ---- messages ---- */

/* Whether somebody here waits for it. */
static bool is_awaited(const mad_peer* from, int handler, const void* header,
                       uint64_t payload_bytes) {
  /* Where they are in the structures of those messages that name one of ours. */
  MPIR_Request* ours = *(MPIR_Request* const*)header;

  switch (handler) {
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
  bool known =
      (handler == MPIDI_MAD_HANDLER_DYNAMIC && header_bytes >= sizeof(MPIDI_MAD_note_header_t)) ||
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
  if (header_bytes != size) return "a message with a header of another length";
  if (is_control(handler)) return wrong_control(from, handler, header);
  if (handler == MPIDIG_PART_SEND_INIT || handler == MPIDIG_COMM_ABORT) return NULL;
  return is_awaited(from, handler, header, payload_bytes) ? NULL
                                                          : "an answer that nobody waits for";
}
