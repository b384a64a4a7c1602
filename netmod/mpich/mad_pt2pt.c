/* mad_pt2pt.c: point-to-point communication as tagged messages of libmad.
 *
 * libmad matches: a message's envelope is its context, the sender's rank and the tag.  Here MPI's
 * arguments become such messages and receives, and what libmad tells becomes the end of a request.
 * A send that is done at once has no request of its own.  An error of a message is the error of its
 * request, which is complete then, so that nobody is left with a request that nobody completes.
 */
#include "mad_core.h"
#include "mad_fields.h"
#include "mad_sendrecv.h"

/* For functions that every short message calls: to save and restore registers in each of them took
 * 50 instructions of a receive. */
#define IN_LINE ATTRIBUTE((always_inline)) static inline

#define REQUEST_REFERENCES 2 /* the program's, and ours until it is complete */

/* What a collective operation has to say of itself is one of three values; a message's flags have
 * its number. */
static const MPIR_Errflag_t errflags[] = {MPIR_ERR_NONE, MPIR_ERR_PROC_FAILED, MPIR_ERR_OTHER};
#define ERRFLAGS (sizeof(errflags) / sizeof(errflags[0]))

static uint32_t flags_of(MPIR_Errflag_t errflag) {
  uint32_t number = 0;

  while (number < ERRFLAGS - 1 && errflags[number] != errflag) number++;
  return number;
}

/* Of a collective operation that says it in the tag, whose own bits are not to be matched. */
static inline uint32_t flags_in(int tag) {
  if (likely(!MPIR_TAG_CHECK_ERROR_BIT(tag))) return 0;
  return flags_of(MPIR_TAG_CHECK_PROC_FAILURE_BIT(tag) ? MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER);
}

static int error_of(uint8_t flags) { return flags < ERRFLAGS ? errflags[flags] : MPIR_ERR_OTHER; }

static int no_requests(void) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPIX_ERR_NOREQ,
                              "**nomemreq", 0);
}

IN_LINE MPIR_Request* create_request(MPIR_Request_kind_t kind, MPIR_Comm* comm) {
  MPIR_Request* request;

  MPIDI_CH4_REQUEST_CREATE(request, kind, 0, REQUEST_REFERENCES);
  if (unlikely(request == NULL)) return NULL;
  request->comm = comm;
  MPIR_Comm_add_ref(comm);
  return request;
}

/* Of a derived type of which there is at least one element: its compiled layout; NULL: it has none,
 * or is one run all the same. */
static inline mad_type* compiled(MPI_Datatype datatype, MPI_Aint* size) {
  MPIR_Datatype* object;

  MPIR_Datatype_get_ptr(datatype, object);
  *size = object->size;
  if (object->is_contig || object->size == 0 || !MPIDI_MAD_is_compiled(object)) return NULL;
  return MPIDI_MAD_DT(object)->type;
}

/* MPIDI_MAD_layout(), of which basic and compiled types need no call. */
static inline int layout_of(const void* buf, MPI_Aint count, MPI_Datatype datatype,
                            MPIDI_MAD_layout_t* out) {
  mad_type* type = NULL;
  MPI_Aint size;

  if (HANDLE_IS_BUILTIN(datatype)) {
    out->count = out->bytes = (uint64_t)count * MPIR_Datatype_get_basic_size(datatype);
  } else if (count > 0 && (type = compiled(datatype, &size))) {
    out->count = (uint64_t)count;
    out->bytes = (uint64_t)count * (uint64_t)size;
  } else {
    return MPIDI_MAD_layout(buf, count, datatype, out);
  }
  out->base = (void*)buf;
  out->type = type;
  return MPI_SUCCESS;
}

/* ---- sends ---- */

void MPIDI_MAD_send_done(MPIR_Request* sreq, int status) {
  MPL_free(MPIDI_MAD_AM(sreq)->send.buffer);
  MPIDI_MAD_AM(sreq)->send.buffer = NULL;
  if (status < 0) sreq->status.MPI_ERROR = MPIDI_MAD_request_error(sreq, status);
  MPID_Request_complete(sreq);
}

/* A message on its way out. */
typedef struct {
  mad_peer* peer;
  int rank;
  MPIR_Comm* comm;
  mad_envelope envelope;
  uint32_t flags;
  const mad_extension* extension; /* NULL: nothing travels along */
  mad_path path;
  MPIDI_MAD_layout_t layout;
} outgoing_t;

/* `buffer`: memory of the layout that is freed with the request, or NULL. */
static int send_with_request(const outgoing_t* out, void* buffer, MPIR_Request** request) {
  MPIR_Request* sreq = create_request(MPIR_REQUEST_KIND__SEND, out->comm);
  mad_op* op;
  int status;

  if (unlikely(sreq == NULL)) {
    MPL_free(buffer);
    return no_requests();
  }
  *request = sreq;
  MPIDIG_REQUEST(sreq, u.send.dest) = out->rank; /* for error texts */
  MPIDI_MAD_AM(sreq)->send.buffer = buffer;
  op = (mad_op*)&MPIDI_MAD_AM(sreq)->send.slot;
  op->context = sreq;
  op->group = out->comm->context_id;
  status = mad_tagged_send(MPIDI_MAD_global.engine, out->peer, &out->envelope, out->flags,
                           out->extension, out->layout.base, out->layout.count, out->layout.type,
                           out->path, op);
  if (status != MAD_IN_PROGRESS) MPIDI_MAD_send_done(sreq, status);
  return MPI_SUCCESS;
}

/* Nothing was sent: a request that says so. */
static int failed_send(MPIR_Comm* comm, int error, MPIR_Request** request) {
  MPIR_Request* sreq = create_request(MPIR_REQUEST_KIND__SEND, comm);

  if (unlikely(sreq == NULL)) return error;
  *request = sreq;
  sreq->status.MPI_ERROR = error;
  return MPID_Request_complete(sreq);
}

static inline bool leaves_at_once(const outgoing_t* out) {
  if (likely(out->path == MAD_PATH_AUTO))
    return mad_tagged_send_short(out->peer, &out->envelope, out->flags, out->extension,
                                 out->layout.base, out->layout.count,
                                 out->layout.type) == MAD_SUCCESS;
  return mad_tagged_send(MPIDI_MAD_global.engine, out->peer, &out->envelope, out->flags,
                         out->extension, out->layout.base, out->layout.count, out->layout.type,
                         out->path, NULL) == MAD_SUCCESS;
}

/* The message did not leave.  What the peer has taken of earlier ones may have been said meanwhile:
 * to look is cheaper than to let the message wait for it. */
static bool leaves_after_a_look(const outgoing_t* out) {
  if (!mad_peer_is_full(out->peer, out->layout.bytes)) return false;
  (void)mad_engine_progress(MPIDI_MAD_global.engine, NULL);
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
  return leaves_at_once(out);
}

/* A short message of a type of few fields. */
static int send_fields(const void* buf, MPI_Aint count, MPI_Datatype datatype, outgoing_t* out,
                       MPIR_Request** request) {
  char packed[MPIDI_MAD_FIELDS_BYTES];
  MPI_Aint bytes;
  void* buffer;
  const int mpi_errno = MPIDI_MAD_pack_fields(buf, count, datatype, packed, &bytes);

  if (unlikely(mpi_errno)) return failed_send(out->comm, mpi_errno, request);
  out->layout = (MPIDI_MAD_layout_t){packed, (uint64_t)bytes, NULL, (uint64_t)bytes};
  if (leaves_after_a_look(out)) {
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    return MPI_SUCCESS;
  }
  buffer = MPL_malloc(bytes, MPL_MEM_BUFFER);
  if (unlikely(buffer == NULL))
    return failed_send(out->comm,
                       MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                            MPI_ERR_NO_MEM, "**nomem", 0),
                       request);
  memcpy(buffer, packed, bytes);
  out->layout.base = buffer;
  return send_with_request(out, buffer, request);
}

/* What a message takes along beside its payload, and where that is. */
typedef struct {
  mad_extension extension;
  uint64_t note[2];
  unsigned char value[MAD_VALUE_MAX];
} extension_t;

static int extend(MPI_Aint count, MPI_Datatype datatype, int tag, MPIR_Comm* comm,
                  int context_offset, extension_t* out) {
  out->extension = (mad_extension){NULL, NULL, 0};
  if (MPIDI_MAD_types_checked &&
      MPIDI_MAD_note(comm, context_offset, tag, count, datatype, out->note))
    out->extension.note = out->note;
  if (!MPIDI_MAD_values_carried) return MPI_SUCCESS;
  return MPIDI_MAD_read_value(comm, context_offset, out->value, &out->extension);
}

/* Whether a message of a type of few fields has left by the short way. */
static bool sent_fields_short(const void* buf, MPI_Aint count, MPI_Datatype datatype,
                              mad_peer* peer, const mad_envelope* envelope, uint32_t flags,
                              const mad_extension* extension) {
  char packed[MPIDI_MAD_FIELDS_BYTES];
  MPIR_Datatype* object;
  MPI_Aint bytes;

  if (peer == NULL || (flags & MAD_SYNCHRONOUS)) return false;
  MPIR_Datatype_get_ptr(datatype, object);
  if (MPIDI_MAD_fields_of(object)->basic) { /* not packed first: docs/adr/0069 */
    const MPIDI_MAD_elements_t elements = {buf, count, object};
    if (mad_tagged_send_written(peer, envelope, flags, extension, (uint64_t)(object->size * count),
                                MPIDI_MAD_write_fields, &elements) == MAD_SUCCESS) {
      MPIDI_MAD_fields_used(MPIDI_MAD_fields_of(object));
      return true;
    }
  }
  return MPIDI_MAD_pack_fields(buf, count, datatype, packed, &bytes) == MPI_SUCCESS &&
         mad_tagged_send_short(peer, envelope, flags, extension, packed, (uint64_t)bytes, NULL) ==
             MAD_SUCCESS;
}

/* The short way of most messages: whether this one has left.  They need no request, and nothing
 * that start_send() looks after. */
static inline bool sent_short(const void* buf, MPI_Aint count, MPI_Datatype datatype,
                              MPIR_Comm* comm, mad_peer* peer, const mad_envelope* envelope,
                              uint32_t flags, const mad_extension* extension) {
  MPIDI_MAD_layout_t layout;
  mad_path path;

  if (MPIDI_MAD_comm_path(comm, &path) || path != MAD_PATH_AUTO) return false;
  if (MPIDI_MAD_by_fields(count, datatype))
    return sent_fields_short(buf, count, datatype, peer, envelope, flags, extension);
  if (layout_of(buf, count, datatype, &layout)) return false;
  return mad_tagged_send_short(peer, envelope, flags, extension, layout.base, layout.count,
                               layout.type) == MAD_SUCCESS;
}

/* What the short way did not send. */
static int start_send(const void* buf, MPI_Aint count, MPI_Datatype datatype, outgoing_t* out,
                      MPIR_Request** request) {
  int mpi_errno = MPI_SUCCESS;
  void* buffer = NULL;

  if (unlikely(!out->peer)) {
    mpi_errno = MPIDI_MAD_global.why_nowhere;
    goto fn_fail;
  }
  mpi_errno = MPIDI_MAD_comm_path(out->comm, &out->path);
  MPIR_ERR_CHECK(mpi_errno);
  if (out->path == MAD_PATH_AUTO && MPIDI_MAD_by_fields(count, datatype))
    return send_fields(buf, count, datatype, out, request);
  mpi_errno = layout_of(buf, count, datatype, &out->layout);
  MPIR_ERR_CHECK(mpi_errno);
  if (unlikely(out->path == MAD_PATH_OFF && out->layout.type)) {
    mpi_errno = MPIDI_MAD_pack_whole(buf, count, datatype, &out->layout, &buffer);
    MPIR_ERR_CHECK(mpi_errno);
  } else if ((out->path != MAD_PATH_AUTO && leaves_at_once(out)) || leaves_after_a_look(out)) {
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    return MPI_SUCCESS;
  }
  return send_with_request(out, buffer, request);

fn_fail:
  return failed_send(out->comm, mpi_errno, request);
}

static mad_envelope envelope_of(int tag, MPIR_Comm* comm, int context_offset) {
  return (mad_envelope){comm->rank, MPIR_TAG_MASK_ERROR_BITS(tag),
                        (uint16_t)(comm->context_id + context_offset)};
}

int MPIDI_MAD_isend(const void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm* comm, int context_offset, MPIDI_av_entry_t* addr, bool synchronous,
                    MPIR_Errflag_t errflag, MPIR_Request** request) {
  const mad_envelope envelope = envelope_of(tag, comm, context_offset);
  const uint32_t flags = flags_of(errflag) | flags_in(tag) | (synchronous ? MAD_SYNCHRONOUS : 0);
  const mad_extension* extension = NULL;
  extension_t its;
  int mpi_errno = MPI_SUCCESS;
  mad_peer* peer;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  peer = MPIDI_MAD_peer_at(addr);
  if (unlikely(MPIDI_MAD_types_checked || MPIDI_MAD_values_carried)) {
    mpi_errno = extend(count, datatype, envelope.tag, comm, context_offset, &its);
    extension = &its.extension;
  }
  if (unlikely(mpi_errno)) {
    mpi_errno = failed_send(comm, mpi_errno, request);
  } else if (likely(sent_short(buf, count, datatype, comm, peer, &envelope, flags, extension))) {
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
  } else {
    outgoing_t out = {peer, rank, comm, envelope, flags, extension};
    mpi_errno = start_send(buf, count, datatype, &out, request);
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

bool MPIDI_MAD_sent_ahead(const void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                          MPIR_Comm* comm, int context_offset) {
  const mad_envelope envelope = envelope_of(tag, comm, context_offset);
  const mad_extension* extension = NULL;
  extension_t its;
  mad_peer* peer;
  bool sent;

  if (rank < 0 || rank == comm->rank) return false; /* oneself: the receive has to be there */
  if (MPIDI_MAD_types_checked) return false;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  peer = MPIDI_MAD_peer_at(MPIDIU_comm_rank_to_av(comm, rank));
  sent = true;
  if (unlikely(MPIDI_MAD_values_carried)) {
    sent = extend(count, datatype, envelope.tag, comm, context_offset, &its) == MPI_SUCCESS;
    extension = &its.extension;
  }
  sent = sent && sent_short(buf, count, datatype, comm, peer, &envelope, flags_in(tag), extension);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return sent;
}

/* ---- receives ---- */

static mad_envelope wanted_by(int source, int tag, MPIR_Comm* comm, int context_offset) {
  return (mad_envelope){(source == MPI_ANY_SOURCE) ? MAD_ANY_SOURCE : source,
                        (tag == MPI_ANY_TAG) ? MAD_ANY_TAG : tag,
                        (uint16_t)(comm->recvcontext_id + context_offset)};
}

static void set_source(MPIR_Request* rreq, const mad_arrival* arrival) {
  MPIDIG_REQUEST(rreq, u.recv.source) = arrival->envelope.source; /* for error texts */
  rreq->status.MPI_SOURCE = arrival->envelope.source;
  rreq->status.MPI_TAG = arrival->envelope.tag;
}

/* No message came: the status says what was wanted. */
static void set_wanted(MPIR_Request* rreq) {
  rreq->status.MPI_SOURCE = MPIDIG_REQUEST(rreq, u.recv.source);
  rreq->status.MPI_TAG = MPIDIG_REQUEST(rreq, u.recv.tag);
}

/* The receive's memory is the program's again.  `arrival` NULL: no message came. */
IN_LINE void complete_receive(MPIR_Request* rreq, MPI_Aint bytes, const mad_arrival* arrival) {
  MPIDI_MAD_AM(rreq)->receive = NULL;
  if (unlikely(MPIDI_MAD_AM(rreq)->recv.buffer)) MPL_free(MPIDI_MAD_AM(rreq)->recv.buffer);
  MPIR_STATUS_SET_COUNT(rreq->status, bytes);
  if (unlikely(arrival && (arrival->value_bytes > 0 || MPIDI_MAD_values_wanted)))
    MPIDI_MAD_value_came(rreq->comm, arrival, &rreq->status);
  MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(rreq, datatype));
  MPID_Request_complete(rreq);
}

/* A failed receive's count is as if all had come: where it is another, MPICH's MPI_Bcast adds an
 * error of its own to the receive's, which makes a ring of its list of errors, and looks for the
 * list's end for ever. */
static MPI_Aint count_of_failed(MPIR_Request* rreq) {
  MPI_Aint size;

  MPIR_Datatype_get_size_macro(MPIDIG_REQUEST(rreq, datatype), size);
  return size * MPIDIG_REQUEST(rreq, count);
}

static void fail_receive(MPIR_Request* rreq, int error, const mad_arrival* arrival) {
  rreq->status.MPI_ERROR = error;
  complete_receive(rreq, count_of_failed(rreq), arrival);
}

/* Whether all of a message of a basic type came, as what it was sent, and is in its place. */
static inline bool came_plainly(MPIR_Request* rreq, const mad_arrival* arrival, int status) {
  return status == MAD_SUCCESS && arrival->flags == 0 && !arrival->noted &&
         arrival->sent == arrival->received && !MPIDI_MAD_AM(rreq)->recv.buffer &&
         HANDLE_IS_BUILTIN(MPIDIG_REQUEST(rreq, datatype));
}

/* The end of a receive whose message is not of a basic type, or not as it was wanted. */
static void look_at_received(MPIR_Request* rreq, const mad_arrival* arrival, int status) {
  MPI_Aint bytes;
  int error = MPI_SUCCESS;

  if (unlikely(status < 0)) {
    fail_receive(rreq, MPIDI_MAD_request_error(rreq, status), NULL);
    return;
  }
  bytes = (MPI_Aint)arrival->received;
  rreq->status.MPI_ERROR = error_of(arrival->flags);
  if (unlikely(arrival->sent > arrival->received && !rreq->status.MPI_ERROR))
    rreq->status.MPI_ERROR = MPIDIG_ERR_TRUNCATE(arrival->received, arrival->sent);
  if (unlikely(arrival->noted) && !rreq->status.MPI_ERROR)
    error = MPIDI_MAD_check_types(rreq, arrival);
  if (likely(!error))
    error = MPIDI_MAD_check_received(rreq, MPIDI_MAD_AM(rreq)->recv.buffer, &bytes);
  if (unlikely(error))
    fail_receive(rreq, error, arrival);
  else
    complete_receive(rreq, bytes, arrival);
}

IN_LINE void receive_done(MPIR_Request* rreq, const mad_arrival* arrival, int status) {
  set_source(rreq, arrival);
  if (likely(came_plainly(rreq, arrival, status)))
    complete_receive(rreq, (MPI_Aint)arrival->received, arrival);
  else
    look_at_received(rreq, arrival, status);
}

void MPIDI_MAD_on_tagged(void* context, mad_op* op, const mad_arrival* arrival, int status) {
  MPIR_Request* rreq = op->context;

  if (arrival) {
    receive_done(rreq, arrival, status);
  } else {
    set_wanted(rreq);
    fail_receive(rreq, MPIDI_MAD_request_error(rreq, status), NULL);
  }
}

/* The message goes into a buffer, and from there to its place when all is there. */
static int receive_into_buffer(MPIDI_MAD_transfer_t* transfer, uint64_t bytes,
                               MPIDI_MAD_layout_t* layout) {
  transfer->buffer = MPL_malloc(MPL_MAX(bytes, 1), MPL_MEM_BUFFER);
  if (transfer->buffer == NULL)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  *layout = (MPIDI_MAD_layout_t){transfer->buffer, bytes, NULL, bytes};
  return MPI_SUCCESS;
}

/* Describes where the message goes. */
IN_LINE int prepare_receive(MPIR_Request* rreq, void* buf, MPI_Aint count, MPI_Datatype datatype,
                            MPIDI_MAD_layout_t* layout, mad_path* path) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_am_request_t* am = MPIDI_MAD_AM(rreq);
  mad_op* op = (mad_op*)&am->recv.slot;
  MPI_Aint size;

  op->context = rreq;
  op->group = rreq->comm->context_id;
  am->receive = NULL;
  am->recv.buffer = NULL;
  am->recv.fields = 0;
  MPIDIG_REQUEST(rreq, buffer) = buf;
  MPIDIG_REQUEST(rreq, count) = count;
  MPIDIG_REQUEST(rreq, datatype) = datatype;
  MPIR_Datatype_add_ref_if_not_builtin(datatype);
  /* A wrong attribute is reported by the next send; here its owner gets the default. */
  (void)MPIDI_MAD_comm_path(rreq->comm, path);
  if (*path == MAD_PATH_AUTO && MPIDI_MAD_by_fields(count, datatype)) {
    am->recv.fields = 1;
    MPIR_Datatype_get_size_macro(datatype, size);
    return receive_into_buffer(&am->recv, (uint64_t)(size * count), layout);
  }
  mpi_errno = layout_of(buf, count, datatype, layout);
  if (unlikely(mpi_errno == MPI_SUCCESS && *path == MAD_PATH_OFF && layout->type))
    mpi_errno = receive_into_buffer(&am->recv, layout->bytes, layout);
  return mpi_errno;
}

/* Whether a message of a type of few fields was received by the short way, which is for whole ones
 * whose fields are of basic types or runs: nothing else of those can fail. */
static bool received_fields_short(void* buf, MPI_Aint count, MPI_Datatype datatype, mad_peer* from,
                                  const mad_envelope* wanted, uint32_t how, mad_arrival* arrival) {
  char packed[MPIDI_MAD_FIELDS_BYTES];
  MPIR_Datatype* object;

  MPIR_Datatype_get_ptr(datatype, object);
  return MPIDI_MAD_fields_of(object)->basic &&
         mad_tagged_receive_short(MPIDI_MAD_global.engine, from, wanted, packed,
                                  (uint64_t)(object->size * count), NULL, how | MAD_WHOLE,
                                  arrival) == MAD_SUCCESS &&
         MPIDI_MAD_unpack_fields(packed, (MPI_Aint)arrival->received, buf, count, datatype) ==
             MPI_SUCCESS;
}

/* The short way of most messages: whether it was received, by a receive that needs nothing which
 * start_receive() looks after. */
static inline bool received_short(void* buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Comm* comm,
                                  mad_peer* from, const mad_envelope* wanted, uint32_t how,
                                  mad_arrival* arrival) {
  MPIDI_MAD_layout_t layout;
  mad_path path;

  if (MPIDI_MAD_types_checked || MPIDI_MAD_values_wanted) return false;
  if (MPIDI_MAD_comm_path(comm, &path) || path != MAD_PATH_AUTO) return false;
  if (MPIDI_MAD_by_fields(count, datatype))
    return received_fields_short(buf, count, datatype, from, wanted, how, arrival);
  if (layout_of(buf, count, datatype, &layout)) return false;
  return mad_tagged_receive_short(MPIDI_MAD_global.engine, from, wanted, layout.base, layout.count,
                                  layout.type, how, arrival) == MAD_SUCCESS;
}

static void tell_received(const mad_arrival* arrival, MPIR_Comm* comm, int context_offset,
                          MPI_Status* status) {
  status->MPI_SOURCE = arrival->envelope.source;
  status->MPI_TAG = arrival->envelope.tag;
  MPIR_STATUS_SET_COUNT(*status, (MPI_Aint)arrival->received);
  MPIR_STATUS_SET_CANCEL_BIT(*status, FALSE);
  if (context_offset != MPIR_CONTEXT_INTRA_PT2PT) status->MPI_ERROR = MPI_SUCCESS;
  if (unlikely(arrival->value_bytes > 0)) MPIDI_MAD_value_came(comm, arrival, status);
}

/* Whom the short way has to look at: NULL is anybody, of whom nobody may have failed, as that is an
 * error that comes first. */
static inline bool may_be_short(MPIR_Comm* comm, int source, mad_peer** from) {
  if (unlikely(source == MPI_ANY_SOURCE)) return MPIDI_MAD_global.gone_peers == 0;
  if (unlikely(source < 0)) return false;
  *from = MPIDI_MAD_AV(MPIDIU_comm_rank_to_av(comm, source))->peer;
  return *from != NULL;
}

/* Others may want MPICH's lock, or the core. */
static inline uint32_t how_to_wait(void) {
  return MPIR_IS_THREADED || MPIDI_MAD_global.crowded ? 0 : MAD_WAITS;
}

bool MPIDI_MAD_received(void* buf, MPI_Aint count, MPI_Datatype datatype, int source, int tag,
                        MPIR_Comm* comm, int context_offset, MPI_Status* status) {
  const mad_envelope wanted = wanted_by(source, tag, comm, context_offset);
  mad_peer* from = NULL;
  mad_arrival arrival;
  const uint32_t how = how_to_wait();
  bool received;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  received = may_be_short(comm, source, &from) &&
             received_short(buf, count, datatype, comm, from, &wanted, how, &arrival);
  if (received) {
    MPIDI_MAD_global.idle_polls = MPIDI_MAD_global.idle_since = 0;
    if (status != MPI_STATUS_IGNORE) tell_received(&arrival, comm, context_offset, status);
  }
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return received;
}

static int start_receive(void* buf, MPI_Aint count, MPI_Datatype datatype, int source, int tag,
                         MPIR_Comm* comm, int context_offset, MPIR_Request** request) {
  MPIR_Request* rreq = create_request(MPIR_REQUEST_KIND__RECV, comm);
  const mad_envelope wanted = wanted_by(source, tag, comm, context_offset);
  MPIDI_MAD_layout_t layout;
  mad_arrival arrival;
  mad_path path;
  int status, error;

  if (unlikely(rreq == NULL)) return no_requests();
  *request = rreq;
  MPIDIG_REQUEST(rreq, u.recv.source) = source;
  MPIDIG_REQUEST(rreq, u.recv.tag) = tag;
  error = prepare_receive(rreq, buf, count, datatype, &layout, &path);
  if (unlikely(error)) {
    set_wanted(rreq);
    fail_receive(rreq, error, NULL);
    return MPI_SUCCESS;
  }
  arrival.envelope = (mad_envelope){source, tag, wanted.context}; /* if it says nothing else */
  status = mad_tagged_receive(MPIDI_MAD_global.engine, &wanted, layout.base, layout.count,
                              layout.type, path, (mad_op*)&MPIDI_MAD_AM(rreq)->recv.slot,
                              &MPIDI_MAD_AM(rreq)->receive, &arrival);
  if (status != MAD_IN_PROGRESS) receive_done(rreq, &arrival, status);
  return MPI_SUCCESS;
}

int MPIDI_MAD_irecv(void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                    MPIR_Comm* comm, int context_offset, MPIR_Request** request) {
  int mpi_errno;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = start_receive(buf, count, datatype, rank, tag, comm, context_offset, request);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
}

static void receive_message(void* buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request* rreq) {
  mad_message* message = MPIDI_MAD_AM(rreq)->message;
  MPIDI_MAD_layout_t layout;
  mad_arrival arrival = {.envelope = {rreq->status.MPI_SOURCE, rreq->status.MPI_TAG, 0}};
  mad_path path;
  int status, error = prepare_receive(rreq, buf, count, datatype, &layout, &path);

  if (unlikely(error)) {
    mad_message_discard(MPIDI_MAD_global.engine, message);
    fail_receive(rreq, error, NULL);
    return;
  }
  status = mad_message_receive(MPIDI_MAD_global.engine, message, layout.base, layout.count,
                               layout.type, path, (mad_op*)&MPIDI_MAD_AM(rreq)->recv.slot,
                               &MPIDI_MAD_AM(rreq)->receive, &arrival);
  if (status != MAD_IN_PROGRESS) receive_done(rreq, &arrival, status);
}

int MPIDI_MAD_imrecv(void* buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request* message) {
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  receive_message(buf, count, datatype, message);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return MPI_SUCCESS;
}

bool MPIDI_MAD_withdraw(MPIR_Request* rreq) {
  mad_receive* receive = MPIDI_MAD_AM(rreq)->receive;

  return receive && mad_tagged_cancel(MPIDI_MAD_global.engine, receive) == MAD_SUCCESS;
}

/* MPICH calls this in its critical section. */
int MPIDI_MAD_cancel_recv(MPIR_Request* rreq) {
  if (MPIR_Request_is_complete(rreq) || !MPIDI_MAD_withdraw(rreq)) return MPI_SUCCESS;
  MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
  complete_receive(rreq, 0, NULL);
  return MPI_SUCCESS;
}

void MPIDI_MAD_fail_receive(MPIR_Request* rreq, int error) {
  set_wanted(rreq);
  fail_receive(rreq, error, NULL);
}

/* ---- probes ---- */

static void tell(const mad_arrival* arrival, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = arrival->envelope.source;
  status->MPI_TAG = arrival->envelope.tag;
  MPIR_STATUS_SET_COUNT(*status, (MPI_Aint)arrival->sent);
  MPIR_STATUS_SET_CANCEL_BIT(*status, FALSE);
  if (unlikely(arrival->value_bytes > 0)) MPIDI_MAD_value_of_probe(arrival, status);
}

static int probe(int source, int tag, MPIR_Comm* comm, int context_offset, uint32_t how, int* flag,
                 MPI_Status* status) {
  const mad_envelope wanted = wanted_by(source, tag, comm, context_offset);
  mad_peer* const from =
      source >= 0 ? MPIDI_MAD_AV(MPIDIU_comm_rank_to_av(comm, source))->peer : NULL;
  mad_arrival arrival;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  *flag =
      (mad_tagged_probe_next(MPIDI_MAD_global.engine, from, &wanted, how, &arrival) == MAD_SUCCESS);
  if (*flag) tell(&arrival, status); /* what it points to is the engine's, until its next call */
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return *flag ? MPI_SUCCESS : MPIDI_MAD_probe_missed(source, comm);
}

int MPIDI_MAD_iprobe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                     MPI_Status* status) {
  return probe(source, tag, comm, context_offset, 0, flag, status);
}

int MPIDI_MAD_probe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                    MPI_Status* status) {
  return probe(source, tag, comm, context_offset, how_to_wait(), flag, status);
}

/* Between calls of who asks again and again; of those every so many make progress. */
enum { AGAIN_NANOSECONDS = 1000, MISSES = 4 };

bool MPIDI_MAD_iprobe_progresses(void) {
  static int64_t last;
  static uint32_t misses;
  int64_t now;
  bool again;

  if (how_to_wait() == 0) return true;
  now = MPIDI_MAD_nanoseconds();
  again = now - last < AGAIN_NANOSECONDS;
  last = now;
  return !again || ++misses % MISSES == 0;
}

static int claim(const mad_envelope* wanted, MPIR_Comm* comm, int* flag, MPIR_Request** message,
                 MPI_Status* status) {
  mad_message* claimed = NULL;
  mad_arrival arrival;
  MPIR_Request* rreq;

  *flag = (mad_tagged_claim(MPIDI_MAD_global.engine, wanted, &arrival, &claimed) == MAD_SUCCESS);
  if (MPIDI_MAD_global.to_answer) MPIDI_MAD_answer_puts();
  if (!*flag) return MPI_SUCCESS;
  rreq = create_request(MPIR_REQUEST_KIND__MPROBE, comm);
  if (unlikely(rreq == NULL)) {
    mad_message_discard(MPIDI_MAD_global.engine, claimed);
    *flag = 0;
    return no_requests();
  }
  MPIDI_MAD_AM(rreq)->message = claimed;
  set_source(rreq, &arrival);
  *message = rreq;
  tell(&arrival, status);
  return MPI_SUCCESS;
}

int MPIDI_MAD_improbe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                      MPIR_Request** message, MPI_Status* status) {
  const mad_envelope wanted = wanted_by(source, tag, comm, context_offset);
  int mpi_errno;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = claim(&wanted, comm, flag, message, status);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  if (mpi_errno != MPI_SUCCESS || *flag) return mpi_errno;
  return MPIDI_MAD_probe_missed(source, comm);
}
