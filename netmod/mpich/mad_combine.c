/* mad_combine.c: one-sided operations as work on two layouts: what is at one is copied to the
 * other, or combined with it, element by element. */
#include "mad_window.h"

/* Bytes of elements that are collected at a time where a layout has holes: both lists of them and
 * what they are read from stay in a core's first cache. */
enum { TILE_BYTES = 8192 };

/* What is longer is copied by libmad, which knows where the C library is slow. */
enum { SHORT_COPY_BYTES = 2048 };

/* Bytes of a run from which on an operator's call for it costs less than to collect it and put it
 * back; and runs that are looked up at a time. */
enum { LONG_RUN_BYTES = 256, RUNS_AT_ONCE = 32 };

int MPIDI_MAD_copy_part(const MPIDI_MAD_layout_t* from, const MPIDI_MAD_layout_t* to,
                        uint64_t first, uint64_t bytes) {
  size_t moved;
  int status;

  if (from->type == NULL && to->type == NULL) {
    char* place = (char*)to->base + first;
    if (from->base == to->base) return MPI_SUCCESS;
    if (bytes <= SHORT_COPY_BYTES) {
      MPIDI_MAD_copy_run((char*)from->base + first, place, bytes);
      return MPI_SUCCESS;
    }
  }
  status = mad_type_copy(from->base, from->count, from->type, to->base, to->count, to->type, first,
                         bytes, &moved);
  return likely(status >= 0) ? MPI_SUCCESS : MPIDI_MAD_error(status);
}

static void apply(MPI_Op op, MPI_Datatype element, const void* from, void* to, MPI_Aint count) {
  (*MPIR_OP_HDL_TO_FN(op))((void*)from, to, &count, &element);
}

/* Elements one after the other, as part of a layout that begins before them. */
typedef struct {
  const MPIDI_MAD_layout_t* element;
  MPI_Aint extent;
  uint64_t first, bytes; /* of the layout, packed */
} elements_t;

static MPIDI_MAD_layout_t list_of(const elements_t* elements, char* list) {
  const MPIDI_MAD_layout_t* element = elements->element;
  const uint64_t end = elements->first + elements->bytes;

  if (element->type == NULL) return (MPIDI_MAD_layout_t){list - elements->first, end, NULL, end};
  return (MPIDI_MAD_layout_t){
      list - (MPI_Aint)(elements->first / element->bytes) * elements->extent, end / element->bytes,
      element->type, end};
}

static bool is_list(const elements_t* elements, const MPIDI_MAD_layout_t* layout) {
  return layout->type == NULL && elements->element->type == NULL;
}

/* Where the elements are a list: in the layout, or in `list`, to which they are copied. */
static int find_list(const elements_t* elements, const MPIDI_MAD_layout_t* layout, char* list,
                     char** out) {
  const MPIDI_MAD_layout_t copy = list_of(elements, list);

  if (is_list(elements, layout)) {
    *out = (char*)layout->base + elements->first;
    return MPI_SUCCESS;
  }
  *out = list;
  return MPIDI_MAD_copy_part(layout, &copy, elements->first, elements->bytes);
}

/* Whether the operator is called for each run of the layout. */
static bool is_runs(const elements_t* elements, const MPIDI_MAD_layout_t* layout) {
  mad_type_info info;

  if (elements->element->type != NULL) return false;
  return layout->type == NULL || (mad_type_query(layout->type, &info) == MAD_SUCCESS &&
                                  info.size >= info.runs * LONG_RUN_BYTES);
}

/* The runs of a layout one after the other, from a packed byte on. */
typedef struct {
  const MPIDI_MAD_layout_t* layout;
  uint64_t next; /* packed bytes before the run that is looked up next */
  mad_run runs[RUNS_AT_ONCE];
  size_t found, at;
} runs_t;

static void start(runs_t* side, const MPIDI_MAD_layout_t* layout, uint64_t first) {
  side->layout = layout;
  side->next = first;
  side->found = side->at = 0;
}

/* What is left of the present run, looked up if there is none. */
static int find_run(runs_t* side, mad_run** out) {
  const MPIDI_MAD_layout_t* layout = side->layout;
  int status = MAD_SUCCESS;

  if (side->at == side->found) {
    side->at = 0;
    if (layout->type == NULL) {
      side->found = 1;
      side->runs[0] = (mad_run){(char*)layout->base + side->next, layout->bytes - side->next};
    } else {
      status = mad_type_runs(layout->base, layout->count, layout->type, side->next,
                             layout->bytes - side->next, side->runs, RUNS_AT_ONCE, &side->found);
    }
    if (status >= 0 && (side->found == 0 || side->runs[0].bytes == 0))
      status = MAD_ERR_INTERNAL; /* it said it had more */
    if (status < 0) return MPIDI_MAD_error(status);
    for (size_t i = 0; i < side->found; i++) side->next += side->runs[i].bytes;
  }
  *out = &side->runs[side->at];
  return MPI_SUCCESS;
}

static void advance(runs_t* side, size_t bytes) {
  mad_run* run = &side->runs[side->at];

  run->base = (char*)run->base + bytes;
  run->bytes -= bytes;
  if (run->bytes == 0) side->at++;
}

/* Each run of either is whole elements. */
static __attribute__((noinline)) int combine_runs(MPI_Op op, MPI_Datatype datatype,
                                                  const elements_t* elements,
                                                  const MPIDI_MAD_layout_t* from,
                                                  const MPIDI_MAD_layout_t* to) {
  runs_t source, target;
  int mpi_errno = MPI_SUCCESS;
  mad_run *read, *written;

  start(&source, from, elements->first);
  start(&target, to, elements->first);
  for (uint64_t left = elements->bytes; left > 0;) {
    size_t bytes;
    mpi_errno = find_run(&source, &read);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = find_run(&target, &written);
    MPIR_ERR_CHECK(mpi_errno);
    bytes = MPL_MIN(MPL_MIN(read->bytes, written->bytes), left);
    apply(op, datatype, read->base, written->base, (MPI_Aint)(bytes / elements->element->bytes));
    advance(&source, bytes);
    advance(&target, bytes);
    left -= bytes;
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static __attribute__((noinline)) int combine_tile(MPI_Op op, MPI_Datatype datatype,
                                                  const elements_t* elements,
                                                  const MPIDI_MAD_layout_t* from,
                                                  const MPIDI_MAD_layout_t* to) {
  _Alignas(64) char theirs[TILE_BYTES], ours[TILE_BYTES];
  const MPIDI_MAD_layout_t done = list_of(elements, ours);
  int mpi_errno = MPI_SUCCESS;
  char *source, *target;

  mpi_errno = find_list(elements, from, theirs, &source);
  MPIR_ERR_CHECK(mpi_errno);
  if (is_runs(elements, to)) {
    const MPIDI_MAD_layout_t list = list_of(elements, source);
    mpi_errno = combine_runs(op, datatype, elements, &list, to);
    goto fn_exit;
  }
  mpi_errno = find_list(elements, to, ours, &target);
  MPIR_ERR_CHECK(mpi_errno);
  apply(op, datatype, source, target, (MPI_Aint)(elements->bytes / elements->element->bytes));
  if (!is_list(elements, to))
    mpi_errno = MPIDI_MAD_copy_part(&done, to, elements->first, elements->bytes);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_combine(MPI_Op op, MPI_Datatype datatype, const MPIDI_MAD_layout_t* from,
                      const MPIDI_MAD_layout_t* to, uint64_t first, uint64_t bytes) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_layout_t element;
  elements_t elements = {.element = &element, .first = first};
  uint64_t step;

  if (op == MPI_REPLACE) return MPIDI_MAD_copy_part(from, to, first, bytes);
  mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(op))(datatype);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(NULL, 1, datatype, &element);
  MPIR_ERR_CHECK(mpi_errno);
  if (is_list(&elements, from) && is_list(&elements, to)) {
    apply(op, datatype, (char*)from->base + first, (char*)to->base + first,
          (MPI_Aint)(bytes / element.bytes));
    goto fn_exit;
  }
  if (is_runs(&elements, from) && is_runs(&elements, to)) {
    elements.bytes = bytes;
    mpi_errno = combine_runs(op, datatype, &elements, from, to);
    goto fn_exit;
  }
  MPIR_Datatype_get_extent_macro(datatype, elements.extent);
  step = TILE_BYTES / (uint64_t)elements.extent * element.bytes;
  for (uint64_t done = 0; done < bytes; done += elements.bytes) {
    elements.first = first + done;
    elements.bytes = MPL_MIN(step, bytes - done);
    mpi_errno = combine_tile(op, datatype, &elements, from, to);
    MPIR_ERR_CHECK(mpi_errno);
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int check_sizes(const MPIDI_MAD_layout_t* layout, const MPIDI_MAD_layout_t* there) {
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERR_CHKANDJUMP2(layout->bytes != there->bytes, mpi_errno, MPI_ERR_ARG, "**mad_rma_sizes",
                       "**mad_rma_sizes %d %d", (int)layout->bytes, (int)there->bytes);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* The predefined type of all elements, or MPI_DATATYPE_NULL. */
static MPI_Datatype element_of(MPI_Datatype datatype) {
  MPIR_Datatype* object;

  if (MPIR_DATATYPE_IS_PREDEFINED(datatype)) return datatype;
  MPIR_Datatype_get_ptr(datatype, object);
  return MPIR_DATATYPE_IS_PREDEFINED(object->basic_type) ? object->basic_type : MPI_DATATYPE_NULL;
}

int MPIDI_MAD_operands(const MPIDI_MAD_atomic_t* atomic, const MPIDI_MAD_layout_t* there,
                       MPIDI_MAD_layout_t* from, MPIDI_MAD_layout_t* before,
                       MPI_Datatype* element) {
  const MPIDI_MAD_buffer_t *origin = &atomic->origin, *result = &atomic->result;
  const bool replaces = (atomic->op == MPI_REPLACE || atomic->op == MPI_NO_OP);
  int mpi_errno = MPI_SUCCESS;

  *from = *before = (MPIDI_MAD_layout_t){NULL, 0, NULL, 0};
  *element = element_of(replaces ? atomic->target.datatype : origin->datatype);
  if (atomic->is_put || (*element == MPI_DATATYPE_NULL && replaces))
    *element = MPI_BYTE; /* they are only moved */
  MPIR_ERR_CHKANDJUMP(*element == MPI_DATATYPE_NULL, mpi_errno, MPI_ERR_TYPE, "**dtype");
  if (!replaces && !atomic->compare) { /* a target takes what does not fit for a lie */
    mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(atomic->op))(*element);
    MPIR_ERR_CHECK(mpi_errno);
  }
  if (atomic->op != MPI_NO_OP) {
    mpi_errno = MPIDI_MAD_layout(origin->address, origin->count, origin->datatype, from);
    MPIR_ERR_CHECK(mpi_errno);
    if (!atomic->is_put) mpi_errno = check_sizes(from, there);
    MPIR_ERR_CHECK(mpi_errno);
  }
  if (atomic->fetches) {
    mpi_errno = MPIDI_MAD_layout(result->address, result->count, result->datatype, before);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(before->bytes > 0 && before->bytes < there->bytes, mpi_errno,
                        MPI_ERR_TRUNCATE, "**truncate");
  }

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
