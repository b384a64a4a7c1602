/* mad_serve.c: the target of puts and gets that come as messages. */
#include "mad_far.h"
#include "utlist.h"

#define PATIENCE_SECONDS 10 /* with operations of a window that is freed */

typedef MPIDI_MAD_far_t far_t;
typedef MPIDI_MAD_operation_t operation_t;

static const char unanswerable[] = "it sent operations that could not be answered";

void MPIDI_MAD_answer_later(far_t* far) {
  if (far->to_answer) return;
  far->to_answer = true;
  far->next_to_answer = MPIDI_MAD_global.to_answer;
  MPIDI_MAD_global.to_answer = far;
}

void MPIDI_MAD_answer_puts(void) {
  far_t* far;

  while ((far = MPIDI_MAD_global.to_answer) != NULL) {
    const MPIDI_MAD_answer_t answer = {MPIDIG_WIN(far->win, win_id), far->win->comm_ptr->rank,
                                       far->taken, far->refused, far->done};
    MPIDI_MAD_global.to_answer = far->next_to_answer;
    far->to_answer = false;
    far->taken = far->refused = far->done = 0;
    /* To one that is gone it does not matter; one that is not told would wait for ever. */
    if (far->peer && mad_send_header(MPIDI_MAD_global.engine, far->peer, MPIDI_MAD_HANDLER_TAKEN,
                                     &answer, sizeof(answer)) < 0)
      (void)mad_peer_reject(MPIDI_MAD_global.engine, far->peer, unanswerable);
  }
}

bool MPIDI_MAD_find_target(const MPIR_Win* win, const operation_t* operation, const mad_type* type,
                           MPIDI_MAD_layout_t* out) {
  mad_type_info info = {.size = 1, .extent = 1, .true_extent = 1};
  MPI_Aint offset;

  if (type && mad_type_query(type, &info) < 0) return false;
  if (operation->count <= 0 ||
      __builtin_mul_overflow(info.size, (uint64_t)operation->count, &out->bytes) ||
      out->bytes > MPIR_AINT_MAX ||
      __builtin_mul_overflow(operation->displacement, (MPI_Aint)win->disp_unit, &offset) ||
      __builtin_add_overflow(offset, operation->skip, &offset))
    return false;
  out->base = MPIR_get_contig_ptr(win->base, offset);
  out->count = (uint64_t)operation->count;
  out->type = type;
  return win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC ||
         MPIDI_MAD_fits(win->size, offset, info.true_lb, info.true_lb + info.true_extent,
                        info.extent, operation->count);
}

const char* MPIDI_MAD_find_layout(far_t* far, const operation_t* operation, const void* description,
                                  mad_type** type) {
  mad_type** known;

  *type = NULL;
  if (operation->layout == 0) return NULL;
  if (operation->described > MPIDI_MAD_MOST_DESCRIBED) return "a layout that is too long";
  if (operation->layout > MPIDI_MAD_LAYOUT_ONCE) return "a layout with a number that none has";
  known = &far->known[operation->layout - 1];
  if (operation->described) {
    mad_type* made;
    const int status = mad_type_deserialize(description, operation->described, &made);
    if (status == MAD_ERR_MEMORY) return "a layout for which there is no memory";
    if (status < 0) return "a layout that is none";
    mad_type_release(*known);
    *known = made;
  }
  *type = *known;
  return *type ? NULL : "a number of a layout that it has not sent";
}

void MPIDI_MAD_put_taken(MPIR_Request* request, int status) {
  far_t* far = MPIDI_MAD_far_of_request(request);

  far->serving--;
  if (MPIDI_MAD_receive_error(request, status) == MPI_SUCCESS)
    far->taken++;
  else
    far->refused++;
  MPIDI_MAD_answer_later(far);
  MPID_Request_complete(request);
}

static const char* take_put(far_t* far, const MPIDI_MAD_layout_t* there, uint64_t payload_bytes,
                            mad_incoming* incoming) {
  MPIR_Request* request;
  uint64_t received = 0;
  int status;

  if (payload_bytes > there->bytes) return "a put longer than its place";
  request = MPIDI_MAD_far_request(far->win, far->rank, MPIDI_MAD_HANDLER_TAKEN, 1, false);
  if (request == NULL) return "a put for which there is no memory";
  far->serving++;
  status = mad_recv(MPIDI_MAD_global.engine, incoming, there->base, there->count, there->type,
                    MPIDI_MAD_far_path(far->win),
                    MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->recv.slot), &received);
  if (status != MAD_IN_PROGRESS) MPIDI_MAD_put_taken(request, status);
  return NULL;
}

static void refuse_get(far_t* far, uint64_t request) {
  const MPIDI_MAD_got_t got = {request, 1};

  if (mad_send_header(MPIDI_MAD_global.engine, far->peer, MPIDI_MAD_HANDLER_GOT, &got,
                      sizeof(got)) < 0)
    (void)mad_peer_reject(MPIDI_MAD_global.engine, far->peer, unanswerable);
}

static const char* serve_get(far_t* far, const operation_t* operation,
                             const MPIDI_MAD_layout_t* there) {
  const MPIDI_MAD_got_t got = {operation->request, 0};
  MPIR_Request* request =
      MPIDI_MAD_far_request(far->win, far->rank, MPIDI_MAD_HANDLER_GOT, 1, false);
  int status;

  if (request == NULL) return "a get for which there is no memory";
  far->serving++;
  status = mad_send(MPIDI_MAD_global.engine, far->peer, MPIDI_MAD_HANDLER_GOT, &got, sizeof(got),
                    there->base, there->count, there->type, MPIDI_MAD_far_path(far->win),
                    MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->send.slot));
  if (status < 0) refuse_get(far, operation->request);
  if (status != MAD_IN_PROGRESS) MPIDI_MAD_far_sent(request, status);
  return NULL;
}

const char* MPIDI_MAD_operation_came(mad_peer* from, int handler, const operation_t* operation,
                                     size_t header_bytes, uint64_t payload_bytes,
                                     mad_incoming* incoming) {
  MPIR_Win* win = MPIDI_MAD_window_of(operation->window, operation->rank, from);
  const bool is_put = (handler == MPIDI_MAD_HANDLER_PUT);
  MPIDI_MAD_layout_t there;
  const char* wrong;
  mad_type* type;
  far_t* far;

  if (win == NULL) return "an operation on a window that it is not of";
  if (header_bytes != sizeof(*operation) + operation->described || is_put != (payload_bytes > 0))
    return "an operation of another length than it says";
  far = MPIDI_MAD_far_of(win, operation->rank, from);
  if (far == NULL) return "an operation for which there is no memory";
  wrong = MPIDI_MAD_find_layout(far, operation, operation + 1, &type);
  if (wrong) return wrong;
  MPIDIG_rma_set_am_flag();
  if (MPIDI_MAD_find_target(win, operation, type, &there))
    return is_put ? take_put(far, &there, payload_bytes, incoming)
                  : serve_get(far, operation, &there);
  if (is_put) {
    mad_discard(MPIDI_MAD_global.engine, incoming);
    far->refused++;
    MPIDI_MAD_answer_later(far);
  } else {
    refuse_get(far, operation->request);
  }
  return NULL;
}

/* Nothing of a member's operations may go on when the memory is the program's again.  What is left
 * of one that waited for them ends soon; another loses its connection. */
static void stop_serving(far_t* far) {
  MPL_time_t begin_time, now;
  double seconds = 0;

  MPL_wtime(&begin_time);
  while (far->serving > 0 && seconds < PATIENCE_SECONDS) {
    (void)mad_engine_progress(MPIDI_MAD_global.engine, NULL);
    MPL_wtime(&now);
    MPL_wtime_diff(&begin_time, &now, &seconds);
  }
  if (far->serving > 0 && far->peer)
    (void)mad_peer_reject(MPIDI_MAD_global.engine, far->peer,
                          "it freed a window without waiting for its operations");
  while (far->serving > 0) (void)mad_engine_progress(MPIDI_MAD_global.engine, NULL);
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
}

/* One whose operations go on, or NULL. */
static far_t* find_served(const MPIR_Win* win) {
  for (int rank = 0; rank < win->comm_ptr->local_size; rank++) {
    far_t* far = win->dev.netmod.mad.members[rank].far;
    if (far != NULL && far->serving > 0) return far;
  }
  return NULL;
}

void MPIDI_MAD_far_free(MPIR_Win* win) {
  far_t* served;

  while ((served = find_served(win)) != NULL) stop_serving(served);
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
  for (int rank = 0; rank < win->comm_ptr->local_size; rank++) {
    far_t* far = win->dev.netmod.mad.members[rank].far;
    if (far == NULL) continue;
    for (int i = 0; i < MPIDI_MAD_LAYOUTS; i++) mad_type_release(far->sent[i]);
    for (int i = 0; i < MPIDI_MAD_LAYOUT_ONCE; i++) mad_type_release(far->known[i]);
    DL_DELETE(MPIDI_MAD_global.far, far);
    win->dev.netmod.mad.members[rank].far = NULL;
    MPL_free(far);
  }
}
