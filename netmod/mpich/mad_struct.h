/* mad_struct.h: what MPICH's own datatype code asks the netmod about structs (mad_struct.c). */
#ifndef MAD_STRUCT_H_INCLUDED
#define MAD_STRUCT_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* MPI_Type_create_struct for a struct of few fields.  False: MPICH is to make it; also where memory
 * is short, which MPICH then finds out by itself. */
bool MPIDI_MAD_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                             const MPI_Datatype* types, MPI_Datatype* newtype);

/* Gives such a struct what MPICH's own datatype engine knows of a type, at its first use there. */
void MPIDI_MAD_complete_struct(MPIR_Datatype* datatype);

/* Whether a handle is that of a proto datatype (mad_pstruct.c), which only MPI_Type_commit() and
 * MPI_Type_free() take; all others find that it is no datatype. */
bool MPIDI_MAD_is_pstruct(MPI_Datatype handle);
void MPIDI_MAD_free_pstruct(MPI_Datatype* handle);

#endif /* MAD_STRUCT_H_INCLUDED */
