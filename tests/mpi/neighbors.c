/* neighbors.c: blocking collective operations with neighbours.
 *
 * In a graph message n of a source to a rank is the one that the rank's n-th edge from that source
 * receives.  On a grid what was sent one way along a dimension comes from the other way, also where
 * both neighbours are the same rank, or this one (MPI-4.0, 8.6).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/check.h"
#include "support/counter.h"
#include "support/path.h"

enum {
  kEdges = 5,
  kMostRanks = 16,
  kMost = kEdges * kMostRanks,
  kInts = 6,
  kUntouched = -1,
  kFew = 8
};

static int rank, size;

/* The edges of this rank, in the order of the topology. */
typedef struct Edges {
  MPI_Comm comm;
  int in, out;
  int sources[kMost], destinations[kMost];
  int sent_as[kMost]; /* what the source calls the edge that comes in */
} Edges;

/* Int i of what `from` sends along its edge `edge`. */
static int value_of(int from, int edge, int i) { return (from * kMost + edge) * 64 + i; }

/* With a hole behind each int. */
typedef struct Cells {
  int ints[kMost][2 * kInts];
} Cells;
static Cells out, in;

static void prepare(const Edges* edges, int ints) {
  memset(&in, 0xFF, sizeof(in));
  for (int e = 0; e < edges->out; e++)
    for (int i = 0; i < ints; i++) out.ints[e][2 * i] = value_of(rank, e, i);
}

/* Edge `edge` arrived at row `row`; of an absent neighbour nothing did. */
static void check_row(const Edges* edges, int edge, int row, int ints, const char* what) {
  const int source = edges->sources[edge];
  int wrong = 0;
  for (int i = 0; i < kInts; i++) {
    const bool comes = source != MPI_PROC_NULL && i < ints;
    const int should = comes ? value_of(source, edges->sent_as[edge], i) : kUntouched;
    wrong += in.ints[row][2 * i] != should || in.ints[row][2 * i + 1] != kUntouched;
  }
  CHECK(wrong == 0, "%s: %d ints wrong of edge %d, from %d", what, wrong, edge, source);
}

static MPI_Datatype row_type(int ints) {
  MPI_Datatype vector, type;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(in.ints[0]), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&vector);
  return type;
}

static void alltoall(const Edges* edges, MPI_Datatype row) {
  prepare(edges, kInts);
  MPI_Neighbor_alltoall(out.ints, 1, row, in.ints, 1, row, edges->comm);
  for (int e = 0; e < edges->in; e++) check_row(edges, e, e, kInts, "Neighbor_alltoall");
}

/* Rows in reverse on both sides; the last ones one after the other would be first. */
static void alltoallv(const Edges* edges, MPI_Datatype row) {
  int counts[kMost], from[kMost], to[kMost];
  Cells turned;
  prepare(edges, kInts);
  turned = out;
  for (int e = 0; e < kMost; e++) counts[e] = 1;
  for (int e = 0; e < edges->out; e++) {
    from[e] = edges->out - 1 - e;
    memcpy(out.ints[from[e]], turned.ints[e], sizeof(out.ints[e]));
  }
  for (int e = 0; e < edges->in; e++) to[e] = edges->in - 1 - e;
  MPI_Neighbor_alltoallv(out.ints, counts, from, row, in.ints, counts, to, row, edges->comm);
  for (int e = 0; e < edges->in; e++) check_row(edges, e, to[e], kInts, "Neighbor_alltoallv");
}

/* Each edge has a type of its own, as long as its source and its destination say. */
static void alltoallw(const Edges* edges) {
  int ones[kMost];
  MPI_Aint places[kMost];
  MPI_Datatype types[kInts + 1], from[kMost], to[kMost];
  for (int i = 1; i <= kInts; i++) types[i] = row_type(i);
  prepare(edges, kInts);
  for (int e = 0; e < kMost; e++) {
    ones[e] = 1;
    places[e] = (MPI_Aint)sizeof(in.ints[0]) * e;
    from[e] = types[1 + (rank + 2 * (e < edges->out ? edges->destinations[e] : 0) + 2) % kInts];
    to[e] = types[1 + ((e < edges->in ? edges->sources[e] : 0) + 2 * rank + 2) % kInts];
  }
  MPI_Neighbor_alltoallw(out.ints, ones, places, from, in.ints, ones, places, to, edges->comm);
  for (int e = 0; e < edges->in; e++) {
    check_row(edges, e, e, 1 + (edges->sources[e] + 2 * rank + 2) % kInts, "Neighbor_alltoallw");
  }
  for (int i = 1; i <= kInts; i++) MPI_Type_free(&types[i]);
}

/* Everybody tells all neighbours the same. */
static void allgather(const Edges* edges, MPI_Datatype row) {
  int counts[kMost], places[kMost], mine[2 * kInts];
  for (int i = 0; i < kInts; i++) mine[2 * i] = rank * 100 + i;
  for (int e = 0; e < kMost; e++) counts[e] = 1, places[e] = kMost - 1 - e;
  for (int irregular = 0; irregular < 2; irregular++) {
    int wrong = 0;
    memset(&in, 0xFF, sizeof(in));
    if (irregular)
      MPI_Neighbor_allgatherv(mine, 1, row, in.ints, counts, places, row, edges->comm);
    else
      MPI_Neighbor_allgather(mine, 1, row, in.ints, 1, row, edges->comm);
    for (int e = 0; e < edges->in; e++)
      for (int i = 0; i < kInts; i++) {
        const int source = edges->sources[e], *row_in = in.ints[irregular ? places[e] : e];
        wrong += row_in[2 * i] != (source == MPI_PROC_NULL ? kUntouched : source * 100 + i);
      }
    CHECK(wrong == 0, "%d ints of Neighbor_allgather are wrong, irregular %d", wrong, irregular);
  }
}

static void all_operations(const Edges* edges) {
  MPI_Datatype row = row_type(kInts);
  for (int p = 0; p < kPathCount; p++) {
    path_set(edges->comm, kPaths[p]);
    alltoall(edges, row);
    alltoallv(edges, row);
    alltoallw(edges);
    allgather(edges, row);
  }
  MPI_Type_free(&row);
}

/* Several edges from everybody to everybody, more than are few; rank 0 has none at all if it is
 * `apart`. */
static void graph(bool apart) {
  Edges edges = {.comm = MPI_COMM_NULL};
  for (int n = 0; n < kEdges; n++)
    for (int r = 0; r < size; r++) {
      const int source = (r + 3) % size; /* another order than that of the destinations */
      if (!apart || rank * source != 0) {
        edges.sent_as[edges.in] = apart ? n * (size - 1) + rank - 1 : n * size + rank;
        edges.sources[edges.in++] = source;
      }
      if (!apart || rank * r != 0) edges.destinations[edges.out++] = r;
    }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges.in, edges.sources, MPI_UNWEIGHTED, edges.out,
                                 edges.destinations, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &edges.comm);
  all_operations(&edges);
  MPI_Comm_free(&edges.comm);
}

static void grid(int dimensions, const int* dims, const int* periodic) {
  Edges edges = {.comm = MPI_COMM_NULL, .in = 2 * dimensions, .out = 2 * dimensions};
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periodic, 0, &edges.comm);
  for (int d = 0; d < dimensions; d++) {
    MPI_Cart_shift(edges.comm, d, 1, &edges.sources[2 * d], &edges.sources[2 * d + 1]);
    edges.sent_as[2 * d] = 2 * d + 1;
    edges.sent_as[2 * d + 1] = 2 * d;
  }
  memcpy(edges.destinations, edges.sources, sizeof(edges.sources));
  all_operations(&edges);
  MPI_Comm_free(&edges.comm);
}

static void grids(void) {
  const int row[] = {size}, both[] = {2, size / 2}, flat[] = {size, 1, 1};
  const int open[] = {0}, closed[] = {1, 1, 1};
  grid(1, row, open); /* whose ends have no neighbour beyond */
  grid(1, row, closed);
  grid(3, flat, closed);
  if (size % 2 == 0) grid(2, both, closed);
}

/* The receiver's block is too short: its call fails and says so, the communicator goes on. */
static void too_long(void) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Comm graph_comm, comm;
  int sent[kInts] = {0}, received[kInts];
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &next,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_comm);
  comm = check_comm(graph_comm);
  for (int i = 0; i < kInts; i++) sent[i] = rank, received[i] = kUntouched;
  const int room = rank == 1 ? kInts - 1 : kInts, place = 0, count = kInts;
  const int error =
      MPI_Neighbor_alltoallv(sent, &count, &place, MPI_INT, received, &room, &place, MPI_INT, comm);
  if (rank == 1)
    CHECK_CLASS(error, MPI_ERR_TRUNCATE);
  else
    CHECK_MPI(error);
  CHECK(received[kInts - 1] == (rank == 1 ? kUntouched : before), "%d came", received[kInts - 1]);
  CHECK_MPI(MPI_Neighbor_alltoall(sent, kInts, MPI_INT, received, kInts, MPI_INT, comm));
  CHECK(received[kInts - 1] == before, "%d came after it", received[kInts - 1]);
  MPI_Comm_free(&comm);
  MPI_Comm_free(&graph_comm);
}

/* No topology is no neighbourhood. */
static void nowhere(void) {
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  int word = 0, words[kMost];
  CHECK_CLASS(MPI_Neighbor_allgather(&word, 1, MPI_INT, words, 1, MPI_INT, comm), MPI_ERR_TOPOLOGY);
  MPI_Comm_free(&comm);
}

/* Address space that may be used, as much as is. */
static void limit_memory(struct rlimit* before) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%lu", &pages) == 1, "the memory of this process is not told");
  if (file != NULL) fclose(file);
  CHECK(getrlimit(RLIMIT_AS, before) == 0, "no limit of memory");
  const struct rlimit limit = {(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE), before->rlim_max};
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0, "memory cannot be limited");
}

/* With too few requests for all of its edges an operation fails, and leaves no receive behind that
 * would write to its caller's memory later. */
static void without_requests(MPI_Comm comm, MPI_Comm graph) {
  enum { kLeft = 4, kMostRequests = 1 << 16 };
  static MPI_Request requests[kMostRequests];
  int word = 0, words[kFew] = {0}, posted = 0, error = MPI_SUCCESS;
  struct rlimit before;
  limit_memory(&before);
  while (posted < kMostRequests && error == MPI_SUCCESS)
    error = MPI_Recv_init(&word, 1, MPI_INT, 1, 7, comm, &requests[posted++]);
  CHECK(error != MPI_SUCCESS, "there are more requests than this test asks for");
  posted--;
  for (int n = 0; n < kLeft && posted > 0; n++) {
    MPI_Request_free(&requests[--posted]);
  }
  const uint64_t waiting = counter_read("mad_waiting_receives");
  error = MPI_Neighbor_alltoall(words, 1, MPI_INT, words, 1, MPI_INT, graph);
  const uint64_t left = counter_read("mad_waiting_receives");
  setrlimit(RLIMIT_AS, &before);
  CHECK(error != MPI_SUCCESS, "an operation went without requests");
  CHECK(left == waiting, "%d receives were left behind", (int)(left - waiting));
  while (posted-- > 0) MPI_Request_free(&requests[posted]);
}

static void too_few_requests(void) {
  const int edges = rank < 2 ? kFew : 0, other = 1 - rank;
  int others[kFew], out_words[kFew], in_words[kFew];
  MPI_Comm graph_comm, graph, comm = check_comm(MPI_COMM_WORLD);
  for (int n = 0; n < kFew; n++) others[n] = other, out_words[n] = value_of(rank, n, 0);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, others, MPI_UNWEIGHTED, edges, others,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph_comm);
  graph = check_comm(graph_comm);
  counters_open();
  if (rank == 0) without_requests(comm, graph);
  CHECK_MPI(MPI_Barrier(comm)); /* so far nobody has sent */
  CHECK_MPI(MPI_Neighbor_alltoall(out_words, 1, MPI_INT, in_words, 1, MPI_INT, graph));
  for (int n = 0; n < edges; n++)
    CHECK(in_words[n] == value_of(other, n, 0), "%d came by edge %d after it", in_words[n], n);
  counters_close();
  MPI_Comm_free(&graph);
  MPI_Comm_free(&graph_comm);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2 || size > kMostRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  graph(false);
  graph(true);
  grids();
  too_long();
  nowhere();
  too_few_requests();
  return check_finish();
}
