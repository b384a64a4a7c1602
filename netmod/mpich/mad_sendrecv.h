/* mad_sendrecv.h: the send of MPI_Sendrecv, and of collectives that are built alike (mad_pt2pt.c).
 */
#ifndef MAD_SENDRECV_H_INCLUDED
#define MAD_SENDRECV_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* Whether the message has left already, by the short way.  Called before the receive is posted,
 * which the process at the other side does not have to wait for.  Whatever is wrong is said by the
 * send that follows where this is false. */
bool MPIDI_MAD_sent_ahead(const void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                          MPIR_Comm* comm, int context_offset);

#endif /* MAD_SENDRECV_H_INCLUDED */
