/* mad_far.c: put and get where this process does not have the target's memory, by messages, or by
 * the fabric alone where that has the memory (mad_remote.c) and both sides are one run.
 *
 * A target's layout is sent with the first operation that needs it and has a number from then on,
 * in a table of a few for each window and pair.  A target says once a turn of progress how many
 * puts it has taken; so an operation needs no acknowledgement of its own, and MPICH, which waits
 * for its counters at the end of an epoch, counts all that are under way to a target as one.  What
 * would lie outside of the window is refused by the target, and the origin's next synchronisation
 * says so.  A layout that is too long to be described at once travels in pieces, as an atomic
 * operation does (mad_atomic.c).
 */
#include "mad_far.h"

#include "utlist.h"

typedef MPIDI_MAD_far_t far_t;
typedef MPIDI_MAD_operation_t operation_t;

mad_path MPIDI_MAD_far_path(MPIR_Win* win) {
  mad_path path;

  /* A wrong attribute is reported by who sends; "off" is the origin's choice. */
  (void)MPIDI_MAD_comm_path(win->comm_ptr, &path);
  return path == MAD_PATH_OFF ? MAD_PATH_AUTO : path;
}

/* Whether the origin's data are packed and unpacked by MPICH. */
static bool by_mpich(const MPIDI_MAD_layout_t* layout, mad_path path) {
  return path == MAD_PATH_OFF && layout->type != NULL;
}

void MPIDI_MAD_note_trouble(MPIR_Win* win, int error) {
  if (win->dev.netmod.mad.trouble == MPI_SUCCESS) win->dev.netmod.mad.trouble = error;
}

static int no_memory(void) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_NO_MEM,
                              "**nomem", 0);
}

far_t* MPIDI_MAD_far_of(MPIR_Win* win, int rank, mad_peer* peer) {
  MPIDI_MAD_member_t* member = &win->dev.netmod.mad.members[rank];

  if (likely(member->far != NULL)) return member->far;
  member->far = MPL_calloc(1, sizeof(far_t), MPL_MEM_RMA);
  if (member->far == NULL) return NULL;
  member->far->win = win;
  member->far->rank = rank;
  member->far->peer = peer;
  DL_APPEND(MPIDI_MAD_global.far, member->far);
  return member->far;
}

/* ---- what MPICH counts ---- */

void MPIDI_MAD_far_begin(far_t* far) {
  if (far->pending++ == 0) MPIDIG_win_cmpl_cnts_incr(far->win, far->rank, &far->local);
}

void MPIDI_MAD_far_end(far_t* far, uint32_t operations) {
  if (operations == 0 || (far->pending -= operations) > 0) return;
  if (MPIDI_MAD_global.waits_since) MPIDI_MAD_waited_for(far->win, far->rank);
  MPIDIG_win_remote_cmpl_cnt_decr(far->win, far->rank);
  MPIR_cc_dec(far->local);
}

/* ---- requests ---- */

MPIR_Request* MPIDI_MAD_far_request(MPIR_Win* win, int rank, uint8_t handler, int parts,
                                    bool of_program) {
  MPIR_Request* request;

  MPIDI_CH4_REQUEST_CREATE(request, MPIR_REQUEST_KIND__RMA, 0, of_program ? 2 : 1);
  if (unlikely(request == NULL)) return NULL;
  memset(MPIDI_MAD_AM(request), 0, sizeof(*MPIDI_MAD_AM(request)));
  MPIR_cc_set(request->cc_ptr, parts);
  request->u.rma.win = win;
  MPIDIG_REQUEST(request, u.origin.target_rank) = rank; /* for error texts, too */
  MPIDI_MAD_AM(request)->send.handler = handler;
  return request;
}

/* ---- origin ---- */

/* An operation on its way. */
typedef struct {
  far_t* far;
  mad_peer* peer;
  MPIDI_MAD_layout_t here, there;
  mad_path path;
  MPIDI_MAD_operation_header_t header;
  size_t header_bytes;
} attempt_t;

typedef enum { GO, NOTHING_TO_DO, IN_PIECES } outcome_t;

bool MPIDI_MAD_can_name(const far_t* far, const mad_type* type, size_t room) {
  size_t bytes;

  for (int i = 0; i < MPIDI_MAD_LAYOUTS; i++)
    if (far->sent[i] == type) return true;
  return mad_type_serialize(type, NULL, 0, &bytes) == MAD_SUCCESS && bytes <= room;
}

bool MPIDI_MAD_name_layout(far_t* far, mad_type* type, operation_t* operation, void* description,
                           size_t room) {
  mad_type** slot;
  size_t bytes;

  operation->described = 0;
  for (uint16_t i = 0; i < MPIDI_MAD_LAYOUTS; i++) {
    if (far->sent[i] != type) continue;
    operation->layout = (uint16_t)(i + 1);
    return true;
  }
  if (mad_type_serialize(type, description, room, &bytes) < 0 || bytes > room) return false;
  slot = &far->sent[far->next_sent];
  operation->layout = (uint16_t)(far->next_sent + 1);
  operation->described = (uint16_t)bytes;
  far->next_sent = (far->next_sent + 1) % MPIDI_MAD_LAYOUTS;
  mad_type_release(*slot);
  mad_type_retain(type);
  *slot = type;
  return true;
}

void MPIDI_MAD_unname_layout(far_t* far, const operation_t* operation) {
  mad_type** slot;

  if (operation->described == 0 || operation->layout == MPIDI_MAD_LAYOUT_ONCE) return;
  slot = &far->sent[operation->layout - 1];
  mad_type_release(*slot);
  *slot = NULL;
}

static int prepare(bool is_put, MPIDI_MAD_buffer_t origin, int rank, MPI_Aint displacement,
                   MPIDI_MAD_buffer_t target, MPIR_Win* win, attempt_t* out, outcome_t* outcome) {
  const MPIDI_MAD_layout_t *from = is_put ? &out->here : &out->there,
                           *to = is_put ? &out->there : &out->here;
  int mpi_errno = MPI_SUCCESS;
  operation_t* operation = &out->header.operation;
  const size_t room = mad_max_header_bytes(MPIDI_MAD_global.engine) - sizeof(*operation);

  mpi_errno = MPIDI_MAD_begin_access(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(origin.address, origin.count, origin.datatype, &out->here);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(NULL, target.count, target.datatype, &out->there);
  MPIR_ERR_CHECK(mpi_errno);
  *outcome = NOTHING_TO_DO;
  if (from->bytes == 0 || to->bytes == 0) goto fn_exit;
  MPIR_ERR_CHKANDJUMP(from->bytes > to->bytes, mpi_errno, MPI_ERR_TRUNCATE, "**truncate");
  mpi_errno = MPIDI_MAD_comm_path(win->comm_ptr, &out->path);
  MPIR_ERR_CHECK(mpi_errno);
  out->peer = MPIDI_MAD_peer(win->comm_ptr, rank);
  if (unlikely(out->peer == NULL)) {
    mpi_errno = MPIDI_MAD_global.why_nowhere;
    goto fn_fail;
  }
  out->far = MPIDI_MAD_far_of(win, rank, out->peer);
  MPIR_ERR_CHKANDJUMP(out->far == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  *operation = (operation_t){.window = MPIDIG_WIN(win, win_id),
                             .displacement = displacement,
                             .skip = (int64_t)(intptr_t)out->there.base,
                             .count = (int64_t)out->there.count,
                             .rank = win->comm_ptr->rank};
  *outcome = IN_PIECES;
  if (out->there.type &&
      !MPIDI_MAD_name_layout(out->far, (mad_type*)out->there.type, operation, out->header.layout,
                             MPL_MIN(room, MPIDI_MAD_MOST_DESCRIBED)))
    goto fn_exit;
  out->header_bytes = sizeof(*operation) + operation->described;
  *outcome = GO;

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Of an operation that did not begin. */
static void drop(MPIR_Request* request) {
  MPIR_cc_set(request->cc_ptr, 0);
  for (int references = MPIR_Object_get_ref(request); references > 0; references--)
    MPIDI_CH4_REQUEST_FREE(request);
}

/* Nothing was sent: the request, and the number of a layout that the target does not have. */
static int give_up(attempt_t* attempt, MPIR_Request* request, int rank, MPIR_Win* win, int status) {
  MPIDI_MAD_unname_layout(attempt->far, &attempt->header.operation);
  if (request == NULL) return no_memory();
  MPL_free(MPIDI_MAD_AM(request)->send.buffer);
  drop(request);
  return MPIDI_MAD_peer_error(status, rank, win->comm_ptr);
}

/* By the fabric; `*started` false: it cannot, or not yet. */
static int start_access(bool is_put, attempt_t* attempt, int rank, MPIR_Win* win,
                        MPIR_Request** program, bool* started) {
  const MPIDI_MAD_layout_t *here = &attempt->here, *there = &attempt->there;
  const operation_t* operation = &attempt->header.operation;
  const MPIDI_MAD_remote_t* remote = NULL;
  MPIR_Request* request;
  uint64_t offset;
  mad_op* op;
  int status;

  *started = false;
  if (here->type == NULL && there->type == NULL)
    remote = MPIDI_MAD_remote_of(win, rank, operation->displacement, operation->skip, there->bytes,
                                 &offset);
  if (remote == NULL) return MPI_SUCCESS;
  request = MPIDI_MAD_far_request(win, rank, MPIDI_MAD_HANDLER_PUT, 1, program != NULL);
  if (request == NULL) return no_memory();
  op = MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->send.slot);
  status = is_put ? mad_put(MPIDI_MAD_global.engine, attempt->peer, &remote->key, offset,
                            here->base, here->bytes, op)
                  : mad_get(MPIDI_MAD_global.engine, attempt->peer, &remote->key, offset,
                            here->base, there->bytes, op);
  if (status != MAD_IN_PROGRESS) {
    drop(request);
    return status < 0 ? MPIDI_MAD_peer_error(status, rank, win->comm_ptr) : MPI_SUCCESS;
  }
  MPIDI_MAD_far_begin(attempt->far);
  if (program != NULL) *program = request;
  *started = true;
  return MPI_SUCCESS;
}

static int start_put(attempt_t* attempt, MPIDI_MAD_buffer_t origin, int rank, MPIR_Win* win,
                     MPIR_Request** program) {
  MPIR_Request* request =
      MPIDI_MAD_far_request(win, rank, MPIDI_MAD_HANDLER_PUT, 1, program != NULL);
  int status = MAD_SUCCESS;

  if (request != NULL && by_mpich(&attempt->here, attempt->path) &&
      MPIDI_MAD_pack_whole(origin.address, origin.count, origin.datatype, &attempt->here,
                           &MPIDI_MAD_AM(request)->send.buffer) != MPI_SUCCESS)
    status = MAD_ERR_MEMORY;
  if (request != NULL && status == MAD_SUCCESS)
    status = mad_send_soon(MPIDI_MAD_global.engine, attempt->peer, MPIDI_MAD_HANDLER_PUT,
                           &attempt->header, attempt->header_bytes, attempt->here.base,
                           attempt->here.count, attempt->here.type, attempt->path,
                           MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->send.slot));
  if (request == NULL || status < 0) return give_up(attempt, request, rank, win, status);
  attempt->far->unanswered++;
  MPIDI_MAD_far_begin(attempt->far);
  if (program != NULL) *program = request;
  if (status == MAD_IN_PROGRESS) {
    MPIDI_MAD_far_begin(attempt->far); /* until it has left */
    return MPI_SUCCESS;
  }
  MPL_free(MPIDI_MAD_AM(request)->send.buffer);
  return MPID_Request_complete(request);
}

/* Its parts: the question has left, and the data are here. */
static int start_get(attempt_t* attempt, MPIDI_MAD_buffer_t origin, int rank, MPIR_Win* win,
                     MPIR_Request** program) {
  MPIR_Request* request =
      MPIDI_MAD_far_request(win, rank, MPIDI_MAD_HANDLER_GET, 2, program != NULL);
  int status = MAD_SUCCESS;

  attempt->header.operation.request = (uintptr_t)request;
  if (request != NULL)
    status = mad_send_soon(MPIDI_MAD_global.engine, attempt->peer, MPIDI_MAD_HANDLER_GET,
                           &attempt->header, attempt->header_bytes, NULL, 0, NULL, MAD_PATH_AUTO,
                           MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->send.slot));
  if (request == NULL || status < 0) return give_up(attempt, request, rank, win, status);
  MPIDIG_REQUEST(request, buffer) = (void*)origin.address;
  MPIDIG_REQUEST(request, count) = origin.count;
  MPIDIG_REQUEST(request, datatype) = origin.datatype;
  MPIR_Datatype_add_ref_if_not_builtin(origin.datatype);
  MPIDI_MAD_far_begin(attempt->far);
  MPIDI_MAD_await_acknowledgement(request, attempt->peer);
  if (program != NULL) *program = request;
  return (status == MAD_IN_PROGRESS) ? MPI_SUCCESS : MPID_Request_complete(request);
}

static int in_pieces(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank, MPI_Aint displacement,
                     const MPIDI_MAD_buffer_t* target, MPIR_Win* win, MPIR_Request** request) {
  const MPIDI_MAD_atomic_t pieces = {.origin = *origin,
                                     .result = *origin,
                                     .target = *target,
                                     .displacement = displacement,
                                     .op = is_put ? MPI_REPLACE : MPI_NO_OP,
                                     .fetches = !is_put,
                                     .is_put = is_put};

  return MPIDI_MAD_far_atomic(&pieces, rank, win, request);
}

int MPIDI_MAD_far(bool is_put, const MPIDI_MAD_buffer_t* origin, int rank, MPI_Aint displacement,
                  const MPIDI_MAD_buffer_t* target, MPIR_Win* win, MPIR_Request** request) {
  int mpi_errno = MPI_SUCCESS;
  outcome_t outcome = NOTHING_TO_DO;
  attempt_t attempt;
  bool started;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = prepare(is_put, *origin, rank, displacement, *target, win, &attempt, &outcome);
  MPIR_ERR_CHECK(mpi_errno);
  switch (outcome) {
    case GO:
      mpi_errno = start_access(is_put, &attempt, rank, win, request, &started);
      MPIR_ERR_CHECK(mpi_errno);
      if (started) break;
      mpi_errno = is_put ? start_put(&attempt, *origin, rank, win, request)
                         : start_get(&attempt, *origin, rank, win, request);
      MPIR_ERR_CHECK(mpi_errno);
      break;
    case NOTHING_TO_DO:
      if (request != NULL) *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
      break;
    case IN_PIECES:
      break;
  }

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  if (mpi_errno == MPI_SUCCESS && outcome == IN_PIECES)
    return in_pieces(is_put, origin, rank, displacement, target, win, request);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_range_error(void) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                              MPI_ERR_RMA_RANGE, "**rmarange", 0);
}

int MPIDI_MAD_or_trouble(MPIR_Win* win, int mpi_errno) {
  if (mpi_errno == MPI_SUCCESS) mpi_errno = win->dev.netmod.mad.trouble;
  win->dev.netmod.mad.trouble = MPI_SUCCESS;
  return mpi_errno;
}

void MPIDI_MAD_finish_get(MPIR_Request* request, int error) {
  far_t* far = MPIDI_MAD_far_of_request(request);
  void* packed = MPIDI_MAD_AM(request)->recv.buffer;
  MPI_Aint bytes;

  if (packed != NULL && !error)
    error = MPIDI_MAD_unpack_by_mpich(
        packed, (MPI_Aint)MPIDI_MAD_AM(request)->incoming_bytes, MPIDIG_REQUEST(request, buffer),
        MPIDIG_REQUEST(request, count), MPIDIG_REQUEST(request, datatype), &bytes);
  MPL_free(packed);
  if (error) {
    request->status.MPI_ERROR = error;
    MPIDI_MAD_note_trouble(request->u.rma.win, error);
  }
  MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(request, datatype));
  MPIDI_MAD_far_end(far, 1);
  MPID_Request_complete(request);
}

void MPIDI_MAD_far_failed(MPIR_Request* request, int error) {
  if (MPIDI_MAD_AM(request)->send.handler == MPIDI_MAD_HANDLER_GET)
    MPIDI_MAD_finish_get(request, error);
  else
    MPIDI_MAD_update_failed(request, error);
}

void MPIDI_MAD_far_sent(MPIR_Request* request, int status) {
  switch (MPIDI_MAD_AM(request)->send.handler) {
    case MPIDI_MAD_HANDLER_PUT:
      MPL_free(MPIDI_MAD_AM(request)->send.buffer);
      if (status < 0) {
        request->status.MPI_ERROR = MPIDI_MAD_request_error(request, status);
        MPIDI_MAD_note_trouble(request->u.rma.win, request->status.MPI_ERROR);
      }
      MPIDI_MAD_far_end(MPIDI_MAD_far_of_request(request), 1);
      break;
    case MPIDI_MAD_HANDLER_GOT:
      MPIDI_MAD_far_of_request(request)->serving--;
      break;
    case MPIDI_MAD_HANDLER_ACCUMULATE:
    case MPIDI_MAD_HANDLER_FETCH:
      MPIDI_MAD_update_sent(request, status);
      return;
    default:
      break;
  }
  MPID_Request_complete(request);
}

const char* MPIDI_MAD_data_came(mad_peer* from, const MPIDI_MAD_got_t* got, uint64_t payload_bytes,
                                mad_incoming* incoming) {
  MPIR_Request* request = (MPIR_Request*)(uintptr_t)got->request;
  mad_op* op;
  MPIDI_MAD_layout_t here;
  mad_path path;
  uint64_t received = 0;
  int status;

  if (!MPIDI_MAD_waits_for(request, from, MPIDI_MAD_HANDLER_GET))
    return "data that nobody waits for";
  status = MPIDI_MAD_layout(MPIDIG_REQUEST(request, buffer), MPIDIG_REQUEST(request, count),
                            MPIDIG_REQUEST(request, datatype), &here);
  MPIR_Assert(status == MPI_SUCCESS); /* it was compiled when the get began */
  if ((got->refused != 0) == (incoming != NULL) || payload_bytes > here.bytes)
    return "data of another length than was asked for";
  MPIDI_MAD_forget_acknowledgement(request);
  if (got->refused) {
    MPIDI_MAD_finish_get(request, MPIDI_MAD_range_error());
    return NULL;
  }
  (void)MPIDI_MAD_comm_path(request->u.rma.win->comm_ptr, &path);
  if (by_mpich(&here, path)) {
    here = (MPIDI_MAD_layout_t){MPL_malloc(payload_bytes, MPL_MEM_RMA), payload_bytes, NULL,
                                payload_bytes};
    if (here.base == NULL) {
      mad_discard(MPIDI_MAD_global.engine, incoming);
      MPIDI_MAD_finish_get(request, no_memory());
      return NULL;
    }
    MPIDI_MAD_AM(request)->recv.buffer = here.base;
    MPIDI_MAD_AM(request)->incoming_bytes = payload_bytes;
  }
  op = MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->recv.slot);
  status = mad_recv(MPIDI_MAD_global.engine, incoming, here.base, here.count, here.type,
                    MPIDI_MAD_far_path(request->u.rma.win), op, &received);
  if (status != MAD_IN_PROGRESS)
    MPIDI_MAD_finish_get(request, MPIDI_MAD_receive_error(request, status));
  return NULL;
}

/* Operations that a target has taken, or refused. */
const char* MPIDI_MAD_answer_came(mad_peer* from, const MPIDI_MAD_answer_t* answer) {
  MPIR_Win* win = MPIDI_MAD_window_of(answer->window, answer->rank, from);
  far_t* far = win ? win->dev.netmod.mad.members[answer->rank].far : NULL;
  const uint64_t operations = (uint64_t)answer->taken + answer->refused;

  if (far == NULL || operations > far->unanswered || answer->done > far->owed)
    return "an answer to operations that there were not";
  far->unanswered -= (uint32_t)operations;
  far->owed -= answer->done;
  if (answer->refused) MPIDI_MAD_note_trouble(win, MPIDI_MAD_range_error());
  MPIDI_MAD_far_end(far, (uint32_t)operations);
  MPIDI_MAD_send_updates(far);
  return NULL;
}

/* ---- both ---- */

const char* MPIDI_MAD_far_message(mad_peer* from, int handler, const void* header,
                                  size_t header_bytes, uint64_t payload_bytes,
                                  mad_incoming* incoming) {
  if (handler == MPIDI_MAD_HANDLER_TAKEN) {
    if (header_bytes != sizeof(MPIDI_MAD_answer_t) || payload_bytes > 0)
      return "an answer that is none";
    return MPIDI_MAD_answer_came(from, header);
  }
  if (handler == MPIDI_MAD_HANDLER_GOT) {
    if (header_bytes != sizeof(MPIDI_MAD_got_t)) return "data with a header that is none";
    return MPIDI_MAD_data_came(from, header, payload_bytes, incoming);
  }
  if (handler == MPIDI_MAD_HANDLER_FETCHED) {
    if (header_bytes < sizeof(MPIDI_MAD_fetched_t) || payload_bytes > 0)
      return "a result that is none";
    return MPIDI_MAD_fetched_came(from, header, header_bytes);
  }
  if (handler == MPIDI_MAD_HANDLER_ACCUMULATE || handler == MPIDI_MAD_HANDLER_FETCH) {
    if (header_bytes < sizeof(MPIDI_MAD_atomic_header_t)) return "an atomic operation that is none";
    return MPIDI_MAD_atomic_came(from, handler, header, header_bytes, payload_bytes, incoming);
  }
  if (header_bytes < sizeof(operation_t)) return "an operation with a header that is too short";
  return MPIDI_MAD_operation_came(from, handler, header, header_bytes, payload_bytes, incoming);
}

void MPIDI_MAD_far_received(MPIR_Request* request, int status) {
  switch (MPIDI_MAD_AM(request)->send.handler) {
    case MPIDI_MAD_HANDLER_GET:
      MPIDI_MAD_finish_get(request, MPIDI_MAD_receive_error(request, status));
      break;
    case MPIDI_MAD_HANDLER_ACCUMULATE:
      MPIDI_MAD_piece_came(request, status);
      break;
    default:
      MPIDI_MAD_put_taken(request, status);
      break;
  }
}

void MPIDI_MAD_far_gone(const mad_peer* peer, int status) {
  far_t* far;

  DL_FOREACH(MPIDI_MAD_global.far, far) {
    const uint32_t operations = far->unanswered;
    int error;
    if (far->peer != peer) continue;
    error = MPIDI_MAD_failed_error(far->rank, far->win->comm_ptr, status);
    far->peer = NULL;
    far->unanswered = 0;
    far->owed = 0;
    if (far->pending > 0) MPIDI_MAD_note_trouble(far->win, error);
    MPIDI_MAD_updates_gone(far, error);
    MPIDI_MAD_far_end(far, operations);
  }
}
