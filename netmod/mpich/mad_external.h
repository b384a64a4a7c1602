/* mad_external.h: MPI_Pack_external and its kin (mad_external.c).
 *
 * MPICH's own know one basic type in all of a datatype: structs ended the process, as did
 * MPI_WCHAR, and nobody looked at the room.
 */
#ifndef MAD_EXTERNAL_H_INCLUDED
#define MAD_EXTERNAL_H_INCLUDED

#include <mpiimpl.h>

/* The bytes that some elements are in external32. */
int MPIDI_MAD_external_size(const char* representation, MPI_Aint count, MPI_Datatype datatype,
                            MPI_Aint* size);

/* To and from `packed`, which has so many bytes of room, or of data, from `*position` on; that
 * moves by what was written, or read.  MPI_ERR_TRUNCATE, with nothing done, where it is too little;
 * MPI_ERR_CONVERSION where integers do not fit their place: these are 0, all others are there. */
int MPIDI_MAD_pack_external(const char* representation, const void* buf, MPI_Aint count,
                            MPI_Datatype datatype, void* packed, MPI_Aint room, MPI_Aint* position);
int MPIDI_MAD_unpack_external(const char* representation, const void* packed, MPI_Aint size,
                              MPI_Aint* position, void* buf, MPI_Aint count, MPI_Datatype datatype);

#endif /* MAD_EXTERNAL_H_INCLUDED */
