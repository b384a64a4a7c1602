/* mad_pack.h: what MPICH's own code has the netmod move between layouts of this process
 * (mad_types.c).
 *
 * Each function returns false, and has changed nothing that counts, where MPICH's own engine is to
 * do it: on path "off" of the control variable, for memory of other devices than the host, and
 * where not all basic elements are whole, which MPICH leaves where they are.
 */
#ifndef MAD_PACK_H_INCLUDED
#define MAD_PACK_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* Nothing, basic types, and what is one run: MPICH copies it at once; to pack it does so only if
 * all is of one basic type. */
static inline bool MPIDI_MAD_is_plain(MPI_Aint count, MPI_Datatype datatype, bool packing) {
  MPIR_Datatype* object;

  if (count == 0 || HANDLE_IS_BUILTIN(datatype)) return true;
  MPIR_Datatype_get_ptr(datatype, object);
  return object->is_contig && !(packing && object->basic_type == MPI_DATATYPE_NULL);
}

/* As MPIR_Typerep_pack() and MPIR_Typerep_unpack(), of what is not plain: offsets, room and sizes
 * are bytes of the packed stream. */
bool MPIDI_MAD_pack(const void* buf, MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset,
                    void* packed, MPI_Aint room, MPI_Aint* bytes);
bool MPIDI_MAD_unpack(const void* packed, MPI_Aint size, void* buf, MPI_Aint count,
                      MPI_Datatype datatype, MPI_Aint offset, MPI_Aint* bytes);

/* Copies the first `bytes` of the packed stream from one layout into another, as MPIR_Localcopy()
 * does; neither is contiguous. */
bool MPIDI_MAD_copy(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void* recvbuf,
                    MPI_Aint recvcount, MPI_Datatype recvtype, MPI_Aint bytes);

#endif /* MAD_PACK_H_INCLUDED */
