/* mad_exchange.h: longer collective operations that send the user's data from where they are
 * (mad_exchange.c).
 *
 * MPICH's algorithms first copy a rank's own part to where the result comes, or to memory of their
 * own, and send it from there.  What a core has just written another one reads slowly.
 *
 * Each function returns false where MPICH's algorithm is to be taken, as where the user chose one
 * by control variables; else `*mpi_errno` is what that returns.
 */
#ifndef MAD_EXCHANGE_H_INCLUDED
#define MAD_EXCHANGE_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

/* MPI_Allgather of two ranks, or of long parts within a node: all ranks find the same. */
bool MPIDI_MAD_exchange_allgather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                  MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);

/* MPI_Reduce by a binomial tree, of operations that are commutative.  A user's operation gets the
 * data that its rank sends themselves, not a copy. */
bool MPIDI_MAD_reduce_by_tree(const void* sendbuf, void* recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                              MPIR_Errflag_t* errflag, int* mpi_errno);

/* The same for few ranks, of one node or each of another. */
bool MPIDI_MAD_exchange_reduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                               MPIR_Errflag_t* errflag, int* mpi_errno);

#endif /* MAD_EXCHANGE_H_INCLUDED */
