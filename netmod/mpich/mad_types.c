/* mad_types.c: compiled layouts of MPI datatypes, buffers as libmad sees them, and what MPICH moves
 * between them within this process.
 *
 * A layout is compiled at MPI_Type_commit, or at first use for types that MPICH makes without
 * committing them, and for structs of few fields (mad_struct.c).  libmad counts references, so a
 * type may be freed while its messages are in flight.
 */
#include <pthread.h>

#include "mad_core.h"
#include "mad_fields.h"
#include "mad_pack.h"

static int compile(MPIR_Datatype* datatype, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;
  mad_type* type = NULL;
  mad_type_info info;
  int status;

  mpi_errno = MPIDI_MAD_translate(datatype, &type);
  MPIR_ERR_CHECK(mpi_errno);
  status = mad_type_commit(type);
  if (status >= 0) status = mad_type_query(type, &info);
  if (status < 0) {
    mpi_errno = MPIDI_MAD_error(status);
    goto fn_fail;
  }
  /* The two sides of a message must agree on its size, so a difference must not get further. */
  MPIR_ERR_CHKANDJUMP(
      info.size != (uint64_t)datatype->size || (info.size > 0 && info.extent != datatype->extent),
      mpi_errno, MPI_ERR_INTERN, "**mad_type");
  *out = type;

fn_exit:
  return mpi_errno;
fn_fail:
  mad_type_release(type);
  goto fn_exit;
}

/* MPI_Pack holds none of MPICH's locks, and may be the first that needs the type. */
static int compile_once(MPIR_Datatype* datatype) {
  static pthread_mutex_t compiling = PTHREAD_MUTEX_INITIALIZER;
  MPIDI_MAD_dt_t* slot = MPIDI_MAD_DT(datatype);
  int mpi_errno = MPI_SUCCESS;

  pthread_mutex_lock(&compiling);
  if (!MPIDI_MAD_is_compiled(datatype)) {
    mpi_errno = compile(datatype, &slot->type);
    if (mpi_errno == MPI_SUCCESS)
      __atomic_store_n(&slot->seal, (const void*)slot, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&compiling);
  return mpi_errno;
}

int MPIDI_MAD_type_of(MPIR_Datatype* datatype, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;

  if (!MPIDI_MAD_is_compiled(datatype)) {
    mpi_errno = compile_once(datatype);
    MPIR_ERR_CHECK(mpi_errno);
  }
  *out = MPIDI_MAD_DT(datatype)->type;

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_layout(const void* buf, MPI_Aint count, MPI_Datatype datatype,
                     MPIDI_MAD_layout_t* out) {
  int mpi_errno = MPI_SUCCESS;
  int is_contiguous;
  MPI_Aint bytes, true_lb;
  MPIR_Datatype* object;
  mad_type* type = NULL;

  if (count == 0) { /* MPICH also says "nothing" with no datatype at all */
    *out = (MPIDI_MAD_layout_t){(void*)buf, 0, NULL, 0};
    return MPI_SUCCESS;
  }
  MPIDI_Datatype_get_info(count, datatype, is_contiguous, bytes, object, true_lb);
  if (is_contiguous || bytes == 0) {
    out->base = MPIR_get_contig_ptr(buf, true_lb);
    out->count = (uint64_t)bytes;
  } else {
    mpi_errno = MPIDI_MAD_type_of(object, &type);
    MPIR_ERR_CHECK(mpi_errno);
    out->base = (void*)buf;
    out->count = (uint64_t)count;
  }
  out->type = type;
  out->bytes = (uint64_t)bytes;

fn_exit:
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_mpi_type_commit_hook(MPIR_Datatype* datatype) {
  mad_type* type;

  /* Types that are one run are sent as bytes, and types of few fields may never be needed. */
  if (datatype->is_contig) return MPI_SUCCESS;
  if (datatype->contents == NULL) return MPI_SUCCESS; /* MPI_Type_dup() gives it them afterwards */
  if (MPIDI_MAD_has_fields(datatype) && datatype->size <= MPIDI_MAD_FIELDS_BYTES)
    return MPI_SUCCESS;
  return MPIDI_MAD_type_of(datatype, &type);
}

int MPIDI_MAD_mpi_type_free_hook(MPIR_Datatype* datatype) {
  if (MPIDI_MAD_is_compiled(datatype)) {
    mad_type_release(MPIDI_MAD_DT(datatype)->type);
    MPIDI_MAD_DT(datatype)->type = NULL;
    MPIDI_MAD_DT(datatype)->seal = NULL;
  }
  MPIDI_MAD_free_fields(datatype);
  return MPI_SUCCESS;
}

/* ---- within this process ---- */

uint64_t MPIDI_MAD_local_bytes;

/* Threads that do so at the same moment may count for one. */
static void count_bytes(uint64_t bytes) {
  const uint64_t before = __atomic_load_n(&MPIDI_MAD_local_bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&MPIDI_MAD_local_bytes, before + bytes, __ATOMIC_RELAXED);
}

static bool is_mpichs(void) { return MPIDI_MAD_global.default_path == MAD_PATH_OFF; }

static bool on_host(const void* memory) {
  MPL_pointer_attr_t attributes;

  if (MPIR_GPU_query_pointer_attr(memory, &attributes) != MPI_SUCCESS) return false;
  return attributes.type == MPL_GPU_POINTER_UNREGISTERED_HOST ||
         attributes.type == MPL_GPU_POINTER_REGISTERED_HOST;
}

/* A part of some elements of a derived datatype. */
typedef struct {
  MPIDI_MAD_layout_t layout;
  uint64_t offset, bytes; /* in the packed stream */
} part_t;

/* At most `most` bytes from `offset` on; false: MPICH is to move them. */
static bool find_part(const void* buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset,
                      MPI_Aint most, part_t* part) {
  MPIR_Datatype* object;
  uint64_t end;

  if (MPIDI_MAD_layout(buf, count, datatype, &part->layout) != MPI_SUCCESS) return false;
  part->offset = (uint64_t)offset;
  if (part->offset >= part->layout.bytes || most <= 0) return false;
  part->bytes = MPL_MIN((uint64_t)most, part->layout.bytes - part->offset);
  end = part->offset + part->bytes;
  MPIR_Datatype_get_ptr(datatype, object);
  if (end < part->layout.bytes &&
      (object->builtin_element_size <= 0 || end % (uint64_t)object->builtin_element_size != 0))
    return false;
  return on_host(part->layout.type ? MPIR_get_contig_ptr(buf, object->true_lb) : part->layout.base);
}

static bool moves_fields(MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset, MPI_Aint most) {
  MPI_Aint size;

  if (offset != 0 || !MPIDI_MAD_by_fields(count, datatype)) return false;
  MPIR_Datatype_get_size_macro(datatype, size);
  return count * size <= most;
}

static bool pack(const void* buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset,
                 void* packed, MPI_Aint room, MPI_Aint* bytes) {
  part_t part;
  size_t moved;

  if (is_mpichs() || !on_host(packed)) return false;
  if (moves_fields(count, datatype, offset, room))
    return MPIDI_MAD_pack_fields(buf, count, datatype, packed, bytes) == MPI_SUCCESS;
  if (!find_part(buf, count, datatype, offset, room, &part)) return false;
  if (part.layout.type == NULL)
    memcpy(packed, (const char*)part.layout.base + part.offset, part.bytes);
  else if (mad_type_pack(part.layout.base, part.layout.count, part.layout.type, part.offset, packed,
                         part.bytes, &moved) < 0)
    return false;
  *bytes = (MPI_Aint)part.bytes;
  return true;
}

static bool unpack(const void* packed, MPI_Aint size, void* buf, MPI_Aint count,
                   MPI_Datatype datatype, MPI_Aint offset, MPI_Aint* bytes) {
  part_t part;
  size_t moved;

  if (is_mpichs() || !on_host(packed)) return false;
  if (moves_fields(count, datatype, offset, size)) {
    MPIR_Datatype_get_size_macro(datatype, *bytes);
    *bytes *= count;
    return MPIDI_MAD_unpack_fields(packed, *bytes, buf, count, datatype) == MPI_SUCCESS;
  }
  if (!find_part(buf, count, datatype, offset, size, &part)) return false;
  if (mad_type_unpack(part.layout.base, part.layout.count, part.layout.type, part.offset, packed,
                      part.bytes, &moved) < 0)
    return false;
  *bytes = (MPI_Aint)part.bytes;
  return true;
}

bool MPIDI_MAD_pack(const void* buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset,
                    void* packed, MPI_Aint room, MPI_Aint* bytes) {
  if (!pack(buf, count, datatype, offset, packed, room, bytes)) return false;
  count_bytes((uint64_t)*bytes);
  return true;
}

bool MPIDI_MAD_unpack(const void* packed, MPI_Aint size, void* buf, MPI_Aint count,
                      MPI_Datatype datatype, MPI_Aint offset, MPI_Aint* bytes) {
  if (!unpack(packed, size, buf, count, datatype, offset, bytes)) return false;
  count_bytes((uint64_t)*bytes);
  return true;
}

/* Types of few fields meet in a short buffer. */
static bool copy_fields(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                        void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint bytes) {
  char packed[MPIDI_MAD_FIELDS_BYTES];
  MPI_Aint moved = 0;

  if (!pack(sendbuf, sendcount, sendtype, 0, packed, bytes, &moved) || moved != bytes ||
      !unpack(packed, bytes, recvbuf, recvcount, recvtype, 0, &moved) || moved != bytes)
    return false;
  count_bytes((uint64_t)bytes);
  return true;
}

bool MPIDI_MAD_copy(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint bytes) {
  part_t from, to;
  size_t moved;

  if (is_mpichs()) return false;
  if (MPIDI_MAD_by_fields(sendcount, sendtype) || MPIDI_MAD_by_fields(recvcount, recvtype))
    return copy_fields(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, bytes);
  if (!find_part(sendbuf, sendcount, sendtype, 0, bytes, &from) ||
      !find_part(recvbuf, recvcount, recvtype, 0, bytes, &to) ||
      mad_type_copy(from.layout.base, from.layout.count, from.layout.type, to.layout.base,
                    to.layout.count, to.layout.type, 0, (size_t)bytes, &moved) < 0)
    return false;
  count_bytes((uint64_t)bytes);
  return true;
}

/* MPICH's nonblocking functions are left to its own engine. */

int MPIDI_MAD_pack_by_mpich(const void* buf, MPI_Aint count, MPI_Datatype datatype, void* packed,
                            MPI_Aint room, MPI_Aint* bytes) {
  MPIR_Typerep_req request = MPIR_TYPEREP_REQ_NULL;
  const int mpi_errno = MPIR_Typerep_ipack(buf, count, datatype, 0, packed, room, bytes, &request);

  return mpi_errno ? mpi_errno : MPIR_Typerep_wait(request);
}

int MPIDI_MAD_unpack_by_mpich(const void* packed, MPI_Aint size, void* buf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Aint* bytes) {
  MPIR_Typerep_req request = MPIR_TYPEREP_REQ_NULL;
  const int mpi_errno =
      MPIR_Typerep_iunpack(packed, size, buf, count, datatype, 0, bytes, &request);

  return mpi_errno ? mpi_errno : MPIR_Typerep_wait(request);
}
