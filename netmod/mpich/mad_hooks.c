/* mad_hooks.c: what MPICH asks of every netmod and this one leaves to MPICH's generic layer. */
#include "mad_core.h"

int MPIDI_MAD_mpi_op_commit_hook(MPIR_Op* op) { return MPI_SUCCESS; }

int MPIDI_MAD_mpi_op_free_hook(MPIR_Op* op) { return MPI_SUCCESS; }

void* MPIDI_MAD_mpi_alloc_mem(MPI_Aint size, MPIR_Info* info) {
  return MPIDIG_mpi_alloc_mem(size, info);
}

int MPIDI_MAD_mpi_free_mem(void* ptr) { return MPIDIG_mpi_free_mem(ptr); }

/* A partitioned request without a partner, whom MPICH's own would tell of it. */
static int part_with_nobody(MPIR_Request_kind_t kind, const void* buf, int partitions,
                            MPI_Aint count, MPI_Datatype datatype, MPIR_Comm* comm,
                            MPIR_Request** out) {
  MPIR_Request* req = NULL;
  int mpi_errno = MPI_SUCCESS;

  MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
  MPIDI_CH4_REQUEST_CREATE(req, kind, 0, 1);
  MPIR_ERR_CHKANDJUMP(req == NULL, mpi_errno, MPIX_ERR_NOREQ, "**nomemreq");
  MPIR_Comm_add_ref(comm);
  req->comm = comm;
  MPIR_Datatype_add_ref_if_not_builtin(datatype);
  MPIDI_PART_REQUEST(req, buffer) = (void*)buf;
  MPIDI_PART_REQUEST(req, count) = count;
  MPIDI_PART_REQUEST(req, datatype) = datatype;
  if (kind == MPIR_REQUEST_KIND__PART_SEND)
    MPIDI_PART_REQUEST(req, u.send.dest) = MPI_PROC_NULL;
  else
    MPIDI_PART_REQUEST(req, u.recv.source) = MPI_PROC_NULL;
  MPIDIG_PART_REQUEST(req, peer_req_ptr) = NULL;
  req->u.part.partitions = partitions;
  MPIR_Part_request_inactivate(req);
  MPIR_cc_set(req->cc_ptr, 0); /* until it is started */
  *out = req;

fn_exit:
  MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
  return mpi_errno;
fn_fail:
  goto fn_exit;
}

int MPIDI_MAD_mpi_psend_init(const void* buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                             int rank, int tag, MPIR_Comm* comm, MPIR_Info* info,
                             MPIDI_av_entry_t* av, MPIR_Request** req) {
  if (rank == MPI_PROC_NULL)
    return part_with_nobody(MPIR_REQUEST_KIND__PART_SEND, buf, partitions, count, datatype, comm,
                            req);
  return MPIDIG_mpi_psend_init(buf, partitions, count, datatype, rank, tag, comm, info, req);
}

int MPIDI_MAD_mpi_precv_init(void* buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                             int rank, int tag, MPIR_Comm* comm, MPIR_Info* info,
                             MPIDI_av_entry_t* av, MPIR_Request** req) {
  if (rank == MPI_PROC_NULL)
    return part_with_nobody(MPIR_REQUEST_KIND__PART_RECV, buf, partitions, count, datatype, comm,
                            req);
  return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, rank, tag, comm, info, req);
}
