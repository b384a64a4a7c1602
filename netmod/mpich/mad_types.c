/* mad_types.c: compiled layouts of MPI datatypes, and buffers as libmad sees them.
 *
 * A layout is compiled at MPI_Type_commit, or at first use for types that MPICH makes without
 * committing them, and for structs of few fields (mad_struct.c).  libmad counts references, so a
 * type may be freed while its messages are in flight.
 */
#include "mad_core.h"

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

int MPIDI_MAD_type_of(MPIR_Datatype* datatype, mad_type** out) {
  int mpi_errno = MPI_SUCCESS;

  if (!MPIDI_MAD_is_compiled(datatype)) {
    mpi_errno = compile(datatype, &MPIDI_MAD_DT(datatype)->type);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_MAD_DT(datatype)->seal = MPIDI_MAD_DT(datatype);
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

  /* Types that are one run are sent as bytes, and structs of few fields may never be needed. */
  if (datatype->is_contig || MPIDI_MAD_by_fields(1, datatype->handle)) return MPI_SUCCESS;
  return MPIDI_MAD_type_of(datatype, &type);
}

int MPIDI_MAD_mpi_type_free_hook(MPIR_Datatype* datatype) {
  if (MPIDI_MAD_is_compiled(datatype)) {
    mad_type_release(MPIDI_MAD_DT(datatype)->type);
    MPIDI_MAD_DT(datatype)->type = NULL;
    MPIDI_MAD_DT(datatype)->seal = NULL;
  }
  return MPI_SUCCESS;
}
