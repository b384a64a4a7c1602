/* mad_struct.h: what MPICH's own datatype code asks the netmod about structs and lists
 * (mad_struct.c). */
#ifndef MAD_STRUCT_H_INCLUDED
#define MAD_STRUCT_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* What MPI_Type_create_struct, MPI_Type_commit and MPI_Type_free ask before they look at their
 * arguments, with what they were given.  True: that was a type of few fields (the first makes only
 * structs whose fields are all of basic types), or a proto datatype, and all is done. */
bool MPIDI_MAD_create_basic_struct(int count, const int* lengths, const MPI_Aint* displacements,
                                   const MPI_Datatype* types, MPI_Datatype* newtype);
bool MPIDI_MAD_commit(const MPI_Datatype* datatype);
bool MPIDI_MAD_free(MPI_Datatype* datatype);

/* The same for a struct of few fields of any types, from arguments that are right.  False: MPICH is
 * to make it; also where memory is short, which MPICH then finds out by itself. */
bool MPIDI_MAD_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                             const MPI_Datatype* types, MPI_Datatype* newtype);

/* A list of blocks of one type, by the arguments of the combiner's function. */
typedef struct {
  int combiner;
  int count;
  const int* lengths; /* NULL: all have `length` */
  int length;
  const int* places;             /* in elements; NULL: they are */
  const MPI_Aint* displacements; /* in bytes */
  MPI_Datatype type;
} MPIDI_MAD_list_t;

/* mad_list.c: the same for MPI_Type_indexed, MPI_Type_create_hindexed,
 * MPI_Type_create_indexed_block and MPI_Type_create_hindexed_block. */
bool MPIDI_MAD_create_list(const MPIDI_MAD_list_t* list, MPI_Datatype* newtype);

/* Gives such a type what MPICH's own datatype engine knows of a type, at its first use there. */
void MPIDI_MAD_complete_struct(MPIR_Datatype* datatype);

/* mad_pstruct.c: whether a handle is that of a proto datatype, which only MPI_Type_commit() and
 * MPI_Type_free() take; all others find that it is no datatype.  The second also frees it. */
bool MPIDI_MAD_is_pstruct(MPI_Datatype handle);
bool MPIDI_MAD_free_pstruct(MPI_Datatype* handle);

#endif /* MAD_STRUCT_H_INCLUDED */
