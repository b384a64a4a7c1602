/* fields: what a struct costs that is made, sent and freed for each message.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/piggyback/fields.c -o fields
 *   tools/mad run -bind-to core -n 2 ./fields
 *
 * Any MPI's mpicc and mpiexec will do.  Half round trips between two ranks of 32 bytes, as they are
 * and as structs of 2 to 32 fields, received as they are; before, all bytes of some messages are
 * verified.  Each round of structs stands between two of bytes as they are, so that both are
 * measured in the same state of the machine.  A line has the fields and, in microseconds, what they
 * take more than the bytes do: the tenth percentile and the median of the rounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 201, kTrips = 500, kChecked = 20, kTag = 1, kBytes = 32, kGap = 8, kMost = 32 };

static int rank;
static unsigned char out[kMost * (1 + kGap) + kBytes], in[kBytes];

static void send(int fields) {
  const int each = kBytes / fields;
  int lengths[kMost];
  MPI_Aint displacements[kMost];
  MPI_Datatype types[kMost], type;

  if (fields == 1) {
    MPI_Send(out, kBytes, MPI_BYTE, !rank, kTag, MPI_COMM_WORLD);
    return;
  }
  for (int i = 0; i < fields; i++) {
    lengths[i] = each;
    MPI_Get_address(&out[i * (each + kGap)], &displacements[i]);
    types[i] = MPI_BYTE;
  }
  MPI_Type_create_struct(fields, lengths, displacements, types, &type);
  MPI_Type_commit(&type);
  MPI_Send(MPI_BOTTOM, 1, type, !rank, kTag, MPI_COMM_WORLD);
  MPI_Type_free(&type);
}

static void trip(int fields) {
  if (rank == 0) send(fields);
  MPI_Recv(in, kBytes, MPI_BYTE, !rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) send(fields);
}

/* By the sender's rank, the message and the place. */
static unsigned char byte_of(int sender, int message, int place) {
  return (unsigned char)(sender * 101 + message * 31 + place * 7);
}

static void verify(int fields) {
  const int each = kBytes / fields;
  for (int message = 0; message < kChecked; message++) {
    for (int i = 0; i < kBytes; i++)
      out[i / each * (each + kGap) + i % each] = byte_of(rank, message, i);
    memset(in, 0, sizeof(in));
    trip(fields);
    for (int i = 0; i < kBytes; i++) {
      if (in[i] == byte_of(!rank, message, i)) continue;
      fprintf(stderr, "fields: wrong byte %d of a struct of %d fields\n", i, fields);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
}

/* Microseconds of half a round trip. */
static double measure(int fields) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < kTrips; i++) trip(fields);
  return (MPI_Wtime() - start) / (2 * kTrips) * 1e6;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void compare(int fields) {
  static double more[kRounds];
  verify(fields);
  double before = measure(1);
  for (int round = -1; round < kRounds; round++) { /* one to warm up */
    const double time = measure(fields), after = measure(1);
    if (round >= 0) more[round] = time - (before + after) / 2;
    before = after;
  }
  qsort(more, kRounds, sizeof(more[0]), ascending);
  if (rank == 0) printf("%6d %9.3f %9.3f\n", fields, more[kRounds / 10], more[kRounds / 2]);
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2) {
    if (rank == 0) fprintf(stderr, "fields: two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  verify(1);
  if (rank == 0)
    printf("%6s %9s %9s  us more than %d bytes\n", "fields", "tenth", "median", kBytes);
  for (int fields = 2; fields <= kMost; fields *= 2) compare(fields);
  MPI_Finalize();
  return 0;
}
