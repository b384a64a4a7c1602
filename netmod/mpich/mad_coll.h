/* mad_coll.h: blocking collective operations are MPICH's generic ones, but for short ones of one
 * node (mad_board.h), some longer ones (mad_exchange.h) and those with neighbours
 * (mad_neighbor.h).
 *
 * What they send inside is often packed, as bytes.  So where types are checked (mad_check.c) the
 * messages of an operation say of what type the operation is, for those that have one type on all
 * ranks.
 */
#ifndef MAD_COLL_H_INCLUDED
#define MAD_COLL_H_INCLUDED

#include "mad_board.h"
#include "mad_exchange.h"
#include "mad_impl.h"

/* MPICH has all functions in one header; these of them are ours. */
#define MPIDI_NM_mpi_barrier MPIDI_MAD_generic_barrier
#define MPIDI_NM_mpi_bcast MPIDI_MAD_generic_bcast
#define MPIDI_NM_mpi_gather MPIDI_MAD_generic_gather
#define MPIDI_NM_mpi_scatter MPIDI_MAD_generic_scatter
#define MPIDI_NM_mpi_allgather MPIDI_MAD_generic_allgather
#define MPIDI_NM_mpi_alltoall MPIDI_MAD_generic_alltoall
#define MPIDI_NM_mpi_reduce MPIDI_MAD_generic_reduce
#define MPIDI_NM_mpi_allreduce MPIDI_MAD_generic_allreduce
#define MPIDI_NM_mpi_reduce_scatter_block MPIDI_MAD_generic_reduce_scatter_block
#define MPIDI_NM_mpi_scan MPIDI_MAD_generic_scan
#define MPIDI_NM_mpi_exscan MPIDI_MAD_generic_exscan
#define MPIDI_NM_mpi_neighbor_allgather MPIDI_MAD_generic_neighbor_allgather
#define MPIDI_NM_mpi_neighbor_allgatherv MPIDI_MAD_generic_neighbor_allgatherv
#define MPIDI_NM_mpi_neighbor_alltoall MPIDI_MAD_generic_neighbor_alltoall
#define MPIDI_NM_mpi_neighbor_alltoallv MPIDI_MAD_generic_neighbor_alltoallv
#define MPIDI_NM_mpi_neighbor_alltoallw MPIDI_MAD_generic_neighbor_alltoallw
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_bcast
#undef MPIDI_NM_mpi_gather
#undef MPIDI_NM_mpi_scatter
#undef MPIDI_NM_mpi_allgather
#undef MPIDI_NM_mpi_alltoall
#undef MPIDI_NM_mpi_reduce
#undef MPIDI_NM_mpi_allreduce
#undef MPIDI_NM_mpi_reduce_scatter_block
#undef MPIDI_NM_mpi_scan
#undef MPIDI_NM_mpi_exscan
#undef MPIDI_NM_mpi_neighbor_allgather
#undef MPIDI_NM_mpi_neighbor_allgatherv
#undef MPIDI_NM_mpi_neighbor_alltoall
#undef MPIDI_NM_mpi_neighbor_alltoallv
#undef MPIDI_NM_mpi_neighbor_alltoallw

/* Returns what `call_` does, an operation of `count_` elements of `datatype_`. */
#define MPIDI_MAD_RETURN_TYPED(comm_, count_, datatype_, call_)         \
  do {                                                                  \
    MPIDI_MAD_collective_t collective_;                                 \
    if (likely(!MPIDI_MAD_types_checked)) return call_;                 \
    MPIDI_MAD_collective_begin(comm_, count_, datatype_, &collective_); \
    return MPIDI_MAD_collective_end(&collective_, call_);               \
  } while (0)

/* Likewise, where the caller's `sendcount` of `sendtype` are `recvcount` of `recvtype` if `own_`:
 * it sends itself some. */
#define MPIDI_MAD_RETURN_TYPED_TWICE(comm_, count_, datatype_, own_, call_)                     \
  do {                                                                                          \
    MPIDI_MAD_collective_t collective_;                                                         \
    if (likely(!MPIDI_MAD_types_checked)) return call_;                                         \
    MPIDI_MAD_collective_begin(comm_, count_, datatype_, &collective_);                         \
    if (own_) MPIDI_MAD_collective_own(&collective_, sendcount, sendtype, recvcount, recvtype); \
    return MPIDI_MAD_collective_end(&collective_, call_);                                       \
  } while (0)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm* comm, MPIR_Errflag_t* errflag) {
  int mpi_errno;
  if (MPIDI_MAD_board_barrier(comm, errflag, &mpi_errno)) return mpi_errno;
  return MPIDI_MAD_generic_barrier(comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_bcast(void* buffer, MPI_Aint count, MPI_Datatype datatype,
                                                int root, MPIR_Comm* comm,
                                                MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED(
      comm, count, datatype,
      MPIDI_MAD_board_bcast(buffer, count, datatype, root, comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_bcast(buffer, count, datatype, root, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_gather(const void* sendbuf, MPI_Aint sendcount,
                                                 MPI_Datatype sendtype, void* recvbuf,
                                                 MPI_Aint recvcount, MPI_Datatype recvtype,
                                                 int root, MPIR_Comm* comm,
                                                 MPIR_Errflag_t* errflag) {
  int mpi_errno;
  bool receives = (comm->rank == root);
  MPIDI_MAD_RETURN_TYPED_TWICE(
      comm, receives ? recvcount : sendcount, receives ? recvtype : sendtype,
      receives && sendbuf != MPI_IN_PLACE,
      MPIDI_MAD_board_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm,
                             errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                     root, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_scatter(const void* sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void* recvbuf,
                                                  MPI_Aint recvcount, MPI_Datatype recvtype,
                                                  int root, MPIR_Comm* comm,
                                                  MPIR_Errflag_t* errflag) {
  int mpi_errno;
  bool sends = (comm->rank == root);
  MPIDI_MAD_RETURN_TYPED_TWICE(
      comm, sends ? sendcount : recvcount, sends ? sendtype : recvtype,
      sends && recvbuf != MPI_IN_PLACE,
      MPIDI_MAD_board_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                              comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      root, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgather(const void* sendbuf, MPI_Aint sendcount,
                                                    MPI_Datatype sendtype, void* recvbuf,
                                                    MPI_Aint recvcount, MPI_Datatype recvtype,
                                                    MPIR_Comm* comm, MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED_TWICE(
      comm, recvcount, recvtype, sendbuf != MPI_IN_PLACE,
      MPIDI_MAD_board_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                errflag, &mpi_errno) ||
              MPIDI_MAD_exchange_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                           recvtype, comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                        comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoall(const void* sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void* recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   MPIR_Comm* comm, MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED_TWICE(
      comm, recvcount, recvtype, sendbuf != MPI_IN_PLACE,
      MPIDI_MAD_board_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                               errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                       comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                                                 MPI_Datatype datatype, MPI_Op op, int root,
                                                 MPIR_Comm* comm, MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED(
      comm, count, datatype,
      MPIDI_MAD_board_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag,
                             &mpi_errno) ||
              MPIDI_MAD_exchange_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag,
                                        &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void* sendbuf, void* recvbuf,
                                                    MPI_Aint count, MPI_Datatype datatype,
                                                    MPI_Op op, MPIR_Comm* comm,
                                                    MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED(
      comm, count, datatype,
      MPIDI_MAD_board_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce_scatter_block(const void* sendbuf, void* recvbuf,
                                                               MPI_Aint recvcount,
                                                               MPI_Datatype datatype, MPI_Op op,
                                                               MPIR_Comm* comm,
                                                               MPIR_Errflag_t* errflag) {
  MPIDI_MAD_RETURN_TYPED(comm, recvcount, datatype,
                         MPIDI_MAD_generic_reduce_scatter_block(sendbuf, recvbuf, recvcount,
                                                                datatype, op, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_scan(const void* sendbuf, void* recvbuf, MPI_Aint count,
                                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                                               MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED(
      comm, count, datatype,
      MPIDI_MAD_board_scan(sendbuf, recvbuf, count, datatype, op, comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_scan(sendbuf, recvbuf, count, datatype, op, comm, errflag));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_exscan(const void* sendbuf, void* recvbuf, MPI_Aint count,
                                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                                                 MPIR_Errflag_t* errflag) {
  int mpi_errno;
  MPIDI_MAD_RETURN_TYPED(
      comm, count, datatype,
      MPIDI_MAD_board_exscan(sendbuf, recvbuf, count, datatype, op, comm, errflag, &mpi_errno)
          ? mpi_errno
          : MPIDI_MAD_generic_exscan(sendbuf, recvbuf, count, datatype, op, comm, errflag));
}

#endif /* MAD_COLL_H_INCLUDED */
