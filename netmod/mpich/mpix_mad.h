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

#if defined(__cplusplus)
}
#endif

#endif /* MPIX_MAD_H_INCLUDED */
