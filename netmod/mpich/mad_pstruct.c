/* mad_pstruct.c: proto datatypes, structs of which some of the fields are not known yet.
 *
 * A proto datatype is no datatype of MPICH's: its handle is of a block that MPICH never fills, so
 * that whoever uses it before it is completed gets MPICH's error for a handle that is none.
 */
#include "mad_core.h"
#include "mad_struct.h"
#include "mpix_mad.h"

/* The first block of handles that MPICH does not use, and how many proto datatypes the rest has. */
enum {
  FIRST_BLOCK = HANDLE_NUM_BLOCKS,
  MOST = (0x4000 - HANDLE_NUM_BLOCKS) << HANDLE_INDIRECT_SHIFT
};

/* One allocation, arrays included. */
typedef struct {
  int count;
  int* lengths;
  MPI_Aint* displacements;
  MPI_Datatype* types;
} pstruct_t;

/* By the handle's number; places of those that were freed are NULL. */
static struct {
  pstruct_t** all;
  int count, room;
} known;

static MPI_Datatype handle_of(int number) {
  const unsigned first = ((unsigned)HANDLE_KIND_INDIRECT << HANDLE_KIND_SHIFT) |
                         ((unsigned)MPIR_DATATYPE << HANDLE_MPI_KIND_SHIFT) |
                         ((unsigned)FIRST_BLOCK << HANDLE_INDIRECT_SHIFT);

  return (MPI_Datatype)(first + (unsigned)number);
}

static pstruct_t* find(MPI_Datatype handle) {
  const unsigned number = (unsigned)handle - (unsigned)handle_of(0);

  return number < (unsigned)known.count ? known.all[number] : NULL;
}

bool MPIDI_MAD_is_pstruct(MPI_Datatype handle) { return known.count > 0 && find(handle) != NULL; }

static void release_types(const pstruct_t* proto) {
  for (int i = 0; i < proto->count; i++)
    if (proto->types[i] != MPIX_TYPE_UNKNOWN) MPIR_Datatype_release_if_not_builtin(proto->types[i]);
}

bool MPIDI_MAD_free_pstruct(MPI_Datatype* handle) {
  pstruct_t* proto = find(*handle);

  if (proto == NULL) return false;
  known.all[(unsigned)*handle - (unsigned)handle_of(0)] = NULL;
  release_types(proto);
  MPL_free(proto);
  *handle = MPI_DATATYPE_NULL;
  while (known.count > 0 && known.all[known.count - 1] == NULL) known.count--;
  if (known.count == 0) {
    MPL_free(known.all);
    known.all = NULL;
    known.room = 0;
  }
  return true;
}

/* A place without a proto datatype; below 0: there is none. */
static int free_place(void) {
  int place = 0, room;
  pstruct_t** all;

  while (place < known.count && known.all[place] != NULL) place++;
  if (place < known.room) return place;
  room = known.room ? 2 * known.room : 16;
  if (room > MOST) return -1;
  all = MPL_realloc(known.all, room * sizeof(*all), MPL_MEM_DATATYPE);
  if (all == NULL) return -1;
  known.all = all;
  known.room = room;
  return place;
}

static pstruct_t* copy_of(int count, const int* lengths, const MPI_Aint* displacements,
                          const MPI_Datatype* types) {
  const size_t fields = (size_t)count;
  pstruct_t* proto =
      MPL_malloc(sizeof(*proto) + fields * (sizeof(MPI_Aint) + sizeof(int) + sizeof(MPI_Datatype)),
                 MPL_MEM_DATATYPE);

  if (proto == NULL) return NULL;
  proto->count = count;
  proto->displacements = (MPI_Aint*)(proto + 1);
  proto->lengths = (int*)(proto->displacements + fields);
  proto->types = (MPI_Datatype*)(proto->lengths + fields);
  memcpy(proto->displacements, displacements, fields * sizeof(MPI_Aint));
  memcpy(proto->lengths, lengths, fields * sizeof(int));
  memcpy(proto->types, types, fields * sizeof(MPI_Datatype));
  return proto;
}

/* ---- what callers can get wrong ---- */

static int wrong(int errclass, const char* what, int field) {
  return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, errclass,
                              "**mad_pstruct", "**mad_pstruct %d %s", field, what);
}

static int check_arrays(int count, const int* lengths, const MPI_Aint* displacements,
                        const MPI_Datatype* types) {
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERRTEST_COUNT(count, mpi_errno);
  if (count > 0) {
    MPIR_ERRTEST_ARGNULL(lengths, "blocklengths", mpi_errno);
    MPIR_ERRTEST_ARGNULL(displacements, "displacements", mpi_errno);
    MPIR_ERRTEST_ARGNULL(types, "types", mpi_errno);
  }

fn_fail:
  return mpi_errno;
}

static int check_type(MPI_Datatype handle, int field) {
  MPIR_Datatype* datatype = NULL;

  if (HANDLE_GET_MPI_KIND(handle) == MPIR_DATATYPE &&
      HANDLE_GET_KIND(handle) != HANDLE_KIND_INVALID)
    MPIR_Datatype_get_ptr(handle, datatype);
  return datatype ? MPI_SUCCESS : wrong(MPI_ERR_TYPE, "its type is none", field);
}

/* ---- the application's functions ---- */

static int create(int count, const int* lengths, const MPI_Aint* displacements,
                  const MPI_Datatype* types, MPI_Datatype* proto) {
  int mpi_errno = check_arrays(count, lengths, displacements, types);
  int place;

  for (int i = 0; i < count && mpi_errno == MPI_SUCCESS; i++) {
    if (lengths[i] < 0 && lengths[i] != MPIX_CNT_UNKNOWN)
      mpi_errno = wrong(MPI_ERR_COUNT, "its blocklength is negative", i);
    else if (types[i] != MPIX_TYPE_UNKNOWN)
      mpi_errno = check_type(types[i], i);
  }
  MPIR_ERR_CHECK(mpi_errno);
  place = free_place();
  MPIR_ERR_CHKANDJUMP(place < 0, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  known.all[place] = copy_of(count, lengths, displacements, types);
  MPIR_ERR_CHKANDJUMP(known.all[place] == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  known.count = MPL_MAX(known.count, place + 1);
  for (int i = 0; i < count; i++)
    if (types[i] != MPIX_TYPE_UNKNOWN) MPIR_Datatype_add_ref_if_not_builtin(types[i]);
  *proto = handle_of(place);

fn_fail:
  return mpi_errno;
}

/* The known ones are the proto datatype's, the others the caller's. */
static int fill_in(const pstruct_t* proto, const int* lengths, const MPI_Aint* displacements,
                   const MPI_Datatype* types, int* all_lengths, MPI_Aint* all_displacements,
                   MPI_Datatype* all_types) {
  for (int i = 0; i < proto->count; i++) {
    all_lengths[i] = proto->lengths[i] == MPIX_CNT_UNKNOWN ? lengths[i] : proto->lengths[i];
    all_types[i] = proto->types[i] == MPIX_TYPE_UNKNOWN ? types[i] : proto->types[i];
    all_displacements[i] =
        proto->displacements[i] == MPIX_UNKNOWN ? displacements[i] : proto->displacements[i];
    if (unlikely(all_lengths[i] < 0))
      return wrong(MPI_ERR_COUNT,
                   all_lengths[i] == MPIX_CNT_UNKNOWN ? "its blocklength is still unknown"
                                                      : "its blocklength is negative",
                   i);
    if (unlikely(all_displacements[i] == MPIX_UNKNOWN))
      return wrong(MPI_ERR_ARG, "its displacement is still unknown", i);
    if (unlikely(all_types[i] == MPIX_TYPE_UNKNOWN))
      return wrong(MPI_ERR_TYPE, "its type is still unknown", i);
    if (!HANDLE_IS_BUILTIN(all_types[i]) && proto->types[i] == MPIX_TYPE_UNKNOWN) {
      const int mpi_errno = check_type(all_types[i], i);
      if (unlikely(mpi_errno)) return mpi_errno;
    }
  }
  return MPI_SUCCESS;
}

static int create_committed(int count, const int* lengths, const MPI_Aint* displacements,
                            const MPI_Datatype* types, MPI_Datatype* completed) {
  int mpi_errno = MPI_SUCCESS;
  MPIR_Datatype* made;

  if (MPIDI_MAD_create_basic_struct(count, lengths, displacements, types, completed)) {
    MPIR_Datatype_get_ptr(*completed, made);
    made->is_committed = 1; /* what is compiled of it is when it is needed */
    return MPI_SUCCESS;
  }
  mpi_errno = MPIR_Type_create_struct_impl(count, lengths, displacements, types, completed);
  return mpi_errno ? mpi_errno : MPIR_Type_commit_impl(completed);
}

static int complete(int count, const int* lengths, const MPI_Aint* displacements,
                    const MPI_Datatype* types, MPI_Datatype handle, MPI_Datatype* completed) {
  int mpi_errno = check_arrays(count, lengths, displacements, types);
  const pstruct_t* proto = find(handle);
  int few_lengths[MPIDI_MAD_FIELDS];
  MPI_Aint few_displacements[MPIDI_MAD_FIELDS];
  MPI_Datatype few_types[MPIDI_MAD_FIELDS];
  pstruct_t few = {count, few_lengths, few_displacements, few_types}, *all = &few;

  MPIR_ERR_CHECK(mpi_errno);
  MPIR_ERR_CHKANDJUMP(proto == NULL, mpi_errno, MPI_ERR_TYPE, "**mad_proto");
  MPIR_ERR_CHKANDJUMP2(count != proto->count, mpi_errno, MPI_ERR_COUNT, "**mad_fields",
                       "**mad_fields %d %d", count, proto->count);
  if (count > MPIDI_MAD_FIELDS) {
    all = copy_of(count, proto->lengths, proto->displacements, proto->types);
    MPIR_ERR_CHKANDJUMP(all == NULL, mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  }
  mpi_errno =
      fill_in(proto, lengths, displacements, types, all->lengths, all->displacements, all->types);
  if (mpi_errno == MPI_SUCCESS)
    mpi_errno = create_committed(count, all->lengths, all->displacements, all->types, completed);
  if (all != &few) MPL_free(all);

fn_fail:
  return mpi_errno;
}

#if defined(HAVE_PRAGMA_WEAK)
#pragma weak MPIX_Type_create_pstruct = PMPIX_Type_create_pstruct
#pragma weak MPIX_Type_complete_pstruct = PMPIX_Type_complete_pstruct
#elif defined(HAVE_WEAK_ATTRIBUTE)
int MPIX_Type_create_pstruct(int count, const int lengths[], const MPI_Aint displacements[],
                             const MPI_Datatype types[], MPI_Datatype* proto)
    __attribute__((weak, alias("PMPIX_Type_create_pstruct")));
int MPIX_Type_complete_pstruct(int count, const int lengths[], const MPI_Aint displacements[],
                               const MPI_Datatype types[], MPI_Datatype proto,
                               MPI_Datatype* completed)
    __attribute__((weak, alias("PMPIX_Type_complete_pstruct")));
#endif

int PMPIX_Type_create_pstruct(int count, const int lengths[], const MPI_Aint displacements[],
                              const MPI_Datatype types[], MPI_Datatype* proto) {
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  MPIR_ERRTEST_ARGNULL(proto, "proto", mpi_errno);
  mpi_errno = create(count, lengths, displacements, types, proto);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(NULL, __func__, mpi_errno);
  goto fn_exit;
}

int PMPIX_Type_complete_pstruct(int count, const int lengths[], const MPI_Aint displacements[],
                                const MPI_Datatype types[], MPI_Datatype proto,
                                MPI_Datatype* completed) {
  int mpi_errno = MPI_SUCCESS;

  MPIR_ERRTEST_INITIALIZED_ORDIE();
  MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  MPIR_ERRTEST_ARGNULL(completed, "completed", mpi_errno);
  mpi_errno = complete(count, lengths, displacements, types, proto, completed);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
  return mpi_errno;
fn_fail:
  mpi_errno = MPIR_Err_return_comm(NULL, __func__, mpi_errno);
  goto fn_exit;
}
