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

/* ---- values carried along ----
 *
 * A message can take a value along that is no part of its data: of any datatype, at most
 * MPIX_MAD_PIGGYBACK_MAX bytes packed.  Its receiver may ask for it; one that does not sees nothing
 * of it.  The two sides need not agree: neither on whether there is one, nor on its datatype.
 * Carried are messages of point-to-point communication in all modes, also to the sender itself, and
 * on request those that collective operations are built of; one-sided and partitioned communication
 * is not.
 */

#define MPIX_MAD_PIGGYBACK_MAX 256   /* bytes of a value */
#define MPIX_MAD_PIGGYBACK_KEPT 1024 /* values of received and probed messages that are kept */

/* Each message that this process sends on `comm` from now on takes along what the buffer has when
 * it is sent (a persistent one: started).  The buffer must stay until something else is attached,
 * or the communicator is freed; copies of the communicator have nothing attached.  `count` 0 or
 * `buffer` NULL: nothing any more.  More than MPIX_MAD_PIGGYBACK_MAX bytes are MPI_ERR_COUNT.
 *
 * Of collective operations, which may be built of messages, it says so if the communicator has the
 * info hint "mad_piggyback_collectives" = "true".
 *
 * On a communicator of one process this call, and the next and MPIX_Mad_send_oink(), come before
 * messages are under way there: from the first on they take another way inside of MPICH. */
int MPIX_Mad_piggyback_attach(MPI_Comm comm, const void* buffer, int count,
                              MPI_Datatype datatype) MPICH_API_PUBLIC;

/* What came with the message whose receive or probe gave this status; *bytes is its packed length,
 * or MPI_UNDEFINED if nothing came, and the buffer is as it was then.  What does not fit is left
 * out and is MPI_ERR_TRUNCATE.  Any number of times, as long as the process has received, or probed
 * with success, fewer than MPIX_MAD_PIGGYBACK_KEPT messages with values since, and MPI_ERR_ARG
 * later.  A status that MPI_Status_set_elements() changed has lost it.  A status has no
 * communicator: errors go to the error handler of MPI_COMM_WORLD. */
int MPIX_Mad_piggyback_get(const MPI_Status* status, void* buffer, int count, MPI_Datatype datatype,
                           int* bytes) MPICH_API_PUBLIC;

/* `function` is called when a message was received on `comm`, before its receive is complete to
 * anybody else, with the status that it has: `value` are `bytes` of what came along, packed and
 * valid during the call, or NULL and 0 if nothing came.  `collective`: the message is one of a
 * collective operation (only with the hint above); its data are MPI's own.  Short operations in
 * shared memory are no messages, but where who sends has a value attached.  It may be called by any
 * thread that is inside of MPI, by one at a time, and calls no MPI itself.  NULL: nobody is called
 * any more. */
typedef void MPIX_Mad_piggyback_function(MPI_Comm comm, const MPI_Status* status, int collective,
                                         const void* value, int bytes, void* extra);
int MPIX_Mad_piggyback_callback(MPI_Comm comm, MPIX_Mad_piggyback_function* function,
                                void* extra) MPICH_API_PUBLIC;

/* MPI_Send() of a message that takes this value along, whatever is attached to the communicator;
 * and MPI_Recv() with MPIX_Mad_piggyback_get(). */
int MPIX_Mad_send_oink(const void* buf, int count, MPI_Datatype datatype, int dest, int tag,
                       MPI_Comm comm, const void* pb_buf, MPI_Datatype pb_dt,
                       int pb_count) MPICH_API_PUBLIC;
int MPIX_Mad_recv_oink(void* buf, int count, MPI_Datatype datatype, int source, int tag,
                       MPI_Comm comm, MPI_Status* status, void* pb_buf, MPI_Datatype pb_dt,
                       int pb_count) MPICH_API_PUBLIC;

#if defined(__cplusplus)
}
#endif

#endif /* MPIX_MAD_H_INCLUDED */
