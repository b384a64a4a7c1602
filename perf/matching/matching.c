/* matching: what a message costs while many others wait to be matched.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/matching/matching.c -o matching
 *   tools/mad run -n 2 ./matching [COUNT]
 *
 * Any MPI's mpicc and mpiexec will do.  Half round trips of 8 bytes between two ranks, of which
 * each has COUNT (100000) receives of other tags posted, or as many empty messages of other tags
 * that no receive has asked for.  A line has what waits, the nanoseconds, the least of the rounds
 * and their median, and how many times those with nothing waiting that is.  Then all that waited is
 * matched, each with its own tag, which is verified, and what that took is told for each message.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRounds = 41, kTrips = 1000, kTag = 1, kOthers = 1000, kCount = 100000 };

static int rank, other;

static void fail(const char* what, int expected, int found) {
  fprintf(stderr, "matching: %s %d where %d was expected\n", what, found, expected);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double nanoseconds_since(double start, int count) {
  return (MPI_Wtime() - start) / count * 1e9;
}

static double trip(void) {
  long sent = 0, received = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < kTrips; i++) {
    sent = i;
    if (rank == 0) MPI_Send(&sent, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD);
    MPI_Recv(&received, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (received != i) fail("message", i, (int)received);
    if (rank == 1) MPI_Send(&sent, 1, MPI_LONG, other, kTag, MPI_COMM_WORLD);
  }
  return nanoseconds_since(start, 2 * kTrips);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Of those without anything waiting, the least and the median, if this is the first call. */
static void measure(const char* waiting, int count) {
  static double least, median;
  double times[kRounds];
  for (int round = 0; round < kRounds; round++) times[round] = trip();
  qsort(times, kRounds, sizeof(times[0]), ascending);
  if (least == 0) {
    least = times[0];
    median = times[kRounds / 2];
  }
  if (rank == 0)
    printf("%7d %-20s %9.0f ns, median %9.0f; %7.2f and %7.2f times\n", count, waiting, times[0],
           times[kRounds / 2], times[0] / least, times[kRounds / 2] / median);
}

static void tell_matched(const char* waited, double nanoseconds) {
  if (rank == 0) printf("        %s matched in %.0f ns each\n", waited, nanoseconds);
}

static void send_others(int count) {
  for (int i = 0; i < count; i++) MPI_Send(NULL, 0, MPI_BYTE, other, kOthers + i, MPI_COMM_WORLD);
}

static void measure_posted(int count) {
  MPI_Request* requests = malloc((size_t)count * sizeof(*requests));
  MPI_Status* statuses = malloc((size_t)count * sizeof(*statuses));
  for (int i = 0; i < count; i++)
    MPI_Irecv(NULL, 0, MPI_BYTE, other, kOthers + i, MPI_COMM_WORLD, &requests[i]);
  measure("receives posted", count);
  const double start = MPI_Wtime();
  send_others(count);
  MPI_Waitall(count, requests, statuses);
  tell_matched("receives", nanoseconds_since(start, count));
  for (int i = 0; i < count; i++) {
    if (statuses[i].MPI_TAG != kOthers + i) fail("tag", kOthers + i, statuses[i].MPI_TAG);
  }
  free(statuses);
  free(requests);
}

static void measure_unexpected(int count) {
  MPI_Status status;
  send_others(count);
  measure("messages unexpected", count);
  const double start = MPI_Wtime();
  for (int i = count - 1; i >= 0; i--) {
    MPI_Recv(NULL, 0, MPI_BYTE, other, kOthers + i, MPI_COMM_WORLD, &status);
    if (status.MPI_TAG != kOthers + i) fail("tag", kOthers + i, status.MPI_TAG);
  }
  tell_matched("messages", nanoseconds_since(start, count));
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : kCount;
  int ranks;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  other = 1 - rank;
  if (ranks != 2 || count < 1) {
    fprintf(stderr, "matching: %d ranks and %d messages; 2 ranks, and 1 or more are needed\n",
            ranks, count);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  measure("waiting", 0);
  measure_posted(count);
  measure_unexpected(count);
  MPI_Finalize();
  return 0;
}
