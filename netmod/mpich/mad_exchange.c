/* mad_exchange.c: longer collective operations that send the user's data from where they are. */
#include "mad_core.h"

#define MOST_RANKS 16       /* all of them exchange with all others at once */
#define FEW_RANKS 8         /* of a tree that MPICH's table does not ask for, whatever the bytes, */
#define FAR_BYTES (2 << 20) /* but for so many at most between nodes */
#define LONG_BYTES 8192     /* of a rank's part; shorter ones take few steps of many parts */

/* As in MPICH's algorithms: an operation goes on after an error, and tells the others. */
static void record(int error, int* mpi_errno, MPIR_Errflag_t* errflag) {
  if (likely(error == MPI_SUCCESS)) return;
  *errflag =
      MPIR_ERR_GET_CLASS(error) == MPIX_ERR_PROC_FAILED ? MPIR_ERR_PROC_FAILED : MPIR_ERR_OTHER;
  MPIR_ERR_SET(error, *errflag, "**fail");
  MPIR_ERR_ADD(*mpi_errno, error);
}

static bool is_exchanged(MPI_Aint recvcount, MPI_Datatype recvtype, MPIR_Comm* comm) {
  const bool chosen =
      MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM != MPIR_CVAR_ALLGATHER_INTRA_ALGORITHM_auto;
  const int ranks = comm->local_size;
  MPI_Aint size;

  if (chosen || comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || ranks < 2) return false;
  if (ranks == 2) return true;
  MPIR_Datatype_get_size_macro(recvtype, size);
  return ranks <= MOST_RANKS && MPIDI_MAD_whole_node(comm) != NULL &&
         recvcount * size >= LONG_BYTES;
}

/* Sends come first: what leaves at once does not wait until all receives are posted, and who is
 * late has what came early kept by the fabric. */
static int exchange(const void* mine, MPI_Aint sendcount, MPI_Datatype sendtype, char* parts,
                    MPI_Aint part_bytes, MPI_Aint recvcount, MPI_Datatype recvtype, bool in_place,
                    MPIR_Comm* comm, MPIR_Errflag_t* errflag) {
  const int ranks = comm->local_size, rank = comm->rank;
  char* const own = parts + rank * part_bytes;
  int mpi_errno = MPI_SUCCESS, count = 0, error;
  MPIR_Request* requests[2 * (MOST_RANKS - 1)];

  for (int i = 1; i < ranks; i++) {
    error = MPIC_Isend(mine, sendcount, sendtype, (rank + i) % ranks, MPIR_ALLGATHER_TAG, comm,
                       &requests[count], errflag);
    count += (error == MPI_SUCCESS);
    record(error, &mpi_errno, errflag);
  }
  for (int i = 1; i < ranks; i++) {
    const int from = (rank - i + ranks) % ranks;
    error = MPIC_Irecv(parts + from * part_bytes, recvcount, recvtype, from, MPIR_ALLGATHER_TAG,
                       comm, &requests[count]);
    count += (error == MPI_SUCCESS);
    record(error, &mpi_errno, errflag);
  }
  if (!in_place)
    record(MPIR_Localcopy(mine, sendcount, sendtype, own, recvcount, recvtype), &mpi_errno,
           errflag);
  for (int i = 0; i < count; i++)
    record(MPIDI_MAD_finish(requests[i], errflag), &mpi_errno, errflag);
  if (mpi_errno == MPI_SUCCESS && *errflag != MPIR_ERR_NONE)
    MPIR_ERR_SET(mpi_errno, *errflag, "**coll_fail");
  return mpi_errno;
}

bool MPIDI_MAD_exchange_allgather(const void* sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                  void* recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                                  MPIR_Comm* comm, MPIR_Errflag_t* errflag, int* mpi_errno) {
  const bool in_place = (sendbuf == MPI_IN_PLACE);
  MPI_Aint extent;

  if (!is_exchanged(recvcount, recvtype, comm)) return false;
  MPIR_Datatype_get_extent_macro(recvtype, extent);
  if (in_place) {
    sendbuf = (char*)recvbuf + comm->rank * recvcount * extent;
    sendcount = recvcount;
    sendtype = recvtype;
  }
  *mpi_errno = exchange(sendbuf, sendcount, sendtype, recvbuf, recvcount * extent, recvcount,
                        recvtype, in_place, comm, errflag);
  return true;
}

/* Memory for so many elements, as their type has them; NULL: there is none. */
static void* elements_of(MPI_Aint count, MPI_Datatype datatype, MPI_Aint* true_lb) {
  MPI_Aint extent, true_extent;
  char* memory;

  MPIR_Type_get_true_extent_impl(datatype, true_lb, &true_extent);
  MPIR_Datatype_get_extent_macro(datatype, extent);
  memory = MPL_malloc(MPL_MAX(count * MPL_MAX(extent, true_extent), 1), MPL_MEM_BUFFER);
  return memory ? memory - *true_lb : NULL;
}

/* What the first child sends is received to where the result comes, and the rank's own data are
 * added to that; the others' go through `more`. */
static int reduce_by_tree(const void* sendbuf, void* result, void* more, int relative, int root,
                          MPI_Aint count, MPI_Datatype datatype, MPI_Op op, MPIR_Comm* comm,
                          MPIR_Errflag_t* errflag) {
  const int ranks = comm->local_size;
  bool own_is_there = (sendbuf == MPI_IN_PLACE);
  int mpi_errno = MPI_SUCCESS, mask = 1;

  for (; mask < ranks && (relative & mask) == 0; mask <<= 1) {
    void* const part = own_is_there ? more : result;
    if ((relative | mask) >= ranks) continue;
    record(MPIC_Recv(part, count, datatype, ((relative | mask) + root) % ranks, MPIR_REDUCE_TAG,
                     comm, MPI_STATUS_IGNORE, errflag),
           &mpi_errno, errflag);
    record(MPIR_Reduce_local(own_is_there ? part : sendbuf, result, count, datatype, op),
           &mpi_errno, errflag);
    own_is_there = true;
  }
  if (relative != 0)
    record(MPIC_Send(own_is_there ? result : sendbuf, count, datatype,
                     ((relative & ~mask) + root) % ranks, MPIR_REDUCE_TAG, comm, errflag),
           &mpi_errno, errflag);
  if (mpi_errno == MPI_SUCCESS && *errflag != MPIR_ERR_NONE)
    MPIR_ERR_SET(mpi_errno, *errflag, "**coll_fail");
  return mpi_errno;
}

bool MPIDI_MAD_reduce_by_tree(const void* sendbuf, void* recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                              MPIR_Errflag_t* errflag, int* mpi_errno) {
  const int ranks = comm->local_size, relative = (comm->rank - root + ranks) % ranks;
  const bool in_place = (sendbuf == MPI_IN_PLACE);
  const bool has_child = relative % 2 == 0 && relative + 1 < ranks;
  /* The first one's part needs no memory of its own. */
  const bool has_more = has_child && (in_place || (relative % 4 == 0 && relative + 2 < ranks));
  const bool passes_on = has_child && relative != 0;
  MPI_Aint true_lb = 0;
  char *result = recvbuf, *more = NULL;

  if (ranks == 1 || !MPIR_Op_is_commutative(op)) return false;
  if (passes_on) result = elements_of(count, datatype, &true_lb);
  if (has_more) more = elements_of(count, datatype, &true_lb);
  if ((passes_on && !result) || (has_more && !more)) {
    *mpi_errno = MPI_SUCCESS;
    MPIR_ERR_SET(*mpi_errno, MPI_ERR_NO_MEM, "**nomem");
  } else {
    *mpi_errno =
        reduce_by_tree(sendbuf, result, more, relative, root, count, datatype, op, comm, errflag);
  }
  if (passes_on && result) MPL_free(result + true_lb);
  if (more) MPL_free(more + true_lb);
  return true;
}

bool MPIDI_MAD_exchange_reduce(const void* sendbuf, void* recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm* comm,
                               MPIR_Errflag_t* errflag, int* mpi_errno) {
  const bool chosen = MPIR_CVAR_REDUCE_INTRA_ALGORITHM != MPIR_CVAR_REDUCE_INTRA_ALGORITHM_auto;
  MPI_Aint size;

  if (chosen || comm->comm_kind != MPIR_COMM_KIND__INTRACOMM || comm->local_size > FEW_RANKS ||
      count == 0)
    return false;
  if (MPIDI_MAD_whole_node(comm) == NULL) {
    MPIR_Datatype_get_size_macro(datatype, size);
    if (comm->hierarchy_kind == MPIR_COMM_HIERARCHY_KIND__PARENT || count * size > FAR_BYTES)
      return false;
  }
  return MPIDI_MAD_reduce_by_tree(sendbuf, recvbuf, count, datatype, op, root, comm, errflag,
                                  mpi_errno);
}
