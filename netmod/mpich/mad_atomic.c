/* mad_atomic.c: accumulates, the fetching operations and compare and swap where this process does
 * not have the target's memory, by messages.
 *
 * An operation travels in pieces of at most 64 KiB, and short ones within their headers.  The
 * target does an origin's in the order in which they leave here (mad_apply.c); they wait while it
 * has much that is not done.  Otherwise they are as puts are (mad_far.c).
 */
#include "mad_far.h"
#include "utlist.h"

/* Bytes of data that travel in a header; more are not copied on their way out. */
enum { MOST_IN_HEADER = 2048 };

typedef MPIDI_MAD_far_t far_t;
typedef MPIDI_MAD_atomic_header_t header_t;

/* An operation that is not complete. */
typedef struct MPIDI_MAD_update {
  struct MPIDI_MAD_update *next, *prev; /* of those that wait */
  MPIR_Request* request;
  far_t* far;
  MPIDI_MAD_atomic_t atomic;
  MPIDI_MAD_layout_t from, before, there;
  MPI_Datatype element;
  uint64_t sent, fetched; /* bytes of `there` */
  char* piece;            /* packed, where the origin has holes; or NULL */
  bool named;             /* the target's layout is, else each piece describes its part */
  bool leaving;           /* a piece is */
  bool waits;             /* not all of it is under way */
  bool gone;              /* the target is */
  int error;
} update_t;

static update_t* update_of(MPIR_Request* request) { return MPIDI_MAD_AM(request)->send.buffer; }

static bool fetches(const update_t* update) { return update->before.bytes > 0; }

static void hold_types(const update_t* update) {
  MPIR_Datatype_add_ref_if_not_builtin(update->atomic.target.datatype);
  if (update->from.bytes > 0) MPIR_Datatype_add_ref_if_not_builtin(update->atomic.origin.datatype);
  if (fetches(update)) MPIR_Datatype_add_ref_if_not_builtin(update->atomic.result.datatype);
}

static void release_types(const update_t* update) {
  MPIR_Datatype_release_if_not_builtin(update->atomic.target.datatype);
  if (update->from.bytes > 0) MPIR_Datatype_release_if_not_builtin(update->atomic.origin.datatype);
  if (fetches(update)) MPIR_Datatype_release_if_not_builtin(update->atomic.result.datatype);
}

/* ---- its end ---- */

static void wait_no_more(update_t* update) {
  if (update->waits) DL_DELETE(update->far->waiting, update);
  update->waits = false;
}

/* Ends it if all is done that will be. */
static void settle(update_t* update) {
  MPIR_Request* request = update->request;
  far_t* far = update->far;

  if (update->waits || update->leaving) return;
  if (fetches(update)) {
    if (update->fetched < update->sent && !update->gone) return;
    MPIDI_MAD_forget_acknowledgement(request);
  }
  if (update->error) {
    request->status.MPI_ERROR = update->error;
    MPIDI_MAD_note_trouble(far->win, update->error);
  }
  release_types(update);
  MPIDI_MAD_AM(request)->send.buffer = NULL;
  MPL_free(update->piece);
  MPL_free(update);
  MPIDI_MAD_far_end(far, 1);
  MPID_Request_complete(request);
}

/* ---- pieces ---- */

/* Of a header with what follows it. */
static size_t most_bytes(void) {
  return MPL_MIN(mad_max_header_bytes(MPIDI_MAD_global.engine), MPIDI_MAD_MOST_ATOMIC_HEADER);
}

/* Of a description: as many bytes are left for data at least. */
static size_t most_described(void) { return MPL_MIN(most_bytes() / 2, MPIDI_MAD_MOST_DESCRIBED); }

/* Bytes that are not cut. */
static uint64_t unit_of(const update_t* update) {
  MPI_Aint unit;

  MPIR_Datatype_get_size_macro(update->element, unit);
  return (uint64_t)unit;
}

/* How many bytes of it follow in a message that has `room` for data.  What is only moved is not of
 * one type: no basic type is cut that is aligned. */
static uint32_t piece_of(const update_t* update, size_t room) {
  const uint64_t left = update->there.bytes - update->sent;
  const uint64_t unit = (update->element == MPI_BYTE && room > 64) ? 64 : unit_of(update);

  return (uint32_t)(left <= room ? left : room / unit * unit);
}

/* The data of a piece in a list. */
static int fill(const update_t* update, uint32_t bytes, char* data) {
  const uint64_t end = update->sent + bytes;
  const MPIDI_MAD_layout_t packed = {data - update->sent, end, NULL, end};

  if (update->from.bytes == 0) return MPI_SUCCESS;
  if (update->atomic.compare) MPIDI_MAD_copy_run(update->atomic.compare, data + bytes, bytes);
  return MPIDI_MAD_copy_part(&update->from, &packed, update->sent, bytes);
}

/* The data of a piece as a payload. */
static int find_payload(update_t* update, uint32_t bytes, MPIDI_MAD_layout_t* out) {
  int mpi_errno = MPI_SUCCESS;

  *out = update->from;
  if (out->type != NULL && bytes == out->bytes) goto fn_exit;
  out->base = (char*)out->base + update->sent;
  out->count = out->bytes = bytes;
  if (out->type == NULL) goto fn_exit;
  if (update->piece == NULL) update->piece = MPL_malloc(MPIDI_MAD_MOST_PIECE, MPL_MEM_RMA);
  MPIR_ERR_CHKANDJUMP(update->piece == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  out->base = update->piece;
  out->type = NULL;
  mpi_errno = fill(update, bytes, update->piece);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* A message of a piece. */
typedef struct {
  header_t header;
  char rest[MPIDI_MAD_MOST_ATOMIC_HEADER];
  size_t header_bytes;
  size_t most; /* bytes of data, by what is described */
  MPIDI_MAD_layout_t payload;
} message_t;

/* The next part of a layout that is not described as a whole. */
static int describe_part(const update_t* update, message_t* message) {
  MPIDI_MAD_operation_t* operation = &message->header.operation;
  size_t described;
  const int status = mad_type_serialize_part(update->there.type, update->there.count, update->sent,
                                             MPIDI_MAD_MOST_PIECE, unit_of(update), message->rest,
                                             most_described(), &described, &message->most);

  if (status < 0) return MPIDI_MAD_error(status);
  operation->layout = MPIDI_MAD_LAYOUT_ONCE;
  operation->described = (uint16_t)described;
  operation->count = 1;
  message->header.first = 0;
  return MPI_SUCCESS;
}

static int describe(update_t* update, message_t* message) {
  header_t* header = &message->header;
  MPIDI_MAD_operation_t* operation = &header->operation;
  int mpi_errno = MPI_SUCCESS;
  far_t* far = update->far;

  *header = (header_t){
      .operation = {.window = MPIDIG_WIN(far->win, win_id),
                    .displacement = update->atomic.displacement,
                    .skip = (int64_t)(intptr_t)update->there.base,
                    .count = (int64_t)update->there.count,
                    .request = fetches(update) ? (uintptr_t)update->request : 0,
                    .rank = far->win->comm_ptr->rank},
      .first = update->sent,
      .element = (uint32_t)update->element,
      .op = (uint32_t)update->atomic.op,
  };
  message->most = MPIDI_MAD_MOST_PIECE;
  if (update->there.type && update->named)
    update->named = MPIDI_MAD_name_layout(far, (mad_type*)update->there.type, operation,
                                          message->rest, most_described());
  if (update->there.type && !update->named) {
    mpi_errno = describe_part(update, message);
    MPIR_ERR_CHECK(mpi_errno);
  }
  message->header_bytes = sizeof(*header) + MPIDI_MAD_padded(operation->described);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int add_data(update_t* update, message_t* message) {
  header_t* header = &message->header;
  const size_t room = most_bytes() - message->header_bytes;
  const bool short_one = fetches(update) || update->from.bytes <= MPL_MIN(room, MOST_IN_HEADER);
  char* data = (char*)message + message->header_bytes;

  message->payload = (MPIDI_MAD_layout_t){NULL, 0, NULL, 0};
  header->bytes = piece_of(update, MPL_MIN(message->most, short_one ? room : MPIDI_MAD_MOST_PIECE));
  header->begins = (update->sent == 0);
  header->more = (update->sent + header->bytes < update->there.bytes);
  if (!short_one) return find_payload(update, header->bytes, &message->payload);
  message->header_bytes += MPIDI_MAD_data_bytes(header->op, header->bytes);
  return fill(update, header->bytes, data);
}

static void sent(update_t* update, const header_t* header) {
  far_t* far = update->far;

  update->sent += header->bytes;
  far->owed += MPIDI_MAD_piece_bytes(header->op, header->bytes, fetches(update));
  if (!fetches(update) && !header->more) {
    far->unanswered++;
    MPIDI_MAD_far_begin(far);
  }
}

/* Sends the next piece.  False: it has to wait. */
static bool send_piece(update_t* update) {
  mad_op* op = MPIDI_MAD_op_of(update->request, &MPIDI_MAD_AM(update->request)->send.slot);
  const int handler = MPIDI_MAD_AM(update->request)->send.handler;
  far_t* far = update->far;
  message_t message;
  int status;

  if (update->leaving || far->owed > MPIDI_MAD_MOST_OWED) return false;
  update->error = describe(update, &message);
  if (update->error) return true;
  update->error = add_data(update, &message);
  if (update->error) goto fail;
  status = mad_send_soon(MPIDI_MAD_global.engine, far->peer, (uint8_t)handler, &message,
                         message.header_bytes, message.payload.base, message.payload.count,
                         message.payload.type, MPIDI_MAD_far_path(far->win), op);
  if (status < 0) {
    update->error = MPIDI_MAD_peer_error(status, far->rank, far->win->comm_ptr);
    goto fail;
  }
  update->leaving = (status == MAD_IN_PROGRESS);
  sent(update, &message.header);
  return true;

fail:
  MPIDI_MAD_unname_layout(far, &message.header.operation);
  return true;
}

void MPIDI_MAD_send_updates(far_t* far) {
  update_t* update;

  while (far->peer && (update = far->waiting) != NULL && send_piece(update)) {
    if (!update->error && update->sent < update->there.bytes) continue;
    wait_no_more(update);
    settle(update);
  }
}

void MPIDI_MAD_update_sent(MPIR_Request* request, int status) {
  update_t* update = update_of(request);
  far_t* far = update->far;

  update->leaving = false;
  if (status < 0 && !update->error) {
    update->error = MPIDI_MAD_request_error(request, status);
    wait_no_more(update);
  }
  settle(update);
  MPIDI_MAD_send_updates(far);
}

void MPIDI_MAD_update_failed(MPIR_Request* request, int error) {
  update_t* update = update_of(request);

  update->gone = true;
  if (!update->error) update->error = error;
  wait_no_more(update);
  settle(update);
}

void MPIDI_MAD_updates_gone(far_t* far, int error) {
  while (far->waiting) MPIDI_MAD_update_failed(far->waiting->request, error);
}

const char* MPIDI_MAD_fetched_came(mad_peer* from, const MPIDI_MAD_fetched_t* fetched,
                                   size_t header_bytes) {
  MPIR_Request* request = (MPIR_Request*)(uintptr_t)fetched->request;
  const size_t data = header_bytes - sizeof(*fetched);
  MPIDI_MAD_layout_t packed;
  update_t* update;
  uint64_t end;
  far_t* far;

  if (!MPIDI_MAD_waits_for(request, from, MPIDI_MAD_HANDLER_FETCH))
    return "a result that nobody waits for";
  update = update_of(request);
  far = update->far;
  if (fetched->bytes == 0 || fetched->bytes > update->sent - update->fetched ||
      data != (fetched->refused ? 0 : fetched->bytes))
    return "a result of another length than was asked for";
  end = update->fetched + fetched->bytes;
  packed = (MPIDI_MAD_layout_t){(char*)(fetched + 1) - update->fetched, end, NULL, end};
  if (fetched->refused && !update->error) {
    update->error = MPIDI_MAD_range_error();
  } else if (!update->error) {
    update->error = MPIDI_MAD_copy_part(&packed, &update->before, update->fetched, fetched->bytes);
  }
  if (update->error) wait_no_more(update);
  update->fetched = end;
  far->owed -= MPIDI_MAD_piece_bytes((uint32_t)update->atomic.op, fetched->bytes, true);
  settle(update);
  MPIDI_MAD_send_updates(far);
  return NULL;
}

/* ---- its beginning ---- */

static int find_far(int rank, MPIR_Win* win, far_t** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_peer* peer = MPIDI_MAD_peer(win->comm_ptr, rank);

  if (unlikely(peer == NULL)) {
    mpi_errno = MPIDI_MAD_global.why_nowhere;
    goto fn_fail;
  }
  *out = MPIDI_MAD_far_of(win, rank, peer);
  MPIR_ERR_CHKANDJUMP(*out == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int start(const update_t* prepared, int rank, MPIR_Win* win, MPIR_Request** program) {
  const int handler = fetches(prepared) ? MPIDI_MAD_HANDLER_FETCH : MPIDI_MAD_HANDLER_ACCUMULATE;
  int mpi_errno = MPI_SUCCESS;
  far_t* far = prepared->far;
  update_t* update = MPL_malloc(sizeof(*update), MPL_MEM_RMA);

  MPIR_ERR_CHKANDJUMP(update == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  *update = *prepared;
  update->request = MPIDI_MAD_far_request(win, rank, (uint8_t)handler, 1, program != NULL);
  MPIR_ERR_CHKANDJUMP(update->request == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  MPIDI_MAD_AM(update->request)->send.buffer = update;
  if (program != NULL) *program = update->request;
  hold_types(update);
  MPIDI_MAD_far_begin(far);
  if (fetches(update)) MPIDI_MAD_await_acknowledgement(update->request, far->peer);
  update->waits = true;
  DL_APPEND(far->waiting, update);
  MPIDI_MAD_send_updates(far);

fn_exit:
  return mpi_errno;
fn_fail:
  MPL_free(update);
  goto fn_exit;
}

int MPIDI_MAD_far_atomic(const MPIDI_MAD_atomic_t* atomic, int rank, MPIR_Win* win,
                         MPIR_Request** request) {
  int mpi_errno = MPI_SUCCESS;
  update_t update = {.atomic = *atomic};

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = MPIDI_MAD_begin_access(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(NULL, atomic->target.count, atomic->target.datatype, &update.there);
  MPIR_ERR_CHECK(mpi_errno);
  if (update.there.bytes > 0) {
    mpi_errno =
        MPIDI_MAD_operands(atomic, &update.there, &update.from, &update.before, &update.element);
    MPIR_ERR_CHECK(mpi_errno);
    if (atomic->is_put) update.there.bytes = update.from.bytes;
  }
  if (update.from.bytes == 0 && !fetches(&update)) {
    if (request != NULL) *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
    goto fn_exit;
  }
  mpi_errno = find_far(rank, win, &update.far);
  MPIR_ERR_CHECK(mpi_errno);
  update.named = update.there.type == NULL ||
                 MPIDI_MAD_can_name(update.far, update.there.type, most_described());
  mpi_errno = start(&update, rank, win, request);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
