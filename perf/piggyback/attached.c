/* attached: what a value that messages take along costs (mpix_mad.h).
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/piggyback/attached.c -o attached
 *   tools/mad run -n 2 ./attached [VALUE_BYTES [MESSAGE_BYTES...]]
 *
 * Half round trips between two ranks, alternately of bare messages, of messages with a value of
 * VALUE_BYTES (8; at most 256) that nobody asks for, and of those of which each receiver asks for
 * it; before either all bytes of some messages and values are verified.  A line has a message's
 * bytes and, of each, the microseconds: the median of the rounds; then what the value adds to the
 * bare message: the median of the rounds' differences.
 */
#include <mpi.h>
#include <mpix_mad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 101, kTrips = 1000, kChecked = 20, kTag = 1, kMost = 1 << 20 };

typedef enum Kind { kBare, kAttached, kAsked, kKinds } Kind;

static int rank, value_bytes = 8;
static unsigned char out[kMost], in[kMost], value[MPIX_MAD_PIGGYBACK_MAX],
    got[MPIX_MAD_PIGGYBACK_MAX];

static void fail(const char* what, int at) {
  fprintf(stderr, "attached: wrong %s at %d\n", what, at);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void attach(Kind kind) {
  MPIX_Mad_piggyback_attach(MPI_COMM_WORLD, kind == kBare ? NULL : value, value_bytes, MPI_BYTE);
}

static void receive(Kind kind, int bytes) {
  MPI_Status status;
  int length = 0;
  MPI_Recv(in, bytes, MPI_BYTE, !rank, kTag, MPI_COMM_WORLD, &status);
  if (kind != kAsked) return;
  MPIX_Mad_piggyback_get(&status, got, value_bytes, MPI_BYTE, &length);
  if (length != value_bytes) fail("length of a value", length);
}

static void send(int bytes) { MPI_Send(out, bytes, MPI_BYTE, !rank, kTag, MPI_COMM_WORLD); }

/* The sender's bytes by its rank, the message and the place. */
static unsigned char byte_of(int sender, int message, int place) {
  return (unsigned char)(sender * 101 + message * 31 + place * 7);
}

static void verify(int bytes) {
  attach(kAsked);
  for (int i = 0; i < kChecked; i++) {
    for (int k = 0; k < bytes; k++) out[k] = byte_of(rank, i, k);
    for (int k = 0; k < value_bytes; k++) value[k] = byte_of(rank + 2, i, k);
    if (rank == 0) send(bytes);
    receive(kAsked, bytes);
    if (rank == 1) send(bytes);
    for (int k = 0; k < bytes; k++)
      if (in[k] != byte_of(!rank, i, k)) fail("byte of a message", k);
    for (int k = 0; k < value_bytes; k++)
      if (got[k] != byte_of(!rank + 2, i, k)) fail("byte of a value", k);
  }
}

/* Microseconds of half a round trip. */
static double measure(Kind kind, int bytes) {
  attach(kind);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < kTrips; i++) {
    if (rank == 0) send(bytes);
    receive(kind, bytes);
    if (rank == 1) send(bytes);
  }
  return (MPI_Wtime() - start) / (2 * kTrips) * 1e6;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double median(double* times) {
  qsort(times, kRounds, sizeof(times[0]), ascending);
  return times[kRounds / 2];
}

static void compare(int bytes) {
  static double times[kKinds][kRounds], more[kKinds][kRounds];
  verify(bytes);
  for (int round = -1; round < kRounds; round++) { /* one to warm up */
    for (int kind = 0; kind < kKinds; kind++) {
      const double time = measure((Kind)kind, bytes);
      if (round < 0) continue;
      times[kind][round] = time;
      more[kind][round] = time - times[kBare][round];
    }
  }
  attach(kBare);
  if (rank != 0) return;
  printf("%8d", bytes);
  for (int kind = 0; kind < kKinds; kind++) printf(" %9.3f", median(times[kind]));
  printf(" %9.3f %9.3f\n", median(more[kAttached]), median(more[kAsked]));
  fflush(stdout);
}

int main(int argc, char** argv) {
  static const int kSizes[] = {0, 8, 64, 512, 4096};
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) value_bytes = atoi(argv[1]);
  if (size != 2 || value_bytes < 1 || value_bytes > MPIX_MAD_PIGGYBACK_MAX) {
    if (rank == 0) fprintf(stderr, "attached: two ranks, and values of 1 to 256 bytes\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (rank == 0)
    printf("%8s %9s %9s %9s %9s %9s  us; values of %d bytes\n", "bytes", "bare", "attached",
           "asked", "more", "and asked", value_bytes);
  for (int i = 2; i < argc; i++) {
    const int bytes = atoi(argv[i]);
    if (bytes >= 0 && bytes <= kMost) compare(bytes);
  }
  for (int i = 0; argc <= 2 && i < (int)(sizeof(kSizes) / sizeof(kSizes[0])); i++)
    compare(kSizes[i]);
  MPI_Finalize();
  return 0;
}
