/* mad_piggyback.c: values that messages take along (mpix_mad.h, ADR 50).
 *
 * What a communicator's messages take along is packed, or pointed at, when each is sent.  What came
 * with a received message is copied to one of kKept places, in turn; the message's status has its
 * number, in bits of its count that no message's count needs (tools/madtool/tree_edits.py has MPICH
 * read 42 of them then).  A message without a value leaves no trace here.
 */
#include "mad_core.h"
#include "mpix_mad.h"

typedef struct MPIDI_MAD_piggyback {
  MPIR_Comm* comm;    /* the user's; others are those that its collective operations use inside */
  const void* buffer; /* of `count` of the datatype, of which we have a reference: */
  MPI_Aint count;     /* 0: nothing is attached */
  MPI_Datatype datatype;
  size_t bytes;                          /* packed */
  const void* run;                       /* where they are, if they are one run, else NULL */
  MPIX_Mad_piggyback_function* function; /* NULL: nobody is to be told */
  void* extra;
} piggyback_t;

bool MPIDI_MAD_values_carried = false, MPIDI_MAD_values_wanted = false;

/* ---- what is sent ---- */

/* The value of one call, MPIX_Mad_send_oink(), in the thread that makes it. */
typedef struct {
  const MPIR_Comm* comm; /* NULL: none */
  const void* value;
  size_t bytes;
} oink_t;
static MPL_TLS oink_t oink;

static bool is_collective(MPIR_Context_id_t context_offset) {
  return context_offset != MPIR_CONTEXT_INTRA_PT2PT;
}

static bool speaks_in_collectives(const piggyback_t* piggyback) {
  return MPIDI_MAD_collectives_hint(piggyback->comm) > 0;
}

static int read_attached(const piggyback_t* piggyback, void* room, mad_extension* out) {
  MPI_Aint packed = 0;

  out->value = piggyback->run;
  out->value_bytes = piggyback->bytes;
  if (piggyback->run) return MPI_SUCCESS;
  out->value = room;
  return MPIR_Typerep_pack(piggyback->buffer, piggyback->count, piggyback->datatype, 0, room,
                           MPIX_MAD_PIGGYBACK_MAX, &packed);
}

int MPIDI_MAD_read_value(MPIR_Comm* comm, int context_offset, void* room, mad_extension* out) {
  const piggyback_t* piggyback = MPIDI_MAD_COMM(comm)->piggyback;

  if (oink.comm == comm && !is_collective(context_offset)) {
    out->value = oink.value;
    out->value_bytes = oink.bytes;
    oink.comm = NULL; /* what else leaves before the call returns is not its message */
    return MPI_SUCCESS;
  }
  if (piggyback == NULL || piggyback->count == 0) return MPI_SUCCESS;
  if (is_collective(context_offset) && !speaks_in_collectives(piggyback)) return MPI_SUCCESS;
  return read_attached(piggyback, room, out);
}

/* ---- what came ---- */

/* The places, kKept of them, from the first value on; of each the number of the value in it and of
 * what message that was. */
enum { kKept = MPIX_MAD_PIGGYBACK_KEPT, kNumbers = 1 << 14 };
typedef struct {
  uint64_t number;
  int source, tag, count_lo;
  unsigned bytes;
  unsigned char value[MPIX_MAD_PIGGYBACK_MAX];
} kept_t;
static kept_t* places = NULL;
static uint64_t latest = 0;

/* In the word of a status that has the count's higher bits: a mark that no message's count has, the
 * number, and 10 of those bits; the lowest says whether it was cancelled.  Counts that a program
 * sets may have all 63 bits: those of 2^56 that begin with the mark are taken for numbered ones. */
#define MARK 0x56u
#define MARK_SHIFT 25
#define NUMBER_SHIFT 11

static bool has_number(const MPI_Status* status) {
  return (unsigned)status->count_hi_and_cancelled >> MARK_SHIFT == MARK;
}

static void set_number(MPI_Status* status, uint64_t number) {
  const unsigned below = (unsigned)status->count_hi_and_cancelled & ((1u << NUMBER_SHIFT) - 1);

  status->count_hi_and_cancelled =
      (int)(MARK << MARK_SHIFT | (unsigned)(number % kNumbers) << NUMBER_SHIFT | below);
}

/* Without memory for it the value is gone, which who asks for it is told. */
static void keep(const mad_arrival* arrival, MPI_Status* status) {
  kept_t* place;

  if (places == NULL) places = MPL_calloc(kKept, sizeof(kept_t), MPL_MEM_OTHER);
  set_number(status, ++latest);
  if (places == NULL) return;
  place = &places[latest % kKept];
  place->number = latest;
  place->source = status->MPI_SOURCE;
  place->tag = status->MPI_TAG;
  place->count_lo = status->count_lo;
  place->bytes = (unsigned)arrival->value_bytes;
  memcpy(place->value, arrival->value, arrival->value_bytes);
}

void MPIDI_MAD_value_of_probe(const mad_arrival* arrival, MPI_Status* status) {
  keep(arrival, status);
}

/* A rank of the user's communicator by that of one which its collective operations use inside. */
static int users_rank(const MPIR_Comm* users, const MPIR_Comm* inner, int rank) {
  const int* table = (inner == users->node_comm) ? users->intranode_table : users->internode_table;

  if (inner == users) return rank;
  for (int i = 0; i < users->local_size; i++)
    if (table[i] == rank) return i;
  return MPI_UNDEFINED;
}

static void tell(const piggyback_t* piggyback, const MPIR_Comm* comm, bool collective,
                 const mad_arrival* arrival, const MPI_Status* status) {
  MPI_Status its = *status;

  its.MPI_SOURCE = users_rank(piggyback->comm, comm, status->MPI_SOURCE);
  piggyback->function(piggyback->comm->handle, &its, collective, arrival->value,
                      (int)arrival->value_bytes, piggyback->extra);
}

void MPIDI_MAD_value_came(MPIR_Comm* comm, const mad_arrival* arrival, MPI_Status* status) {
  const piggyback_t* piggyback = MPIDI_MAD_COMM(comm)->piggyback;
  bool collective =
      is_collective((MPIR_Context_id_t)(arrival->envelope.context - comm->recvcontext_id));

  if (arrival->value_bytes > 0 && !collective) keep(arrival, status);
  if (piggyback == NULL || piggyback->function == NULL) return;
  if (collective && !speaks_in_collectives(piggyback)) return;
  tell(piggyback, comm, collective, arrival, status);
}

/* ---- life ---- */

/* Also to the communicators of nodes, if there are any. */
static void set_piggyback(MPIR_Comm* comm, piggyback_t* piggyback) {
  MPIDI_MAD_COMM(comm)->piggyback = piggyback;
  if (comm->node_comm) MPIDI_MAD_COMM(comm->node_comm)->piggyback = piggyback;
  if (comm->node_roots_comm) MPIDI_MAD_COMM(comm->node_roots_comm)->piggyback = piggyback;
}

static int piggyback_of(MPIR_Comm* comm, piggyback_t** out) {
  *out = MPIDI_MAD_COMM(comm)->piggyback;
  if (*out) return MPI_SUCCESS;
  *out = MPL_calloc(1, sizeof(piggyback_t), MPL_MEM_OTHER);
  if (*out == NULL)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  (*out)->comm = comm;
  set_piggyback(comm, *out);
  return MPI_SUCCESS;
}

static void detach(piggyback_t* piggyback) {
  if (piggyback->count > 0) MPIR_Datatype_release_if_not_builtin(piggyback->datatype);
  piggyback->count = 0;
}

void MPIDI_MAD_piggyback_comm_free(MPIR_Comm* comm) {
  piggyback_t* piggyback = MPIDI_MAD_COMM(comm)->piggyback;

  if (piggyback == NULL || piggyback->comm != comm) return;
  set_piggyback(comm, NULL);
  detach(piggyback);
  MPL_free(piggyback);
}

void MPIDI_MAD_piggyback_finalize(void) {
  MPL_free(places);
  places = NULL;
}

/* ---- the application's functions ---- */

/* Whether so many of the datatype can be read or written; *type is NULL if it is a basic one. */
static int check_datatype(int count, MPI_Datatype datatype, MPIR_Datatype** type) {
  int mpi_errno = MPI_SUCCESS;

  *type = NULL;
  MPIR_ERRTEST_COUNT(count, mpi_errno);
  MPIR_ERRTEST_DATATYPE(datatype, "datatype", mpi_errno);
  if (HANDLE_IS_BUILTIN(datatype)) return MPI_SUCCESS;
  MPIR_Datatype_get_ptr(datatype, *type);
  MPIR_Datatype_valid_ptr(*type, mpi_errno);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_Datatype_committed_ptr(*type, mpi_errno);

fn_fail:
  return mpi_errno;
}

/* Of a value at `buffer`: its packed bytes, and where they are if that is one run, else NULL. */
static int measure(const void* buffer, int count, MPI_Datatype datatype, size_t* bytes,
                   const void** run) {
  MPIR_Datatype* type;
  MPI_Aint size;
  int mpi_errno = check_datatype(count, datatype, &type);

  MPIR_ERR_CHECK(mpi_errno);
  *run = buffer;
  if (type) *run = type->is_contig ? (const char*)buffer + type->true_lb : NULL;
  MPIR_Datatype_get_size_macro(datatype, size);
  MPIR_ERR_CHKANDJUMP2(size > MPIX_MAD_PIGGYBACK_MAX || size * count > MPIX_MAD_PIGGYBACK_MAX,
                       mpi_errno, MPI_ERR_COUNT, "**mad_value", "**mad_value %d %d",
                       (int)MPL_MIN(size * count, INT_MAX), MPIX_MAD_PIGGYBACK_MAX);
  *bytes = (size_t)(size * count);

fn_fail:
  return mpi_errno;
}

static int attach(MPIR_Comm* comm, const void* buffer, int count, MPI_Datatype datatype) {
  int mpi_errno = MPI_SUCCESS;
  bool is_none = (buffer == NULL || count == 0);
  piggyback_t* piggyback;
  size_t bytes = 0;
  const void* run = NULL;

  if (!is_none) mpi_errno = measure(buffer, count, datatype, &bytes, &run);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = piggyback_of(comm, &piggyback);
  MPIR_ERR_CHECK(mpi_errno);
  detach(piggyback);
  if (is_none) goto fn_fail;
  MPIR_Datatype_add_ref_if_not_builtin(datatype);
  piggyback->buffer = buffer;
  piggyback->count = count;
  piggyback->datatype = datatype;
  piggyback->bytes = bytes;
  piggyback->run = run;
  MPIDI_MAD_values_carried = true;

fn_fail:
  return mpi_errno;
}

int MPIX_Mad_piggyback_attach(MPI_Comm handle, const void* buffer, int count,
                              MPI_Datatype datatype) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* comm = NULL;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  mpi_errno = MPIDI_MAD_get_comm(handle, &comm);
  if (!mpi_errno) {
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    mpi_errno = attach(comm, buffer, count, datatype);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  }
  if (mpi_errno) mpi_errno = MPIR_Err_return_comm(comm, __func__, mpi_errno);
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
}

int MPIX_Mad_piggyback_callback(MPI_Comm handle, MPIX_Mad_piggyback_function* function,
                                void* extra) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* comm = NULL;
  piggyback_t* piggyback;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  mpi_errno = MPIDI_MAD_get_comm(handle, &comm);
  if (!mpi_errno) {
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    mpi_errno = piggyback_of(comm, &piggyback);
    if (!mpi_errno) {
      piggyback->function = function;
      piggyback->extra = extra;
      if (function) MPIDI_MAD_values_wanted = true;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  }
  if (mpi_errno) mpi_errno = MPIR_Err_return_comm(comm, __func__, mpi_errno);
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
}

/* NULL: it is gone. */
static const kept_t* find_kept(const MPI_Status* status) {
  const unsigned number =
      ((unsigned)status->count_hi_and_cancelled >> NUMBER_SHIFT) & (kNumbers - 1);
  const kept_t* place = places ? &places[number % kKept] : NULL;

  return (place && place->number > 0 && place->number % kNumbers == number &&
          place->source == status->MPI_SOURCE && place->tag == status->MPI_TAG &&
          place->count_lo == status->count_lo)
             ? place
             : NULL;
}

static int get_value(const MPI_Status* status, void* buffer, int count, MPI_Datatype datatype,
                     int* bytes) {
  int mpi_errno = MPI_SUCCESS;
  const kept_t* kept;
  MPI_Aint room, unpacked = 0;

  if (!has_number(status)) {
    *bytes = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  kept = find_kept(status);
  MPIR_ERR_CHKANDJUMP1(kept == NULL, mpi_errno, MPI_ERR_ARG, "**mad_value_gone",
                       "**mad_value_gone %d", kKept);
  MPIR_Datatype_get_size_macro(datatype, room);
  room *= count;
  *bytes = (int)kept->bytes;
  mpi_errno = MPIR_Typerep_unpack(kept->value, MPL_MIN(room, (MPI_Aint)kept->bytes), buffer, count,
                                  datatype, 0, &unpacked);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_ERR_CHKANDJUMP2(room < (MPI_Aint)kept->bytes, mpi_errno, MPI_ERR_TRUNCATE,
                       "**mad_value_room", "**mad_value_room %d %d", (int)kept->bytes, (int)room);

fn_fail:
  return mpi_errno;
}

int MPIX_Mad_piggyback_get(const MPI_Status* status, void* buffer, int count, MPI_Datatype datatype,
                           int* bytes) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Datatype* type;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  MPIR_ERR_CHKANDJUMP(status == NULL || status == MPI_STATUS_IGNORE, mpi_errno, MPI_ERR_ARG,
                      "**nullptr");
  MPIR_ERRTEST_ARGNULL(bytes, "bytes", mpi_errno);
  if (count > 0) MPIR_ERRTEST_ARGNULL(buffer, "buffer", mpi_errno);
  mpi_errno = check_datatype(count, datatype, &type);
  MPIR_ERR_CHECK(mpi_errno);
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = get_value(status, buffer, count, datatype, bytes);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(NULL, __func__, mpi_errno);
  goto fn_exit;
}

/* The value as this thread's next message on `handle` takes it. */
static int begin_oink(MPI_Comm handle, const void* value, int count, MPI_Datatype datatype,
                      void* room) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Comm* comm = NULL;
  piggyback_t* piggyback;
  size_t bytes = 0;
  const void* run = NULL;
  MPI_Aint packed = 0;

  mpi_errno = MPIDI_MAD_get_comm(handle, &comm);
  MPIR_ERR_CHECK(mpi_errno);
  if (count > 0) mpi_errno = measure(value, count, datatype, &bytes, &run);
  MPIR_ERR_CHECK(mpi_errno);
  if (count > 0 && run == NULL) {
    mpi_errno = MPIR_Typerep_pack(value, count, datatype, 0, room, MPIX_MAD_PIGGYBACK_MAX, &packed);
    MPIR_ERR_CHECK(mpi_errno);
    run = room;
  }
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = piggyback_of(comm, &piggyback);
  MPIDI_MAD_values_carried = true;
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  MPIR_ERR_CHECK(mpi_errno);
  oink = (oink_t){comm, run, bytes};

fn_fail:
  return mpi_errno;
}

int MPIX_Mad_send_oink(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm, const void* pb_buf, MPI_Datatype pb_dt, int pb_count) {
  unsigned char room[MPIX_MAD_PIGGYBACK_MAX];
  int mpi_errno;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  mpi_errno = begin_oink(comm, pb_buf, pb_count, pb_dt, room);
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  if (mpi_errno) return MPIR_Err_return_comm(NULL, __func__, mpi_errno);
  mpi_errno = MPI_Send(buf, count, datatype, dest, tag, comm);
  oink.comm = NULL; /* nothing was sent */
  return mpi_errno;
}

int MPIX_Mad_recv_oink(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status* status, void* pb_buf, MPI_Datatype pb_dt,
                       int pb_count) {
  MPI_Status own;
  int mpi_errno, bytes;

  if (status == MPI_STATUS_IGNORE) status = &own;
  mpi_errno = MPI_Recv(buf, count, datatype, source, tag, comm, status);
  return mpi_errno ? mpi_errno : MPIX_Mad_piggyback_get(status, pb_buf, pb_count, pb_dt, &bytes);
}
