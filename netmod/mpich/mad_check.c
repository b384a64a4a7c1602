/* mad_check.c: whether a message is of the type that its receive wants.
 *
 * Where types are checked a message's note says of what type it is: the hash of its signature, how
 * many basic elements that has, and the kind of the first.  Its receiver compares them with those
 * of as many elements of its own type.  A message of which the note says nothing matches
 * everything.
 *
 * Inside of a collective operation MPICH sends packed bytes where it likes, and data with packed
 * bytes behind it.  So a message of a blocking one says of what type the operation is, and of all
 * others only those of basic types say anything, MPI_BYTE excepted.
 */
#include "mad_core.h"

typedef struct {
  uint64_t hash, elements;
  mad_basic kind; /* of the first element; none if there are no elements */
} signature_t;

bool MPIDI_MAD_types_checked = false;

/* ---- MPI's basic types ---- */

/* Each with its kind, and its name for errors. */
static const struct {
  MPI_Datatype handle;
  int kind;
  const char* name;
} basics[] = {
#define BASIC(name_, kind_) \
  { name_, MAD_BASIC_##kind_, #name_ }
    BASIC(MPI_BYTE, BYTE),
    BASIC(MPI_PACKED, PACKED),
    BASIC(MPI_CHAR, CHAR),
    BASIC(MPI_SIGNED_CHAR, SIGNED_CHAR),
    BASIC(MPI_UNSIGNED_CHAR, UNSIGNED_CHAR),
    BASIC(MPI_WCHAR, WCHAR),
    BASIC(MPI_SHORT, SHORT),
    BASIC(MPI_UNSIGNED_SHORT, UNSIGNED_SHORT),
    BASIC(MPI_INT, INT),
    BASIC(MPI_UNSIGNED, UNSIGNED),
    BASIC(MPI_LONG, LONG),
    BASIC(MPI_UNSIGNED_LONG, UNSIGNED_LONG),
    BASIC(MPI_LONG_LONG, LONG_LONG),
    BASIC(MPI_UNSIGNED_LONG_LONG, UNSIGNED_LONG_LONG),
    BASIC(MPI_INT8_T, INT8),
    BASIC(MPI_INT16_T, INT16),
    BASIC(MPI_INT32_T, INT32),
    BASIC(MPI_INT64_T, INT64),
    BASIC(MPI_UINT8_T, UINT8),
    BASIC(MPI_UINT16_T, UINT16),
    BASIC(MPI_UINT32_T, UINT32),
    BASIC(MPI_UINT64_T, UINT64),
    BASIC(MPI_C_BOOL, BOOL),
    BASIC(MPI_FLOAT, FLOAT),
    BASIC(MPI_DOUBLE, DOUBLE),
    BASIC(MPI_LONG_DOUBLE, LONG_DOUBLE),
    BASIC(MPI_C_FLOAT_COMPLEX, FLOAT_COMPLEX),
    BASIC(MPI_C_DOUBLE_COMPLEX, DOUBLE_COMPLEX),
    BASIC(MPI_C_LONG_DOUBLE_COMPLEX, LONG_DOUBLE_COMPLEX),
    BASIC(MPI_AINT, AINT),
    BASIC(MPI_OFFSET, OFFSET),
    BASIC(MPI_COUNT, COUNT),
    BASIC(MPI_CHARACTER, CHARACTER),
    BASIC(MPI_LOGICAL, LOGICAL),
    BASIC(MPI_INTEGER, INTEGER),
    BASIC(MPI_REAL, REAL),
    BASIC(MPI_DOUBLE_PRECISION, DOUBLE_PRECISION),
    BASIC(MPI_COMPLEX, FORTRAN_COMPLEX),
    BASIC(MPI_DOUBLE_COMPLEX, FORTRAN_DOUBLE_COMPLEX),
    BASIC(MPI_INTEGER1, INTEGER1),
    BASIC(MPI_INTEGER2, INTEGER2),
    BASIC(MPI_INTEGER4, INTEGER4),
    BASIC(MPI_INTEGER8, INTEGER8),
    BASIC(MPI_REAL4, REAL4),
    BASIC(MPI_REAL8, REAL8),
    BASIC(MPI_REAL16, REAL16),
    BASIC(MPI_COMPLEX8, COMPLEX8),
    BASIC(MPI_COMPLEX16, COMPLEX16),
    BASIC(MPI_COMPLEX32, COMPLEX32),
    BASIC(MPI_CXX_BOOL, CXX_BOOL),
    BASIC(MPI_CXX_FLOAT_COMPLEX, CXX_FLOAT_COMPLEX),
    BASIC(MPI_CXX_DOUBLE_COMPLEX, CXX_DOUBLE_COMPLEX),
    BASIC(MPI_CXX_LONG_DOUBLE_COMPLEX, CXX_LONG_DOUBLE_COMPLEX),
#undef BASIC
};
#define BASICS (sizeof(basics) / sizeof(basics[0]))

/* Pairs that MPICH has as basic types. */
static const struct {
  MPI_Datatype handle, element;
} pairs[] = {{MPI_2INT, MPI_INT},
             {MPI_2INTEGER, MPI_INTEGER},
             {MPI_2REAL, MPI_REAL},
             {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION}};
#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

/* What has no kind: the old markers of bounds, which are nothing, and bytes. */
static const MPI_Datatype others[] = {MPI_LB, MPI_UB, MPIX_C_FLOAT16};
#define OTHERS (sizeof(others) / sizeof(others[0]))

/* By the handle's last byte, which is the number of a basic type of MPICH's.  All that there are
 * are made at the beginning, so that threads only read. */
static mad_type* builtins[256];

/* Where MPI's type has another size than this machine's kind, as a compiler's switch can make
 * Fortran's, it is so many bytes. */
static int describe_kind(MPI_Aint size, mad_basic kind, mad_type** out) {
  mad_type_info info;
  int status = mad_type_basic(kind, out);

  if (status >= 0) status = mad_type_commit(*out);
  if (status >= 0) status = mad_type_query(*out, &info);
  if (status >= 0 && info.size == (uint64_t)size) return status;
  mad_type_release(*out);
  *out = NULL;
  return status < 0 ? status : mad_type_bytes((uint64_t)size, out);
}

static int describe_builtin(MPI_Datatype handle, mad_type** out) {
  MPI_Aint size = MPIR_Datatype_get_basic_size(handle);
  mad_type* element;

  for (size_t i = 0; i < BASICS; i++)
    if (basics[i].handle == handle) return describe_kind(size, (mad_basic)basics[i].kind, out);
  for (size_t i = 0; i < PAIRS; i++) {
    if (pairs[i].handle != handle) continue;
    int status = MPIDI_MAD_basic_type(pairs[i].element, &element);
    return status < 0 ? status : mad_type_contiguous(2, element, out);
  }
  if (size == 0) {
    int status = MPIDI_MAD_basic_type(MPI_BYTE, &element);
    return status < 0 ? status : mad_type_contiguous(0, element, out);
  }
  return mad_type_bytes((uint64_t)size, out);
}

int MPIDI_MAD_basic_type(MPI_Datatype handle, mad_type** type) {
  mad_type** slot = &builtins[handle & 0xff];
  int status = MAD_SUCCESS;

  if (unlikely(*slot == NULL)) status = describe_builtin(handle, slot);
  *type = *slot;
  return status;
}

static const char* name_of(mad_basic kind) {
  for (size_t i = 0; i < BASICS; i++)
    if (basics[i].kind == (int)kind) return basics[i].name;
  return "an unknown type";
}

/* MPICH makes types of its own that say only where bytes are. */
mad_type* MPIDI_MAD_kinds_of(MPI_Datatype handle) {
  MPIR_Datatype* datatype = NULL;
  mad_type* type = NULL;

  if (HANDLE_IS_BUILTIN(handle)) return MPIDI_MAD_basic_type(handle, &type) < 0 ? NULL : type;
  MPIR_Datatype_get_ptr(handle, datatype);
  if (datatype == NULL) return NULL;
  if (!MPIR_DATATYPE_IS_PREDEFINED(handle) && datatype->contents == NULL) return NULL;
  return MPIDI_MAD_type_of(datatype, &type) == MPI_SUCCESS ? type : NULL;
}

/* ---- signatures ---- */

/* Those asked for last, each with a reference to its type: the hash of a long sequence takes time
 * in proportion to the logarithm of its length. */
#define KNOWN 64
static struct {
  mad_type* type;
  uint64_t count;
  signature_t signature;
} known[KNOWN];

static int make_signature(mad_type* type, uint64_t count, signature_t* out) {
  int status = mad_type_signature(type, count, &out->hash, &out->elements);

  out->kind = MAD_BASIC_BYTE;
  return (status >= 0 && out->elements > 0) ? mad_type_first_kind(type, &out->kind) : status;
}

static int signature_of(mad_type* type, uint64_t count, signature_t* out) {
  size_t place = (((uintptr_t)type >> 4) + count) % KNOWN;
  int status = MAD_SUCCESS;

  if (unlikely(known[place].type != type || known[place].count != count)) {
    status = make_signature(type, count, out);
    if (status < 0) return status;
    mad_type_retain(type);
    mad_type_release(known[place].type);
    known[place].type = type;
    known[place].count = count;
    known[place].signature = *out;
  }
  *out = known[place].signature;
  return status;
}

/* ---- who checks ---- */

/* Callers have looked at MPIDI_MAD_types_checked. */
static bool is_checked(const MPIR_Comm* comm) {
  int hint = MPIDI_MAD_check_hint(comm);

  return hint < 0 ? MPIDI_MAD_global.check_types : hint != 0;
}

static bool is_collective(MPIR_Context_id_t context_offset) {
  return context_offset != MPIR_CONTEXT_INTRA_PT2PT;
}

/* The operation that a message belongs to; nonblocking ones have tags of their own. */
static MPIDI_MAD_collective_t* collective_of(MPIR_Comm* comm, MPIR_Context_id_t context_offset,
                                             int tag) {
  return (is_collective(context_offset) && tag < MPIR_FIRST_NBC_TAG)
             ? MPIDI_MAD_COMM(comm)->collective
             : NULL;
}

/* What a message has, or a receive wants, of a type and count; false: that is not to be said. */
static bool subject_of(MPIR_Comm* comm, MPIR_Context_id_t context_offset, int tag, MPI_Aint count,
                       MPI_Datatype datatype, mad_type** type, signature_t* out) {
  MPIDI_MAD_collective_t* collective = collective_of(comm, context_offset, tag);

  if (collective) {
    *type = collective->type;
    return signature_of(*type, collective->count, out) >= 0;
  }
  if (is_collective(context_offset) && (datatype == MPI_BYTE || !HANDLE_IS_BUILTIN(datatype)))
    return false;
  *type = MPIDI_MAD_kinds_of(datatype);
  return *type && signature_of(*type, (uint64_t)count, out) >= 0;
}

/* ---- messages ---- */

#define KIND_SHIFT 56 /* in a note's second word, above the number of elements */

bool MPIDI_MAD_note(MPIR_Comm* comm, int context_offset, int tag, MPI_Aint count,
                    MPI_Datatype datatype, uint64_t note[2]) {
  mad_type* type;
  signature_t signature;

  if (count == 0 || !is_checked(comm)) return false;
  if (!subject_of(comm, context_offset, tag, count, datatype, &type, &signature)) return false;
  note[0] = signature.hash;
  note[1] = signature.elements | (uint64_t)signature.kind << KIND_SHIFT;
  return signature.elements > 0;
}

static signature_t signature_in(const mad_arrival* arrival) {
  const uint64_t elements = ((uint64_t)1 << KIND_SHIFT) - 1;

  return (signature_t){arrival->note[0], arrival->note[1] & elements,
                       (mad_basic)(arrival->note[1] >> KIND_SHIFT)};
}

/* Whether the sent is the wanted, or the beginning of it. */
static bool matches(const signature_t* sent, mad_type* type, const signature_t* wanted) {
  uint64_t hash = wanted->hash;

  if (sent->hash == MAD_SIGNATURE_ANY || wanted->hash == MAD_SIGNATURE_ANY) return true;
  if (sent->elements > wanted->elements) return false;
  if (sent->elements < wanted->elements &&
      mad_type_signature_prefix(type, sent->elements, &hash) < 0)
    return true;
  return sent->hash == hash;
}

/* "12 of MPI_INT", or what the sequence begins with. */
static void describe(const signature_t* signature, char out[MPIDI_MAD_TYPE_TEXT]) {
  mad_type* kind = NULL;
  uint64_t hash = 0, elements = 0;
  bool uniform = (mad_type_basic(signature->kind, &kind) >= 0 &&
                  mad_type_signature(kind, signature->elements, &hash, &elements) >= 0 &&
                  hash == signature->hash);

  mad_type_release(kind);
  MPL_snprintf(out, MPIDI_MAD_TYPE_TEXT,
               uniform ? "%llu of %s" : "%llu elements that begin with %s",
               (unsigned long long)signature->elements, name_of(signature->kind));
}

static int mismatch_error(const MPIR_Comm* comm, const MPIDI_MAD_mismatch_t* mismatch) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TYPE,
                              "**mad_types", "**mad_types %d %C %s %s", mismatch->source,
                              comm->handle, mismatch->sent, mismatch->wanted);
}

static void set_mismatch(MPIDI_MAD_mismatch_t* mismatch, int source, const signature_t* sent,
                         const signature_t* wanted) {
  mismatch->source = source;
  describe(sent, mismatch->sent);
  describe(wanted, mismatch->wanted);
}

int MPIDI_MAD_check_types(MPIR_Request* rreq, const mad_arrival* arrival) {
  int offset = arrival->envelope.context - rreq->comm->recvcontext_id;
  int tag = arrival->envelope.tag;
  signature_t sent = signature_in(arrival), wanted;
  mad_type* type;
  MPIDI_MAD_mismatch_t mismatch;
  MPIDI_MAD_collective_t* collective = collective_of(rreq->comm, offset, tag);

  if (!MPIDI_MAD_types_checked || !is_checked(rreq->comm)) return MPI_SUCCESS;
  if (!subject_of(rreq->comm, offset, tag, MPIDIG_REQUEST(rreq, count),
                  MPIDIG_REQUEST(rreq, datatype), &type, &wanted))
    return MPI_SUCCESS;
  if (matches(&sent, type, &wanted)) return MPI_SUCCESS;
  set_mismatch(&mismatch, arrival->envelope.source, &sent, &wanted);
  if (!collective) return mismatch_error(rreq->comm, &mismatch);
  if (collective->mismatch.source < 0) collective->mismatch = mismatch;
  return MPI_SUCCESS;
}

/* ---- collective operations ---- */

static MPL_TLS int depth = 0; /* of collective operations in one another */

/* MPICH makes some operations of others, with types of its own choice: those inside of another, and
 * those on one group's side of an operation between two. */
static bool is_users(const MPIR_Comm* comm) {
  return depth == 0 && comm->comm_kind == MPIR_COMM_KIND__INTRACOMM &&
         !MPIR_CONTEXT_READ_FIELD(IS_LOCALCOMM, comm->recvcontext_id);
}

void MPIDI_MAD_collective_begin(MPIR_Comm* comm, MPI_Aint count, MPI_Datatype datatype,
                                MPIDI_MAD_collective_t* collective) {
  bool speaks = is_users(comm) && is_checked(comm);

  depth++;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  collective->comm = comm;
  collective->outer = MPIDI_MAD_COMM(comm)->collective;
  collective->type = speaks ? MPIDI_MAD_kinds_of(datatype) : NULL;
  collective->count = (uint64_t)count;
  collective->mismatch.source = -1;
  mad_type_retain(collective->type);
  MPIDI_MAD_COMM(comm)->collective = collective->type ? collective : NULL;
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}

void MPIDI_MAD_collective_own(MPIDI_MAD_collective_t* collective, MPI_Aint sendcount,
                              MPI_Datatype sendtype, MPI_Aint recvcount, MPI_Datatype recvtype) {
  signature_t sent, wanted;
  mad_type *sent_type, *type;
  MPI_Aint sent_size, size;

  MPIR_Datatype_get_size_macro(sendtype, sent_size);
  MPIR_Datatype_get_size_macro(recvtype, size);
  /* of too much MPICH says so */
  if (!collective->type || sendcount * sent_size > recvcount * size) return;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  sent_type = MPIDI_MAD_kinds_of(sendtype);
  type = MPIDI_MAD_kinds_of(recvtype);
  if (sent_type && type && signature_of(sent_type, (uint64_t)sendcount, &sent) >= 0 &&
      signature_of(type, (uint64_t)recvcount, &wanted) >= 0 && !matches(&sent, type, &wanted))
    set_mismatch(&collective->mismatch, collective->comm->rank, &sent, &wanted);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}

/* The operation has gone on: a rank whose receive fails may leave others waiting in MPICH's. */
int MPIDI_MAD_collective_end(MPIDI_MAD_collective_t* collective, int mpi_errno) {
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDI_MAD_COMM(collective->comm)->collective = collective->outer;
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  mad_type_release(collective->type);
  depth--;
  return collective->mismatch.source < 0 ? mpi_errno
                                         : mismatch_error(collective->comm, &collective->mismatch);
}

/* ---- life ---- */

static void make_basic(MPI_Datatype handle) {
  mad_type* type;

  if (handle != MPI_DATATYPE_NULL) /* this machine, or this build, has it */
    (void)MPIDI_MAD_basic_type(handle, &type);
}

void MPIDI_MAD_check_init(void) {
  for (size_t i = 0; i < BASICS; i++) make_basic(basics[i].handle);
  for (size_t i = 0; i < PAIRS; i++) make_basic(pairs[i].handle);
  for (size_t i = 0; i < OTHERS; i++) make_basic(others[i]);
  MPIDI_MAD_global.check_types = MPIR_CVAR_CH4_MAD_CHECK_TYPES;
  MPIDI_MAD_types_checked = MPIDI_MAD_global.check_types;
}

void MPIDI_MAD_check_finalize(void) {
  for (size_t i = 0; i < KNOWN; i++) {
    mad_type_release(known[i].type);
    known[i].type = NULL;
  }
  for (size_t i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
    mad_type_release(builtins[i]);
    builtins[i] = NULL;
  }
}
