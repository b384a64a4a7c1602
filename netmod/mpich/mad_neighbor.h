/* mad_neighbor.h: blocking neighbourhood collective operations, forwarded to mad_neighbor.c. */
#ifndef MAD_NEIGHBOR_H_INCLUDED
#define MAD_NEIGHBOR_H_INCLUDED

#include "mad_impl.h"

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_MAD_extent(MPI_Datatype datatype) {
  MPI_Aint extent;

  MPIR_Datatype_get_extent_macro(datatype, extent);
  return extent;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_neighbor_allgather(
    const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void* recvbuf,
    MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm* comm) {
  const MPIDI_MAD_blocks_t out = {
      .base = (char*)sendbuf, .apart = 0, .count = sendcount, .type = sendtype};
  const MPIDI_MAD_blocks_t in = {.base = recvbuf,
                                 .apart = recvcount * MPIDI_MAD_extent(recvtype),
                                 .count = recvcount,
                                 .type = recvtype};

  return MPIDI_MAD_neighbor_exchange(&out, &in, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_neighbor_allgatherv(
    const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype, void* recvbuf,
    const MPI_Aint recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPIR_Comm* comm) {
  const MPIDI_MAD_blocks_t out = {
      .base = (char*)sendbuf, .apart = 0, .count = sendcount, .type = sendtype};
  const MPIDI_MAD_blocks_t in = {.base = recvbuf,
                                 .displs = displs,
                                 .apart = MPIDI_MAD_extent(recvtype),
                                 .counts = recvcounts,
                                 .type = recvtype};

  return MPIDI_MAD_neighbor_exchange(&out, &in, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_neighbor_alltoall(const void* sendbuf, MPI_Aint sendcount,
                                                            MPI_Datatype sendtype, void* recvbuf,
                                                            MPI_Aint recvcount,
                                                            MPI_Datatype recvtype,
                                                            MPIR_Comm* comm) {
  const MPIDI_MAD_blocks_t out = {.base = (char*)sendbuf,
                                  .apart = sendcount * MPIDI_MAD_extent(sendtype),
                                  .count = sendcount,
                                  .type = sendtype};
  const MPIDI_MAD_blocks_t in = {.base = recvbuf,
                                 .apart = recvcount * MPIDI_MAD_extent(recvtype),
                                 .count = recvcount,
                                 .type = recvtype};

  return MPIDI_MAD_neighbor_exchange(&out, &in, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_neighbor_alltoallv(
    const void* sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
    MPI_Datatype sendtype, void* recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
    MPI_Datatype recvtype, MPIR_Comm* comm) {
  const MPIDI_MAD_blocks_t out = {.base = (char*)sendbuf,
                                  .displs = sdispls,
                                  .apart = MPIDI_MAD_extent(sendtype),
                                  .counts = sendcounts,
                                  .type = sendtype};
  const MPIDI_MAD_blocks_t in = {.base = recvbuf,
                                 .displs = rdispls,
                                 .apart = MPIDI_MAD_extent(recvtype),
                                 .counts = recvcounts,
                                 .type = recvtype};

  return MPIDI_MAD_neighbor_exchange(&out, &in, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_neighbor_alltoallw(
    const void* sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void* recvbuf, const MPI_Aint recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPIR_Comm* comm) {
  const MPIDI_MAD_blocks_t out = {.base = (char*)sendbuf,
                                  .displs = sdispls,
                                  .apart = 1,
                                  .counts = sendcounts,
                                  .types = sendtypes};
  const MPIDI_MAD_blocks_t in = {
      .base = recvbuf, .displs = rdispls, .apart = 1, .counts = recvcounts, .types = recvtypes};

  return MPIDI_MAD_neighbor_exchange(&out, &in, comm);
}

#endif /* MAD_NEIGHBOR_H_INCLUDED */
