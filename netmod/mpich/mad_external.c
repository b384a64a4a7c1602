/* mad_external.c: MPI_Pack_external and its kin, by libmad's conversion between machines. */
#include "mad_external.h"

#include <string.h>

#include "mad_core.h"

/* Checks what the three have in common, and finds the type. */
static int begin(const char* representation, MPI_Datatype datatype, mad_type** type) {
  if (representation == NULL || strcmp(representation, "external32") != 0)
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_ARG,
                                "**mad_datarep", "**mad_datarep %s",
                                representation ? representation : "(null)");
  *type = MPIDI_MAD_kinds_of(datatype);
  return *type ? MPI_SUCCESS
               : MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                      MPI_ERR_TYPE, "**dtype", 0);
}

/* `bytes` are found, or were moved, unless `status` is an error; `*at` goes on by them. */
static int end(int status, uint64_t bytes, MPI_Aint* at) {
  if (status < 0) return MPIDI_MAD_error(status);
  *at += (MPI_Aint)bytes;
  return MPI_SUCCESS;
}

/* Bytes from `*position` on; none where that is before the beginning or beyond the end. */
static size_t left(MPI_Aint size, const MPI_Aint* position) {
  return *position >= 0 && size > *position ? (size_t)(size - *position) : 0;
}

int MPIDI_MAD_external_size(const char* representation, MPI_Aint count, MPI_Datatype datatype,
                            MPI_Aint* size) {
  mad_type* type;
  uint64_t bytes = 0;
  int status, mpi_errno = begin(representation, datatype, &type);

  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  *size = 0;
  status = mad_type_external_size(type, (uint64_t)count, &bytes);
  return end(status, bytes, size);
}

int MPIDI_MAD_pack_external(const char* representation, const void* buf, MPI_Aint count,
                            MPI_Datatype datatype, void* packed, MPI_Aint room,
                            MPI_Aint* position) {
  mad_type* type;
  uint64_t bytes = 0;
  int status, mpi_errno = begin(representation, datatype, &type);

  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  status = mad_type_pack_external(buf, (uint64_t)count, type, (char*)packed + *position,
                                  left(room, position), &bytes);
  return end(status, bytes, position);
}

int MPIDI_MAD_unpack_external(const char* representation, const void* packed, MPI_Aint size,
                              MPI_Aint* position, void* buf, MPI_Aint count,
                              MPI_Datatype datatype) {
  mad_type* type;
  uint64_t bytes = 0;
  int status, mpi_errno = begin(representation, datatype, &type);

  if (mpi_errno != MPI_SUCCESS) return mpi_errno;
  status = mad_type_unpack_external(buf, (uint64_t)count, type, (const char*)packed + *position,
                                    left(size, position), &bytes);
  return end(status, bytes, position);
}
