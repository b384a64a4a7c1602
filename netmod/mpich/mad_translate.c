/* mad_translate.c: describes MPI datatypes to libmad.
 *
 * A type is described from its contents, what its constructor was called with, children first.  A
 * type without contents (MPICH rebuilds them at the target of one-sided operations, and makes some
 * for its own use) is described from the list of its runs.  Bounds are always said explicitly, as
 * MPICH computed them: it pads structs and there are older rules about bounds that libmad need not
 * know.
 */
#include "mad_core.h"

#define CHECK_MAD(call_)                    \
  do {                                      \
    int status_ = (call_);                  \
    if (status_ < 0) {                      \
      mpi_errno = MPIDI_MAD_error(status_); \
      goto fn_fail;                         \
    }                                       \
  } while (0)

/* A constructor's arguments.  In the large-count variants every count, length and displacement is
 * among `counts`, in the same order as the int variants have them in `ints` and `aints`. */
typedef struct {
  const int* ints;
  const MPI_Aint* aints;
  const MPI_Aint* counts;
  const MPI_Datatype* types;
  bool large;
  bool has_aints;
} contents_t;

static contents_t contents_of(MPIR_Datatype* datatype) {
  MPIR_Datatype_contents* stored = datatype->contents;
  contents_t contents;
  int* ints;
  MPI_Aint *aints, *counts;
  MPI_Datatype* types;

  MPIR_Datatype_access_contents(stored, &ints, &aints, &counts, &types);
  contents.ints = ints;
  contents.aints = aints;
  contents.counts = counts;
  contents.types = types;
  contents.large = (stored->nr_counts > 0);
  contents.has_aints = (stored->nr_aints > 0);
  return contents;
}

/* The i-th of the numbers that are ints, or counts in the large-count variant. */
static MPI_Aint number(const contents_t* contents, MPI_Aint i) {
  return contents->large ? contents->counts[i] : contents->ints[i];
}

static int describe(MPI_Datatype handle, mad_type** out);

static MPI_Aint extent_of(MPI_Datatype handle) {
  MPI_Aint extent;
  MPIR_Datatype_get_extent_macro(handle, extent);
  return extent;
}

static int describe_empty(mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* byte = NULL;

  CHECK_MAD(mad_type_bytes(1, &byte));
  CHECK_MAD(mad_type_contiguous(0, byte, out));

fn_exit:
  mad_type_release(byte);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_basic(MPI_Datatype handle, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;

  CHECK_MAD(MPIDI_MAD_basic_type(handle, out));
  mad_type_retain(*out);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* MPI_FLOAT_INT and its kin: a value, perhaps a hole, an index. */
static int describe_pair(MPI_Datatype handle, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  uint64_t lengths[2] = {1, 1};
  int64_t displacements[2] = {0, 0};
  mad_type* children[2] = {NULL, NULL};
  MPI_Datatype value = MPI_DATATYPE_NULL;

#define PAIR(type_, datatype_)                                \
  do {                                                        \
    struct pair {                                             \
      type_ value;                                            \
      int index;                                              \
    };                                                        \
    value = datatype_;                                        \
    displacements[1] = (int64_t)offsetof(struct pair, index); \
  } while (0)
  switch (handle) {
    case MPI_FLOAT_INT:
      PAIR(float, MPI_FLOAT);
      break;
    case MPI_DOUBLE_INT:
      PAIR(double, MPI_DOUBLE);
      break;
    case MPI_LONG_INT:
      PAIR(long, MPI_LONG);
      break;
    case MPI_SHORT_INT:
      PAIR(short, MPI_SHORT);
      break;
    default:
      MPIR_Assert(handle == MPI_LONG_DOUBLE_INT);
      PAIR(long double, MPI_LONG_DOUBLE);
      break;
  }
#undef PAIR

  CHECK_MAD(MPIDI_MAD_basic_type(value, &children[0]));
  CHECK_MAD(MPIDI_MAD_basic_type(MPI_INT, &children[1]));
  CHECK_MAD(mad_type_struct(2, lengths, displacements, children, out));

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Runs of one element: what MPICH knows of a type whose constructor is unknown. */
static int describe_runs(MPIR_Datatype* datatype, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint runs = 0, written, bytes;
  struct iovec* iov = NULL;
  uint64_t* lengths = NULL;
  int64_t* displacements = NULL;
  mad_type* byte = NULL;

  if (datatype->size == 0) return describe_empty(out);
  mpi_errno = MPIR_Typerep_iov_len(1, datatype->handle, datatype->size, &runs);
  MPIR_ERR_CHECK(mpi_errno);
  iov = MPL_malloc(runs * sizeof(*iov), MPL_MEM_DATATYPE);
  lengths = MPL_malloc(runs * sizeof(*lengths), MPL_MEM_DATATYPE);
  displacements = MPL_malloc(runs * sizeof(*displacements), MPL_MEM_DATATYPE);
  MPIR_ERR_CHKANDJUMP(!iov || !lengths || !displacements, mpi_errno, MPI_ERR_NO_MEM, "**nomem");

  mpi_errno = MPIR_Typerep_to_iov(NULL, 1, datatype->handle, 0, iov, runs, datatype->size, &written,
                                  &bytes);
  MPIR_ERR_CHECK(mpi_errno);
  MPIR_ERR_CHKANDJUMP(bytes != datatype->size, mpi_errno, MPI_ERR_INTERN, "**mad_type");
  for (MPI_Aint i = 0; i < written; i++) {
    lengths[i] = iov[i].iov_len;
    displacements[i] = (int64_t)(intptr_t)iov[i].iov_base;
  }
  CHECK_MAD(mad_type_bytes(1, &byte));
  CHECK_MAD(mad_type_indexed((uint64_t)written, lengths, displacements, byte, out));

fn_exit:
  mad_type_release(byte);
  MPL_free(iov);
  MPL_free(lengths);
  MPL_free(displacements);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_vector(const contents_t* contents, bool in_bytes, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* child = NULL;
  MPI_Aint stride;

  if (!in_bytes)
    stride = number(contents, 2) * extent_of(contents->types[0]);
  else if (contents->large || !contents->has_aints) /* among the other numbers */
    stride = number(contents, 2);
  else
    stride = contents->aints[0];

  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_vector((uint64_t)number(contents, 0), (uint64_t)number(contents, 1), stride,
                            child, out));

fn_exit:
  mad_type_release(child);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Displacements in bytes.  They begin behind `first` other numbers where they are not addresses.
 * Each kind of number has a loop of its own, which takes several at a time: a list may be made for
 * one message. */
static int displacements_of(const contents_t* contents, MPI_Aint count, MPI_Aint first,
                            bool in_bytes, int64_t** out) {
  const MPI_Aint scale = in_bytes ? 1 : extent_of(contents->types[0]);
  int64_t* displacements = MPL_malloc((count + 1) * sizeof(int64_t), MPL_MEM_DATATYPE);

  if (!displacements)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  if (contents->large) {
    for (MPI_Aint i = 0; i < count; i++) displacements[i] = contents->counts[first + i] * scale;
  } else if (in_bytes && contents->has_aints) {
    for (MPI_Aint i = 0; i < count; i++) displacements[i] = contents->aints[i];
  } else {
    for (MPI_Aint i = 0; i < count; i++) displacements[i] = contents->ints[first + i] * scale;
  }
  *out = displacements;
  return MPI_SUCCESS;
}

static int lengths_of(const contents_t* contents, MPI_Aint count, uint64_t** out) {
  uint64_t* lengths = MPL_malloc((count + 1) * sizeof(uint64_t), MPL_MEM_DATATYPE);

  if (!lengths)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_NO_MEM, "**nomem", 0);
  if (contents->large) {
    for (MPI_Aint i = 0; i < count; i++) lengths[i] = (uint64_t)contents->counts[1 + i];
  } else {
    for (MPI_Aint i = 0; i < count; i++) lengths[i] = (uint64_t)contents->ints[1 + i];
  }
  *out = lengths;
  return MPI_SUCCESS;
}

static int describe_indexed(const contents_t* contents, bool in_bytes, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint count = number(contents, 0);
  uint64_t* lengths = NULL;
  int64_t* displacements = NULL;
  mad_type* child = NULL;

  mpi_errno = lengths_of(contents, count, &lengths);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = displacements_of(contents, count, 1 + count, in_bytes, &displacements);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_indexed((uint64_t)count, lengths, displacements, child, out));

fn_exit:
  mad_type_release(child);
  MPL_free(lengths);
  MPL_free(displacements);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_indexed_block(const contents_t* contents, bool in_bytes, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint count = number(contents, 0);
  int64_t* displacements = NULL;
  mad_type* child = NULL;

  mpi_errno = displacements_of(contents, count, 2, in_bytes, &displacements);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_indexed_block((uint64_t)count, (uint64_t)number(contents, 1), displacements,
                                   child, out));

fn_exit:
  mad_type_release(child);
  MPL_free(displacements);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_struct(const contents_t* contents, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint count = number(contents, 0);
  uint64_t* lengths = NULL;
  int64_t* displacements = NULL;
  mad_type** children = MPL_calloc(count + 1, sizeof(mad_type*), MPL_MEM_DATATYPE);

  MPIR_ERR_CHKANDJUMP(!children, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  mpi_errno = lengths_of(contents, count, &lengths);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = displacements_of(contents, count, 1 + count, true, &displacements);
  MPIR_ERR_CHECK(mpi_errno);
  for (MPI_Aint i = 0; i < count; i++) {
    mpi_errno = describe(contents->types[i], &children[i]);
    MPIR_ERR_CHECK(mpi_errno);
  }
  CHECK_MAD(mad_type_struct((uint64_t)count, lengths, displacements, children, out));

fn_exit:
  for (MPI_Aint i = 0; children && i < count; i++) mad_type_release(children[i]);
  MPL_free(children);
  MPL_free(lengths);
  MPL_free(displacements);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static mad_order order_of(int order) {
  return order == MPI_ORDER_FORTRAN ? MAD_ORDER_FORTRAN : MAD_ORDER_C;
}

static int describe_subarray(const contents_t* contents, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  int ndims = contents->ints[0];
  MPI_Aint first = contents->large ? 0 : 1; /* of sizes, subsizes and starts */
  int order = contents->large ? contents->ints[1] : contents->ints[3 * ndims + 1];
  uint64_t* shape = MPL_malloc(3 * ndims * sizeof(uint64_t), MPL_MEM_DATATYPE);
  mad_type* child = NULL;

  MPIR_ERR_CHKANDJUMP(!shape, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  for (int i = 0; i < 3 * ndims; i++) shape[i] = (uint64_t)number(contents, first + i);
  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_subarray(ndims, shape, shape + ndims, shape + 2 * ndims, order_of(order),
                              child, out));

fn_exit:
  mad_type_release(child);
  MPL_free(shape);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_darray(const contents_t* contents, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  int ndims = contents->ints[2];
  /* The large-count variant has the sizes apart; what follows them moves up. */
  const int* distributions = contents->ints + 3 + (contents->large ? 0 : ndims);
  const int* arguments = distributions + ndims;
  const int* grid = arguments + ndims;
  int order = grid[ndims];
  uint64_t* sizes = MPL_malloc(ndims * sizeof(uint64_t), MPL_MEM_DATATYPE);
  int64_t* dargs = MPL_malloc(ndims * sizeof(int64_t), MPL_MEM_DATATYPE);
  mad_distribution* kinds = MPL_malloc(ndims * sizeof(mad_distribution), MPL_MEM_DATATYPE);
  mad_type* child = NULL;

  MPIR_ERR_CHKANDJUMP(!sizes || !dargs || !kinds, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  for (int i = 0; i < ndims; i++) {
    sizes[i] = (uint64_t)(contents->large ? contents->counts[i] : contents->ints[3 + i]);
    dargs[i] = (arguments[i] == MPI_DISTRIBUTE_DFLT_DARG) ? MAD_DIST_DEFAULT_ARG : arguments[i];
    kinds[i] = (distributions[i] == MPI_DISTRIBUTE_BLOCK)    ? MAD_DIST_BLOCK
               : (distributions[i] == MPI_DISTRIBUTE_CYCLIC) ? MAD_DIST_CYCLIC
                                                             : MAD_DIST_NONE;
  }
  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_darray(contents->ints[0], contents->ints[1], ndims, sizes, kinds, dargs, grid,
                            order_of(order), child, out));

fn_exit:
  mad_type_release(child);
  MPL_free(sizes);
  MPL_free(dargs);
  MPL_free(kinds);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_contiguous(const contents_t* contents, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* child = NULL;

  mpi_errno = describe(contents->types[0], &child);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_contiguous((uint64_t)number(contents, 0), child, out));

fn_exit:
  mad_type_release(child);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int describe_constructed(MPIR_Datatype* datatype, mad_type** out) {
  contents_t contents = contents_of(datatype);

  switch (datatype->contents->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: /* whose bounds every description gets */
      return describe(contents.types[0], out);
    case MPI_COMBINER_CONTIGUOUS:
      return describe_contiguous(&contents, out);
    case MPI_COMBINER_VECTOR:
      return describe_vector(&contents, false, out);
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_HVECTOR_INTEGER:
      return describe_vector(&contents, true, out);
    case MPI_COMBINER_INDEXED:
      return describe_indexed(&contents, false, out);
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_HINDEXED_INTEGER:
      return describe_indexed(&contents, true, out);
    case MPI_COMBINER_INDEXED_BLOCK:
      return describe_indexed_block(&contents, false, out);
    case MPI_COMBINER_HINDEXED_BLOCK:
      return describe_indexed_block(&contents, true, out);
    case MPI_COMBINER_STRUCT:
    case MPI_COMBINER_STRUCT_INTEGER:
      return describe_struct(&contents, out);
    case MPI_COMBINER_SUBARRAY:
      return describe_subarray(&contents, out);
    case MPI_COMBINER_DARRAY:
      return describe_darray(&contents, out);
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER: /* a basic type in the clothes of a derived one */
      return describe_basic(datatype->basic_type, out);
    default:
      return describe_runs(datatype, out);
  }
}

static int describe(MPI_Datatype handle, mad_type** out) {
  MPIR_Datatype* datatype;

  if (HANDLE_IS_BUILTIN(handle)) return describe_basic(handle, out);
  MPIR_Datatype_get_ptr(handle, datatype);
  if (MPIDI_MAD_is_compiled(datatype)) {
    *out = MPIDI_MAD_DT(datatype)->type;
    mad_type_retain(*out);
    return MPI_SUCCESS;
  }
  return MPIDI_MAD_translate(datatype, out);
}

int MPIDI_MAD_translate(MPIR_Datatype* datatype, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* unbounded = NULL;

  if (MPIR_DATATYPE_IS_PREDEFINED(datatype->handle))
    mpi_errno = describe_pair(datatype->handle, &unbounded);
  else if (datatype->contents)
    mpi_errno = describe_constructed(datatype, &unbounded);
  else
    mpi_errno = describe_runs(datatype, &unbounded);
  MPIR_ERR_CHECK(mpi_errno);
  CHECK_MAD(mad_type_resized(datatype->lb, datatype->extent, unbounded, out));

fn_exit:
  mad_type_release(unbounded);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
