/* mad_direct.c: one-sided operations on memory that this process has: its own, and in windows that
 * MPICH allocates the memory of its neighbours on this node.
 *
 * They are done by the origin, at once, and complete when they return; but puts and gets of short
 * runs wait for others beside them until the next synchronisation, as columns of a matrix that are
 * put one by one.  Where the target's memory ends is known, hence nothing is written beside it.
 * Some others the kernel does (mad_kernel.c), and the rest are messages (mad_far.c).
 */
#include "mad_window.h"

/* A target's memory. */
typedef struct {
  char* base;
  MPI_Aint bytes; /* or ANY_BYTES: a dynamic window, whose addresses are absolute */
  MPI_Aint unit;  /* of displacements, in bytes */
  MPIDI_MAD_target_t* target;
} place_t;

enum { ANY_BYTES = -1 };

/* Whether the operation is to be done here. */
static bool find_place(MPIR_Win* win, int rank, MPIDI_winattr_t winattr, place_t* out) {
  if (winattr & MPIDI_WINATTR_SHM_ALLOCATED) {
    const int local = win->comm_ptr->intranode_table[rank];
    const MPIDIG_win_shared_info_t* info = MPIDIG_WIN(win, shared_table);

    if (local < 0) return false;
    *out = (place_t){info[local].shm_base_addr, (MPI_Aint)info[local].size,
                     (MPI_Aint)info[local].disp_unit, &win->dev.netmod.mad.shared->targets[local]};
    return true;
  }
  if (rank != win->comm_ptr->rank) return false;
  *out = (place_t){win->base, win->create_flavor == MPI_WIN_FLAVOR_DYNAMIC ? ANY_BYTES : win->size,
                   win->disp_unit, NULL};
  return true;
}

int MPIDI_MAD_begin_access(MPIR_Win* win, int rank) {
  int mpi_errno = MPI_SUCCESS;

  MPIDIG_RMA_OP_CHECK_SYNC(rank, win);
  if (unlikely(MPIDI_MAD_global.gone_peers > 0))
    mpi_errno = MPIDI_MAD_rank_error(rank, win->comm_ptr);

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Whether data that begin `offset` bytes after the place's base lie within it. */
static bool is_within(const place_t* place, MPI_Aint offset, const MPIDI_MAD_buffer_t* data,
                      const mad_type* type) {
  MPI_Aint low = 0, high, extent;
  mad_type_info info;

  if (type && mad_type_query(type, &info) == MAD_SUCCESS) { /* without members that have no bytes */
    low = info.true_lb;
    high = info.true_lb + info.true_extent;
    extent = info.extent;
  } else if (HANDLE_IS_BUILTIN(data->datatype)) {
    high = extent = MPIR_Datatype_get_basic_size(data->datatype);
  } else {
    MPIR_Datatype* object;
    MPIR_Datatype_get_ptr(data->datatype, object);
    low = object->true_lb;
    high = object->true_ub;
    extent = object->extent;
  }
  return MPIDI_MAD_fits(place->bytes, offset, low, high, extent, data->count);
}

/* Where the data are at the target. */
static int locate(const place_t* place, MPI_Aint displacement, const MPIDI_MAD_buffer_t* data,
                  MPIDI_MAD_layout_t* out) {
  int mpi_errno = MPI_SUCCESS;
  MPI_Aint offset;
  bool far = __builtin_mul_overflow(displacement, place->unit, &offset);

  mpi_errno = MPIDI_MAD_layout(MPIR_get_contig_ptr(place->base, far ? 0 : offset), data->count,
                               data->datatype, out);
  MPIR_ERR_CHECK(mpi_errno);
  if (out->bytes > 0 && place->bytes != ANY_BYTES)
    MPIR_ERR_CHKANDJUMP(far || !is_within(place, offset, data, out->type), mpi_errno,
                        MPI_ERR_RMA_RANGE, "**rmarange");

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static int copy(const MPIDI_MAD_layout_t* from, const MPIDI_MAD_layout_t* to) {
  int mpi_errno = MPIDI_MAD_copy_part(from, to, 0, MPL_MIN(from->bytes, to->bytes));

  if (unlikely(from->bytes > to->bytes) && mpi_errno == MPI_SUCCESS)
    MPIR_ERR_SET(mpi_errno, MPI_ERR_TRUNCATE, "**truncate");
  return mpi_errno;
}

/* ---- those that wait for others ---- */

void MPIDI_MAD_finish_copies(MPIR_Win* win) {
  MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);

  if (likely(shared == NULL || !shared->copies_wait)) return;
  mad_copies_finish(shared->copies);
  shared->copies_wait = false;
}

int MPIDI_MAD_win_sync(MPIR_Win* win) {
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  (void)MPIDI_MAD_complete_direct(win);
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return MPIDIG_mpi_win_sync(win);
}

/* Whether the copy waits from now on; else it is to be made, after those that do. */
static bool waits(MPIR_Win* win, const MPIDI_MAD_layout_t* from, const MPIDI_MAD_layout_t* to) {
  MPIDI_MAD_shared_t* shared = MPIDI_MAD_words_of(win);
  int taken = 0;

  if (shared == NULL || shared->copies == NULL) return false;
  if ((from->type || to->type) && from->bytes == to->bytes &&
      mad_copies_add(shared->copies, from->base, from->count, from->type, to->base, to->count,
                     to->type, &taken) == MAD_SUCCESS &&
      taken) {
    shared->copies_wait = true;
    return true;
  }
  return false;
}

/* ---- put and get ---- */

typedef enum { TO_TARGET, FROM_TARGET } direction_t;

static int move(direction_t direction, const MPIDI_MAD_buffer_t* origin, int rank,
                MPI_Aint displacement, const MPIDI_MAD_buffer_t* at_target, MPIR_Win* win,
                const place_t* place, bool may_wait) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_layout_t here, there;
  const MPIDI_MAD_layout_t* from = (direction == TO_TARGET) ? &here : &there;
  const MPIDI_MAD_layout_t* to = (direction == TO_TARGET) ? &there : &here;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = MPIDI_MAD_begin_access(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = MPIDI_MAD_layout(origin->address, origin->count, origin->datatype, &here);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = locate(place, displacement, at_target, &there);
  MPIR_ERR_CHECK(mpi_errno);
  if (here.bytes == 0 || there.bytes == 0 || (may_wait && waits(win, from, to))) goto fn_exit;
  MPIDI_MAD_finish_copies(win);
  mpi_errno = copy(from, to);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Of an operation that is done, or has failed.  To wait for a complete request makes no progress,
 * so a program that only does that gets it here. */
static int end_request(int mpi_errno, MPIR_Request** request) {
  if (request == NULL) return mpi_errno;
  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  if (mpi_errno == MPI_SUCCESS) mpi_errno = MPIDI_MAD_poll_sometimes();
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  *request = mpi_errno ? NULL : MPIR_Request_create_complete(MPIR_REQUEST_KIND__RMA);
  return mpi_errno;
}

int MPIDI_MAD_put(const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPIR_Win* win, MPIDI_winattr_t winattr,
                  MPIR_Request** request) {
  const MPIDI_MAD_buffer_t origin = {origin_addr, origin_count, origin_datatype};
  const MPIDI_MAD_buffer_t target = {NULL, target_count, target_datatype};
  place_t place;

  if (find_place(win, target_rank, winattr, &place))
    return end_request(
        move(TO_TARGET, &origin, target_rank, target_disp, &target, win, &place, request == NULL),
        request);
  if (MPIDI_MAD_by_kernel(true, &origin, target_rank, target_disp, &target, win))
    return end_request(MPI_SUCCESS, request);
  return MPIDI_MAD_far(true, &origin, target_rank, target_disp, &target, win, request);
}

int MPIDI_MAD_get(void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPIR_Win* win, MPIDI_winattr_t winattr,
                  MPIR_Request** request) {
  const MPIDI_MAD_buffer_t origin = {origin_addr, origin_count, origin_datatype};
  const MPIDI_MAD_buffer_t target = {NULL, target_count, target_datatype};
  place_t place;

  if (find_place(win, target_rank, winattr, &place))
    return end_request(
        move(FROM_TARGET, &origin, target_rank, target_disp, &target, win, &place, request == NULL),
        request);
  if (MPIDI_MAD_by_kernel(false, &origin, target_rank, target_disp, &target, win))
    return end_request(MPI_SUCCESS, request);
  return MPIDI_MAD_far(false, &origin, target_rank, target_disp, &target, win, request);
}

/* ---- atomic operations ---- */

/* MPI has only integers, logicals and bytes here; the result may take the place of what is
 * compared.
 */
static void compare_and_swap(const MPIDI_MAD_atomic_t* atomic, const MPIDI_MAD_layout_t* there) {
  const int equal = MPIR_Compare_equal(there->base, atomic->compare, atomic->target.datatype);

  MPIDI_MAD_copy_run(there->base, (void*)atomic->result.address, there->bytes);
  if (equal) MPIDI_MAD_copy_run(atomic->origin.address, there->base, there->bytes);
}

static int update(const MPIDI_MAD_atomic_t* atomic, int rank, MPIR_Win* win, const place_t* place) {
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_layout_t there, from, before;
  MPI_Datatype element;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = MPIDI_MAD_begin_access(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = locate(place, atomic->displacement, &atomic->target, &there);
  MPIR_ERR_CHECK(mpi_errno);
  if (there.bytes == 0) goto fn_exit;
  mpi_errno = MPIDI_MAD_operands(atomic, &there, &from, &before, &element);
  MPIR_ERR_CHECK(mpi_errno);

  MPIDI_MAD_finish_copies(win);
  MPIDI_MAD_enter(place->target);
  if (atomic->compare) {
    compare_and_swap(atomic, &there);
  } else {
    if (before.bytes > 0) mpi_errno = MPIDI_MAD_copy_part(&there, &before, 0, there.bytes);
    if (mpi_errno == MPI_SUCCESS && from.bytes > 0)
      mpi_errno = MPIDI_MAD_combine(atomic->op, element, &from, &there, 0, there.bytes);
  }
  MPIDI_MAD_leave(place->target);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

/* Whether it is of one element of one of the language's types, on all sides. */
static inline bool is_element(const MPIDI_MAD_atomic_t* atomic) {
  const MPIDI_MAD_buffer_t *origin = &atomic->origin, *result = &atomic->result;
  const MPIDI_MAD_buffer_t* target = &atomic->target;

  return target->count == 1 && HANDLE_IS_BUILTIN(target->datatype) &&
         MPIR_Datatype_get_basic_size(target->datatype) > 0 &&
         (atomic->op == MPI_NO_OP ||
          (origin->count == 1 && origin->datatype == target->datatype)) &&
         (!atomic->fetches || (result->count == 1 && result->datatype == target->datatype));
}

/* What is at `there` becomes what the operator makes of it and of the origin's. */
static inline void combine_element(const MPIDI_MAD_atomic_t* atomic, void* there, MPI_Aint bytes) {
  MPI_Datatype datatype = atomic->target.datatype;
  MPI_Aint count = 1;

  if (atomic->op == MPI_REPLACE)
    MPIDI_MAD_copy_run(atomic->origin.address, there, (size_t)bytes);
  else if (atomic->op != MPI_NO_OP)
    (*MPIR_OP_HDL_TO_FN(atomic->op))((void*)atomic->origin.address, there, &count, &datatype);
}

/* update(), without layouts. */
static inline int update_element(const MPIDI_MAD_atomic_t* atomic, int rank, MPIR_Win* win,
                                 const place_t* place) {
  const MPI_Aint bytes = MPIR_Datatype_get_basic_size(atomic->target.datatype);
  const bool combines = !atomic->compare && atomic->op != MPI_REPLACE && atomic->op != MPI_NO_OP;
  int mpi_errno = MPI_SUCCESS;
  MPIDI_MAD_layout_t there = {NULL, (uint64_t)bytes, NULL, (uint64_t)bytes};
  MPI_Aint offset;
  bool far;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  mpi_errno = MPIDI_MAD_begin_access(win, rank);
  MPIR_ERR_CHECK(mpi_errno);
  far = __builtin_mul_overflow(atomic->displacement, place->unit, &offset);
  MPIR_ERR_CHKANDJUMP(
      place->bytes != ANY_BYTES && (far || offset < 0 || offset > place->bytes - bytes), mpi_errno,
      MPI_ERR_RMA_RANGE, "**rmarange");
  there.base = MPIR_get_contig_ptr(place->base, offset);
  if (combines) {
    mpi_errno = (*MPIR_OP_HDL_TO_DTYPE_FN(atomic->op))(atomic->target.datatype);
    MPIR_ERR_CHECK(mpi_errno);
  }

  MPIDI_MAD_finish_copies(win);
  MPIDI_MAD_enter(place->target);
  if (atomic->compare) {
    compare_and_swap(atomic, &there);
  } else {
    if (atomic->fetches)
      MPIDI_MAD_copy_run(there.base, (void*)atomic->result.address, (size_t)bytes);
    combine_element(atomic, there.base, bytes);
  }
  MPIDI_MAD_leave(place->target);

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

static inline int update_or_send(const MPIDI_MAD_atomic_t* atomic, int rank, MPIR_Win* win,
                                 MPIDI_winattr_t winattr, MPIR_Request** request) {
  place_t place;

  if (!find_place(win, rank, winattr, &place))
    return MPIDI_MAD_far_atomic(atomic, rank, win, request);
  return end_request(is_element(atomic) ? update_element(atomic, rank, win, &place)
                                        : update(atomic, rank, win, &place),
                     request);
}

int MPIDI_MAD_accumulate(const void* origin_addr, int origin_count, MPI_Datatype origin_datatype,
                         int target_rank, MPI_Aint target_disp, int target_count,
                         MPI_Datatype target_datatype, MPI_Op op, MPIR_Win* win,
                         MPIDI_winattr_t winattr, MPIR_Request** request) {
  const MPIDI_MAD_atomic_t atomic = {.origin = {origin_addr, origin_count, origin_datatype},
                                     .target = {NULL, target_count, target_datatype},
                                     .displacement = target_disp,
                                     .op = origin_count == 0 ? MPI_NO_OP : op};

  return update_or_send(&atomic, target_rank, win, winattr, request);
}

int MPIDI_MAD_get_accumulate(const void* origin_addr, int origin_count,
                             MPI_Datatype origin_datatype, void* result_addr, int result_count,
                             MPI_Datatype result_datatype, int target_rank, MPI_Aint target_disp,
                             int target_count, MPI_Datatype target_datatype, MPI_Op op,
                             MPIR_Win* win, MPIDI_winattr_t winattr, MPIR_Request** request) {
  const MPIDI_MAD_atomic_t atomic = {.origin = {origin_addr, origin_count, origin_datatype},
                                     .result = {result_addr, result_count, result_datatype},
                                     .target = {NULL, target_count, target_datatype},
                                     .displacement = target_disp,
                                     .op = origin_count == 0 ? MPI_NO_OP : op,
                                     .fetches = true};

  return update_or_send(&atomic, target_rank, win, winattr, request);
}

int MPIDI_MAD_fetch_and_op(const void* origin_addr, void* result_addr, MPI_Datatype datatype,
                           int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win* win,
                           MPIDI_winattr_t winattr) {
  const MPIDI_MAD_atomic_t atomic = {.origin = {origin_addr, 1, datatype},
                                     .result = {result_addr, 1, datatype},
                                     .target = {NULL, 1, datatype},
                                     .displacement = target_disp,
                                     .op = op,
                                     .fetches = true};

  return update_or_send(&atomic, target_rank, win, winattr, NULL);
}

int MPIDI_MAD_compare_and_swap(const void* origin_addr, const void* compare_addr, void* result_addr,
                               MPI_Datatype datatype, int target_rank, MPI_Aint target_disp,
                               MPIR_Win* win, MPIDI_winattr_t winattr) {
  const MPIDI_MAD_atomic_t atomic = {.origin = {origin_addr, 1, datatype},
                                     .result = {result_addr, 1, datatype},
                                     .target = {NULL, 1, datatype},
                                     .displacement = target_disp,
                                     .compare = compare_addr,
                                     .op = MPI_OP_NULL,
                                     .fetches = true};

  return update_or_send(&atomic, target_rank, win, winattr, NULL);
}
