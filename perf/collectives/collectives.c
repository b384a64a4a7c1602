/* collectives: how long MPI's collective operations take, with what arrived verified.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/collectives/collectives.c -o collectives
 *   tools/mad run -n 4 ./collectives [MOST_BYTES [OPERATION...]]
 *
 * Any MPI's mpicc and mpiexec will do.  Of each operation and size nine rounds are run; a line has
 * the microseconds a call takes on the slowest rank, the least and the median of the rounds.  Sizes
 * are of one rank's part, from 8 bytes on, four times as long each.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 9, kShort = 4096, kCallsOfShort = 400, kCallsOfLong = 100 };

static int rank, ranks;
static double *mine, *theirs; /* `ranks` parts each */

/* What rank r has in its element i, small numbers that sums keep exact. */
static double element(int r, int i) { return (double)(r + i % 100); }

static void barrier(int count) {
  (void)count;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(int count) {
  MPI_Bcast(rank == 0 ? mine : theirs, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void reduce(int count) {
  MPI_Reduce(mine, theirs, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void allreduce(int count) {
  MPI_Allreduce(mine, theirs, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void alltoall(int count) {
  MPI_Alltoall(mine, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void allgather(int count) {
  MPI_Allgather(mine, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void gather(int count) {
  MPI_Gather(mine, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void scatter(int count) {
  MPI_Scatter(mine, count, MPI_DOUBLE, theirs, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* What element i of `theirs` has to be; -1: nothing is to be there. */
static double nothing(int i, int count) { return (void)i, (void)count, -1; }
static double from_root(int i, int count) { return rank == 0 || i >= count ? -1 : element(0, i); }
static double sum(int i, int count) {
  return i >= count ? -1 : ranks * (ranks - 1) / 2.0 + ranks * (double)(i % 100);
}
static double sum_at_root(int i, int count) { return rank == 0 ? sum(i, count) : -1; }
static double part_for_me(int i, int count) { return element(i / count, rank * count + i % count); }
static double part_of_each(int i, int count) { return element(i / count, i % count); }
static double part_of_each_at_root(int i, int count) {
  return rank == 0 ? part_of_each(i, count) : -1;
}
static double part_from_root(int i, int count) {
  return i >= count ? -1 : element(0, rank * count + i);
}

static const struct {
  const char* name;
  void (*call)(int count);
  double (*expected)(int i, int count);
} operations[] = {{"barrier", barrier, nothing},
                  {"bcast", bcast, from_root},
                  {"reduce", reduce, sum_at_root},
                  {"allreduce", allreduce, sum},
                  {"alltoall", alltoall, part_for_me},
                  {"allgather", allgather, part_of_each},
                  {"gather", gather, part_of_each_at_root},
                  {"scatter", scatter, part_from_root}};
enum { kOperations = sizeof(operations) / sizeof(operations[0]) };

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void verify(int operation, int count) {
  for (int i = 0; i < count * ranks; i++) {
    const double expected = operations[operation].expected(i, count);
    if (expected < 0 || theirs[i] == expected) continue;
    fprintf(stderr, "collectives: rank %d: %s of %d elements brought %g as element %d, not %g\n",
            rank, operations[operation].name, count, theirs[i], i, expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void measure(int operation, int count) {
  const int calls = count * (int)sizeof(double) <= kShort ? kCallsOfShort : kCallsOfLong;
  double slowest[kRounds];
  memset(theirs, 0, (size_t)count * ranks * sizeof(double));
  for (int round = 0; round < kRounds; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; i++) operations[operation].call(count);
    double own = (MPI_Wtime() - begin) / calls * 1e6;
    MPI_Allreduce(&own, &slowest[round], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  verify(operation, count);
  qsort(slowest, kRounds, sizeof(double), compare);
  if (rank == 0)
    printf("%-10s %8d %10.2f %10.2f\n", operations[operation].name, count * (int)sizeof(double),
           slowest[0], slowest[kRounds / 2]);
  fflush(stdout);
}

static int wanted(const char* name, int argc, char** argv) {
  for (int i = 2; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return 1;
  return argc <= 2;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long most = argc > 1 ? strtol(argv[1], NULL, 10) : 65536;
  if (most < 8 || most > 1 << 26) {
    if (rank == 0)
      fprintf(stderr, "usage: collectives [MOST_BYTES [OPERATION...]], 8 to 67108864 bytes\n");
    MPI_Finalize();
    return 2;
  }
  mine = malloc((size_t)most * ranks);
  theirs = malloc((size_t)most * ranks);
  if (mine == NULL || theirs == NULL) {
    fprintf(stderr, "collectives: no memory for %ld bytes of each rank\n", most);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return 1;
  }
  for (long i = 0; i < most / 8 * ranks; i++) mine[i] = element(rank, (int)i);
  if (rank == 0) printf("%-10s %8s %10s %10s\n", "operation", "bytes", "least us", "median us");
  for (int operation = 0; operation < kOperations; operation++) {
    if (!wanted(operations[operation].name, argc, argv)) continue;
    for (long bytes = 8; bytes <= most; bytes *= 4) {
      measure(operation, (int)(bytes / 8));
      if (operations[operation].call == barrier) break;
    }
  }
  free(mine);
  free(theirs);
  MPI_Finalize();
  return 0;
}
