/* mad_board.h: short collective operations of one node's processes, in memory that they share
 * (mad_board.c).
 *
 * Each function returns false where the operation is to go by messages, which then all ranks find;
 * else `*mpi_errno` is what the operation returns.
 */
#ifndef MAD_BOARD_H_INCLUDED
#define MAD_BOARD_H_INCLUDED

#include <mpiimpl.h>
#include <stdbool.h>

bool MPIDI_MAD_board_barrier(MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_bcast(void* buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_gather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                            MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_scatter(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                             MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_allgather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                               MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_alltoall(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_reduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                            MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_allreduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                               MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_scan(const void* sendbuf, void* recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno);
bool MPIDI_MAD_board_exscan(const void* sendbuf, void* recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                            MPIR_Errflag_t* errflag, int* mpi_errno);

void MPIDI_MAD_board_free(MPIR_Comm* comm);

#endif /* MAD_BOARD_H_INCLUDED */
