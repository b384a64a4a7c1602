/* mad_sendrecv.h: sends and receives by the short way, without a request (mad_pt2pt.c). */
#ifndef MAD_SENDRECV_H_INCLUDED
#define MAD_SENDRECV_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* Whether a message of MPI_Sendrecv, or of a collective alike, has left already.  Called before the
 * receive is posted, which the process at the other side does not have to wait for.  Whatever is
 * wrong is said by the send that follows where this is false. */
bool MPIDI_MAD_sent_ahead(const void* buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                          MPIR_Comm* comm, int context_offset);

/* Whether a message was received that had come, or came within a moment.  Called by who waits for
 * it and for nothing else.  Whatever is wrong, or longer than the receive, is left to the receive
 * that follows where this is false.  `status`: may be ignored; of a collective's its error is set,
 * too. */
bool MPIDI_MAD_received(void* buf, MPI_Aint count, MPI_Datatype datatype, int source, int tag,
                        MPIR_Comm* comm, int context_offset, MPI_Status* status);

/* For who waits for a message, and for nothing else: whether one came within a moment.  It stays
 * where it arrived, for the receive that follows. */
int MPIDI_MAD_probe(int source, int tag, MPIR_Comm* comm, int context_offset, int* flag,
                    MPI_Status* status);

/* Whether MPI_Iprobe, which has found nothing, is to make progress: who asks again and again finds
 * the message where it arrived, if it is not taken from there first. */
bool MPIDI_MAD_iprobe_progresses(void);

#endif /* MAD_SENDRECV_H_INCLUDED */
