/* mad_neighbor.c: blocking neighbourhood collective operations.
 *
 * They are what MPI says that they are: a receive from each source and a send to each destination,
 * all at the same time.  MPICH makes a schedule of them first, as for the nonblocking ones, and
 * waits for it.
 *
 * Messages from one process to another are told apart by their order, which in graphs is that of
 * the edges.  On a grid what was sent one way along a dimension comes from the other way, also
 * where both neighbours are the same process (MPI-4.0, 8.6); MPICH 4.0 sees to it in
 * MPI_Neighbor_alltoall() alone, and in all topologies.
 */
#include "mad_core.h"

#define FEW 32 /* neighbours that need no memory of their own */

/* The tag is one of MPICH's blocking collective operations: of two processes the messages of one
 * operation are as many as the receives, and those of a communicator keep their order. */
#define TAG MPIR_ALLTOALLW_TAG

static void* place(const MPIDI_MAD_blocks_t* blocks, int number) {
  return blocks->base + blocks->apart * (blocks->displs ? blocks->displs[number] : number);
}

static MPI_Aint count_of(const MPIDI_MAD_blocks_t* blocks, int number) {
  return blocks->counts ? blocks->counts[number] : blocks->count;
}

static MPI_Datatype type_of(const MPIDI_MAD_blocks_t* blocks, int number) {
  return blocks->types ? blocks->types[number] : blocks->type;
}

typedef struct {
  int indegree, outdegree;
  const int *sources, *destinations;
  bool grid;
  int* made; /* what these are copied to, if they are */
} neighbors_t;

/* A graph of one process' edges has them as they are wanted; of other topologies they are computed
 * into `few`, or into memory of their own. */
static int find_neighbors(MPIR_Comm* comm, int* few, neighbors_t* out) {
  const MPIR_Topology* topology = MPIR_Topology_get(comm);
  int mpi_errno, weighted, *ranks = few;

  out->made = NULL;
  if (likely(topology && topology->kind == MPI_DIST_GRAPH)) {
    const MPII_Dist_graph_topology* graph = &topology->topo.dist_graph;
    out->indegree = graph->indegree;
    out->outdegree = graph->outdegree;
    out->sources = graph->in;
    out->destinations = graph->out;
    out->grid = false;
    return MPI_SUCCESS;
  }
  mpi_errno = MPIR_Topo_canon_nhb_count(comm, &out->indegree, &out->outdegree, &weighted);
  if (mpi_errno) return mpi_errno;
  if (out->indegree + out->outdegree > FEW) {
    ranks = out->made = MPL_malloc((out->indegree + out->outdegree) * sizeof(*ranks), MPL_MEM_COLL);
    if (ranks == NULL)
      return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                  MPI_ERR_NO_MEM, "**nomem", 0);
  }
  out->grid = topology->kind == MPI_CART;
  out->sources = ranks;
  out->destinations = ranks + out->indegree;
  return MPIR_Topo_canon_nhb(comm, out->indegree, ranks, MPI_UNWEIGHTED, out->outdegree,
                             ranks + out->indegree, MPI_UNWEIGHTED);
}

/* The neighbour whose message is received as number `turn`: of a grid the two of a dimension change
 * places. */
static int source_of(const neighbors_t* neighbors, int turn) {
  return neighbors->grid ? turn ^ 1 : turn;
}

/* Of an operation that cannot go on, whose first requests are receives: none of these may write to
 * memory that is its caller's again.  What is matched comes, since its sender knows nothing of it.
 * Nobody waits for sends, which their receivers may not ask for. */
static void give_up(MPIR_Request** requests, int receives, int started) {
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;

  for (int n = 0; n < receives; n++) (void)MPID_Cancel_recv(requests[n]);
  for (int n = 0; n < receives; n++) (void)MPIDI_MAD_finish(requests[n], &errflag);
  for (int n = receives; n < started; n++) MPIR_Request_free(requests[n]);
}

/* Receives first: what comes early finds its place.  After an error nothing is started. */
static int start(const MPIDI_MAD_blocks_t* out, const MPIDI_MAD_blocks_t* in,
                 const neighbors_t* neighbors, MPIR_Comm* comm, MPIR_Request** requests,
                 int* started) {
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;
  int mpi_errno = MPI_SUCCESS, receives;

  for (int turn = 0; turn < neighbors->indegree && mpi_errno == MPI_SUCCESS; turn++) {
    const int n = source_of(neighbors, turn), source = neighbors->sources[n];
    if (source == MPI_PROC_NULL) continue;
    mpi_errno = MPIC_Irecv(place(in, n), count_of(in, n), type_of(in, n), source, TAG, comm,
                           &requests[*started]);
    if (mpi_errno == MPI_SUCCESS) ++*started;
  }
  receives = *started;
  for (int n = 0; n < neighbors->outdegree && mpi_errno == MPI_SUCCESS; n++) {
    const int destination = neighbors->destinations[n];
    if (destination == MPI_PROC_NULL) continue;
    mpi_errno = MPIC_Isend(place(out, n), count_of(out, n), type_of(out, n), destination, TAG, comm,
                           &requests[*started], &errflag);
    if (mpi_errno == MPI_SUCCESS) ++*started;
  }
  if (unlikely(mpi_errno)) give_up(requests, receives, *started);
  return mpi_errno;
}

/* Waits for all of them; the first error. */
static int finish(MPIR_Request** requests, int count) {
  MPIR_Errflag_t errflag = MPIR_ERR_NONE;
  int first = MPI_SUCCESS;

  for (int n = 0; n < count; n++) {
    const int mpi_errno = MPIDI_MAD_finish(requests[n], &errflag);
    if (first == MPI_SUCCESS) first = mpi_errno;
  }
  return first;
}

int MPIDI_MAD_neighbor_exchange(const MPIDI_MAD_blocks_t* out, const MPIDI_MAD_blocks_t* in,
                                MPIR_Comm* comm) {
  int mpi_errno = MPI_SUCCESS, few_ranks[FEW], started = 0;
  MPIR_Request *few_requests[FEW], **requests = few_requests;
  neighbors_t neighbors;
  MPIR_CHKLMEM_DECL(1);

  mpi_errno = find_neighbors(comm, few_ranks, &neighbors);
  MPIR_ERR_CHECK(mpi_errno);
  if (neighbors.indegree + neighbors.outdegree > FEW)
    MPIR_CHKLMEM_MALLOC(requests, MPIR_Request**,
                        (neighbors.indegree + neighbors.outdegree) * sizeof(*requests), mpi_errno,
                        "requests", MPL_MEM_COLL);
  mpi_errno = start(out, in, &neighbors, comm, requests, &started);
  MPIR_ERR_CHECK(mpi_errno);
  mpi_errno = finish(requests, started);
  MPIR_ERR_CHECK(mpi_errno);

fn_exit:
  MPL_free(neighbors.made);
  MPIR_CHKLMEM_FREEALL();
  return mpi_errno;
fn_fail:
  goto fn_exit;
}
