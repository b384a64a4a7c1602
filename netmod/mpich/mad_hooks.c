/* mad_hooks.c: what MPICH asks of every netmod and this one leaves to MPICH's generic layer. */
#include "mad_core.h"

int MPIDI_MAD_mpi_op_commit_hook(MPIR_Op* op) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_op_free_hook(MPIR_Op* op) { return MPI_SUCCESS; }

void* MPIDI_MAD_mpi_alloc_mem(MPI_Aint size, MPIR_Info* info) {
  return MPIDIG_mpi_alloc_mem(size, info);
}

int MPIDI_MAD_mpi_free_mem(void* ptr) { return MPIDIG_mpi_free_mem(ptr); }

int MPIDI_MAD_mpi_psend_init(const void* buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                             int rank, int tag, MPIR_Comm* comm, MPIR_Info* info,
                             MPIDI_av_entry_t* av, MPIR_Request** req) {
  return MPIDIG_mpi_psend_init(buf, partitions, count, datatype, rank, tag, comm, info, req);
}

int MPIDI_MAD_mpi_precv_init(void* buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                             int rank, int tag, MPIR_Comm* comm, MPIR_Info* info,
                             MPIDI_av_entry_t* av, MPIR_Request** req) {
  return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, rank, tag, comm, info, req);
}
