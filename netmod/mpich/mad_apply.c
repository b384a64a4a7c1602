/* mad_apply.c: the target of atomic operations that come as messages.
 *
 * A piece is done when its data are here and all that its origin sent before is done: then an
 * origin's operations are done in the order in which it called them.  The origin bounds how much
 * waits here.
 */
#include "mad_far.h"
#include "utlist.h"

/* Memory of so many pieces is kept for the next ones. */
#define MOST_KEPT 8

typedef MPIDI_MAD_far_t far_t;
typedef MPIDI_MAD_atomic_header_t header_t;

/* A piece, which may have to wait. */
typedef struct MPIDI_MAD_arrival {
  struct MPIDI_MAD_arrival *next, *prev;
  header_t header;
  mad_type* type; /* of `there`, or NULL */
  MPIDI_MAD_layout_t there;
  bool fetches;
  bool within; /* the window; else it is refused */
  bool here;   /* its data are */
  bool kept;   /* it has room for any piece */
  _Alignas(16) char data[];
} arrival_t;

static arrival_t* kept;
static int kept_count;

static arrival_t* take(uint32_t bytes, bool any) {
  arrival_t* arrival = any ? kept : NULL;

  if (arrival != NULL) {
    kept = arrival->next;
    kept_count--;
    return arrival;
  }
  arrival = MPL_malloc(sizeof(*arrival) + (any ? MPIDI_MAD_MOST_PIECE : bytes), MPL_MEM_RMA);
  if (arrival != NULL) arrival->kept = any;
  return arrival;
}

static void give_back(arrival_t* arrival) {
  mad_type_release(arrival->type);
  if (!arrival->kept || kept_count == MOST_KEPT) {
    MPL_free(arrival);
    return;
  }
  arrival->next = kept;
  kept = arrival;
  kept_count++;
}

void MPIDI_MAD_apply_finalize(void) {
  while (kept != NULL) {
    arrival_t* next = kept->next;
    MPL_free(kept);
    kept = next;
  }
  kept_count = 0;
}

/* ---- what is done ---- */

static int update(const header_t* header, char* data, const MPIDI_MAD_layout_t* there,
                  const MPIDI_MAD_layout_t* before) {
  const uint64_t end = header->first + header->bytes;
  const MPIDI_MAD_layout_t from = {data - header->first, end, NULL, end};
  const MPI_Datatype element = (MPI_Datatype)header->element;
  const MPI_Op op = (MPI_Op)header->op;
  int mpi_errno = MPI_SUCCESS;

  if (before) mpi_errno = MPIDI_MAD_copy_part(there, before, header->first, header->bytes);
  if (mpi_errno != MPI_SUCCESS || op == MPI_NO_OP) return mpi_errno;
  if (op != MPI_OP_NULL)
    return MPIDI_MAD_combine(op, element, &from, there, header->first, header->bytes);
  if (!MPIR_Compare_equal((char*)before->base + header->first, data + header->bytes, element))
    return MPI_SUCCESS;
  return MPIDI_MAD_copy_part(&from, there, header->first, header->bytes);
}

/* What was there, in as many messages as it takes here. */
static int answer(far_t* far, const header_t* header, MPIDI_MAD_fetched_message_t* message,
                  bool refused) {
  const size_t room = mad_max_header_bytes(MPIDI_MAD_global.engine) - sizeof(message->fetched);
  const uint32_t most = (uint32_t)(room & ~(size_t)7);
  int status = MAD_SUCCESS;

  for (uint32_t done = 0, now; done < header->bytes && status >= 0; done += now) {
    /* In the place of what has been sent. */
    MPIDI_MAD_fetched_t* fetched = (MPIDI_MAD_fetched_t*)((char*)message + done);
    now = refused ? header->bytes : MPL_MIN(most, header->bytes - done);
    *fetched = (MPIDI_MAD_fetched_t){header->operation.request, now, refused ? 1 : 0};
    status = mad_send_header(MPIDI_MAD_global.engine, far->peer, MPIDI_MAD_HANDLER_FETCHED, fetched,
                             sizeof(*fetched) + (refused ? 0 : now));
  }
  return status;
}

static void fetch(far_t* far, const arrival_t* piece, char* data) {
  const header_t* header = &piece->header;
  const uint64_t end = header->first + header->bytes;
  MPIDI_MAD_fetched_message_t message;
  const MPIDI_MAD_layout_t before = {message.data - header->first, end, NULL, end};
  const bool refused =
      !piece->within || update(header, data, &piece->there, &before) != MPI_SUCCESS;

  if (far->peer && answer(far, header, &message, refused) < 0)
    (void)mad_peer_reject(MPIDI_MAD_global.engine, far->peer,
                          "it sent operations that could not be answered");
}

static void accumulate(far_t* far, const arrival_t* piece, char* data) {
  const header_t* header = &piece->header;

  if (header->begins) far->part_refused = false;
  if (!piece->within || update(header, data, &piece->there, NULL) != MPI_SUCCESS)
    far->part_refused = true;
  far->done += MPIDI_MAD_piece_bytes(header->op, header->bytes, false);
  if (!header->more) {
    far->taken += !far->part_refused;
    far->refused += far->part_refused;
  }
  MPIDI_MAD_answer_later(far);
}

/* As one, to those of this node. */
static void apply(far_t* far, const arrival_t* piece, char* data) {
  MPIDI_MAD_atomic_begin(far->win);
  if (piece->fetches)
    fetch(far, piece, data);
  else
    accumulate(far, piece, data);
  MPIDI_MAD_atomic_end(far->win);
}

static uint32_t held_by(const arrival_t* arrival) {
  return MPIDI_MAD_piece_bytes(arrival->header.op, arrival->header.bytes, arrival->fetches);
}

static void apply_arrived(far_t* far) {
  arrival_t* arrival;

  while ((arrival = far->arrived) != NULL && arrival->here) {
    DL_DELETE(far->arrived, arrival);
    far->held -= held_by(arrival);
    apply(far, arrival, arrival->data);
    give_back(arrival);
    far->serving--;
  }
}

void MPIDI_MAD_piece_came(MPIR_Request* request, int status) {
  arrival_t* arrival = MPIDI_MAD_AM(request)->recv.buffer;
  far_t* far = MPIDI_MAD_far_of_request(request);

  if (MPIDI_MAD_receive_error(request, status) != MPI_SUCCESS) arrival->within = false;
  arrival->here = true;
  MPIDI_MAD_AM(request)->recv.buffer = NULL;
  MPID_Request_complete(request);
  apply_arrived(far);
}

/* ---- what comes ---- */

/* Of a predefined type; 0: it is none. */
static MPI_Aint element_bytes(MPI_Datatype element) {
  MPI_Aint bytes;

  if (!MPIR_DATATYPE_IS_PREDEFINED(element) ||
      (HANDLE_IS_BUILTIN(element) && (element & 0xff) >= MPIR_DATATYPE_N_BUILTIN))
    return 0;
  MPIR_Datatype_get_size_macro(element, bytes);
  return bytes;
}

/* Whether it is one that there is, of whole elements. */
static bool is_operation(const header_t* header) {
  const MPI_Datatype element = (MPI_Datatype)header->element;
  const MPI_Op op = (MPI_Op)header->op;
  const MPI_Aint bytes = element_bytes(element);

  if (bytes <= 0 || header->bytes == 0 || header->bytes > MPIDI_MAD_MOST_PIECE ||
      header->bytes % bytes != 0 || header->first % (uint64_t)bytes != 0)
    return false;
  if (op == MPI_OP_NULL) return header->bytes == bytes && HANDLE_IS_BUILTIN(element);
  if (!HANDLE_IS_BUILTIN(op) || (op & 0xff) == 0 || (op & 0xff) >= MPIR_OP_N_BUILTIN) return false;
  return op == MPI_REPLACE || op == MPI_NO_OP ||
         (*MPIR_OP_HDL_TO_DTYPE_FN(op))(element) == MPI_SUCCESS;
}

static const char no_memory[] = "an atomic operation for which there is no memory";

/* Its payload comes into the arrival, or has come. */
static void receive(far_t* far, arrival_t* arrival, MPIR_Request* request, mad_incoming* incoming) {
  uint64_t received = 0;
  int status;

  MPIDI_MAD_AM(request)->recv.buffer = arrival;
  status = mad_recv(MPIDI_MAD_global.engine, incoming, arrival->data,
                    MPIDI_MAD_data_bytes(arrival->header.op, arrival->header.bytes), NULL,
                    MPIDI_MAD_far_path(far->win),
                    MPIDI_MAD_op_of(request, &MPIDI_MAD_AM(request)->recv.slot), &received);
  if (status != MAD_IN_PROGRESS) MPIDI_MAD_piece_came(request, status);
}

static const char* await(far_t* far, const arrival_t* piece, const char* data,
                         mad_incoming* incoming) {
  const uint32_t bytes = MPIDI_MAD_data_bytes(piece->header.op, piece->header.bytes);
  arrival_t* arrival = take(bytes, incoming != NULL);
  MPIR_Request* request = NULL;
  bool is_kept;

  if (arrival == NULL) return no_memory;
  is_kept = arrival->kept;
  *arrival = *piece;
  arrival->kept = is_kept;
  if (incoming != NULL) {
    request = MPIDI_MAD_far_request(far->win, far->rank, MPIDI_MAD_HANDLER_ACCUMULATE, 1, false);
    if (request == NULL) {
      MPL_free(arrival);
      return no_memory;
    }
  } else {
    memcpy(arrival->data, data, bytes);
  }
  if (arrival->type) mad_type_retain(arrival->type);
  far->serving++;
  far->held += held_by(arrival);
  DL_APPEND(far->arrived, arrival);
  if (request != NULL) receive(far, arrival, request, incoming);
  return NULL;
}

const char* MPIDI_MAD_atomic_came(mad_peer* from, int handler, const header_t* header,
                                  size_t header_bytes, uint64_t payload_bytes,
                                  mad_incoming* incoming) {
  const MPIDI_MAD_operation_t* operation = &header->operation;
  const size_t begin = sizeof(*header) + MPIDI_MAD_padded(operation->described);
  MPIR_Win* win = MPIDI_MAD_window_of(operation->window, operation->rank, from);
  const bool fetches = (handler == MPIDI_MAD_HANDLER_FETCH);
  char* data = (char*)header + begin;
  arrival_t piece = {.header = *header, .fetches = fetches, .here = (incoming == NULL)};
  const char* wrong;
  far_t* far;

  if (win == NULL) return "an atomic operation on a window that it is not of";
  if (!is_operation(header)) return "an atomic operation that there is not";
  if (header_bytes + payload_bytes != begin + MPIDI_MAD_data_bytes(header->op, header->bytes) ||
      (payload_bytes > 0 && header_bytes != begin) ||
      (fetches && header->bytes > MPIDI_MAD_MOST_ATOMIC_HEADER))
    return "an atomic operation of another length than it says";
  if ((MPI_Op)header->op == MPI_OP_NULL && !fetches) return "a compare and swap without a result";
  far = MPIDI_MAD_far_of(win, operation->rank, from);
  if (far == NULL) return no_memory;
  wrong = MPIDI_MAD_find_layout(far, operation, header + 1, &piece.type);
  if (wrong) return wrong;
  MPIDIG_rma_set_am_flag();
  piece.within = MPIDI_MAD_find_target(win, operation, piece.type, &piece.there);
  if (piece.within &&
      (header->first > piece.there.bytes || header->bytes > piece.there.bytes - header->first))
    return "an atomic operation longer than its place";
  if (far->held > MPIDI_MAD_MOST_OWED + sizeof(*header) + MPIDI_MAD_MOST_PIECE)
    return "more than it may have under way";
  if (incoming != NULL || far->arrived != NULL) return await(far, &piece, data, incoming);
  apply(far, &piece, data);
  return NULL;
}
