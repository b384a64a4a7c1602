/* mpix_mad.h: the application's side of the switch between data paths on ch4:mad.
 *
 * A data path says how one process treats the layout of its own noncontiguous memory when it sends
 * and receives.  It is a local choice per communicator; the two sides of a message need not agree.
 *
 *   auto      planned from the layout's shape and the fabric
 *   gather    every block referenced in place, in as many packets as needed
 *   hybrid    short blocks copied together, long blocks referenced
 *   pipeline  everything copied, chunk by chunk
 *   pack      one buffer of the whole message, packed by libmad
 *   off       one buffer of the whole message, packed by MPICH as without this device
 *
 * What is in effect: the communicator attribute, else the info hint "mad_datatype_path", else the
 * control variable MPIR_CVAR_CH4_MAD_DATATYPE_PATH.  MPI_Comm_dup hands the attribute on.
 */
#ifndef MPIX_MAD_H_INCLUDED
#define MPIX_MAD_H_INCLUDED

#include <mpi.h>

#if defined(__cplusplus)
extern "C" {
#endif

#ifndef MPICH_API_PUBLIC
#define MPICH_API_PUBLIC
#endif

/* Room for any path's name and its terminating zero. */
#define MPIX_MAD_MAX_PATH_NAME 16

/* The key of the attribute, valid from MPI_Init to MPI_Finalize.  Its value is a `const char *`
 * that names a path; the string must outlive the attribute.  A wrong name fails the next send on
 * the communicator. */
int MPIX_Mad_get_keyval(int* keyval) MPICH_API_PUBLIC;

/* Sets the attribute; a wrong name changes nothing and fails with the list of the right ones. */
int MPIX_Mad_comm_set_path(MPI_Comm comm, const char* name) MPICH_API_PUBLIC;

/* The name of the path in effect on `comm`; `length` is the room in `name`. */
int MPIX_Mad_comm_get_path(MPI_Comm comm, char* name, int length) MPICH_API_PUBLIC;

/* ---- proto datatypes ---- */

/* A proto datatype is a struct of which some things are not known yet: where a field stands, of
 * which type it is, how many it has.  It is created once, and completed for each message, which
 * costs next to nothing: tools that send a value along with what somebody else sends know all of
 * their own field but its address.
 *
 * Said of a field that it is not known: */
#define MPIX_UNKNOWN ((MPI_Aint)((unsigned long long)1 << (8 * sizeof(MPI_Aint) - 1))) /* where */
#define MPIX_CNT_UNKNOWN (-2147483647 - 1) /* its blocklength */
#define MPIX_TYPE_UNKNOWN MPI_DATATYPE_NULL

/* Arguments as of MPI_Type_create_struct.  The handle may be committed, which changes nothing, and
 * is freed by MPI_Type_free(); every other use of it fails with MPI_ERR_TYPE. */
int MPIX_Type_create_pstruct(int count, const int blocklengths[], const MPI_Aint displacements[],
                             const MPI_Datatype types[], MPI_Datatype* proto) MPICH_API_PUBLIC;

/* `completed` is a struct, committed already, of the fields of `proto`, as many as it has: what
 * `proto` knows is its own, what it does not is taken from the arrays here.  It is freed by
 * MPI_Type_free(), before or after `proto`.  MPI_ERR_TYPE, MPI_ERR_COUNT or MPI_ERR_ARG, with the
 * field's number: something is still not known. */
int MPIX_Type_complete_pstruct(int count, const int blocklengths[], const MPI_Aint displacements[],
                               const MPI_Datatype types[], MPI_Datatype proto,
                               MPI_Datatype* completed) MPICH_API_PUBLIC;

int PMPIX_Type_create_pstruct(int count, const int blocklengths[], const MPI_Aint displacements[],
                              const MPI_Datatype types[], MPI_Datatype* proto) MPICH_API_PUBLIC;
int PMPIX_Type_complete_pstruct(int count, const int blocklengths[], const MPI_Aint displacements[],
                                const MPI_Datatype types[], MPI_Datatype proto,
                                MPI_Datatype* completed) MPICH_API_PUBLIC;

#if defined(__cplusplus)
}
#endif

#endif /* MPIX_MAD_H_INCLUDED */
