/* types: what it costs a message that its type is checked, with what arrived verified.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/types/types.c -o types
 *   tools/mad run -n 2 ./types
 *
 * Half round trips between two ranks over two communicators that take turns, of which one checks
 * (its hint mad_check_types).  A line has a layout, its bytes, the nanoseconds without and with,
 * the least of the rounds each, and the median of the differences of neighbouring rounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 41, kTrips = 2000, kTag = 1 };

static int rank;

static MPI_Comm with_hint(const char* value) {
  MPI_Info info;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mad_check_types", value);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  return comm;
}

/* Nanoseconds of half a round trip. */
static double trip(MPI_Comm comm, double* data, int count, MPI_Datatype type) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < kTrips; i++) {
    if (rank == 0) {
      MPI_Send(data, count, type, 1, kTag, comm);
      MPI_Recv(data, count, type, 1, kTag, comm, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(data, count, type, 0, kTag, comm, MPI_STATUS_IGNORE);
      MPI_Send(data, count, type, 0, kTag, comm);
    }
  }
  return (MPI_Wtime() - start) / kTrips / 2 * 1e9;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* `count` elements of `type`, which are `doubles` doubles every `step` of them. */
static void measure(const char* layout, int count, MPI_Datatype type, int doubles, int step,
                    const MPI_Comm comms[2]) {
  const size_t room = (size_t)doubles * (size_t)step;
  double* data = malloc(room * sizeof(double));
  double times[2][kRounds], differences[kRounds];
  for (size_t i = 0; i < room; i++) data[i] = (rank == 0) ? (double)i : -1;
  for (int round = 0; round < kRounds; round++) {
    for (int which = 0; which < 2; which++)
      times[which][round] = trip(comms[(which + round) % 2], data, count, type);
    if (round % 2 != 0) {
      const double swapped = times[0][round];
      times[0][round] = times[1][round], times[1][round] = swapped;
    }
    differences[round] = times[1][round] - times[0][round];
  }
  for (int i = 0; i < doubles; i++) {
    if (data[(size_t)i * (size_t)step] != (double)i * step) {
      fprintf(stderr, "types: rank %d: element %d of %s is wrong\n", rank, i, layout);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  for (int which = 0; which < 2; which++) qsort(times[which], kRounds, sizeof(double), ascending);
  qsort(differences, kRounds, sizeof(double), ascending);
  if (rank == 0)
    printf("%-10s %8zu %10.0f %10.0f %+10.0f\n", layout, (size_t)doubles * sizeof(double),
           times[0][0], times[1][0], differences[kRounds / 2]);
  free(data);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const MPI_Comm comms[2] = {with_hint("false"), with_hint("true")};
  if (rank == 0)
    printf("%-10s %8s %10s %10s %10s\n", "layout", "bytes", "unchecked", "checked", "more, ns");
  for (int doubles = 1; doubles <= 8192; doubles *= 8)
    measure("contiguous", doubles, MPI_DOUBLE, doubles, 1, comms);
  for (int doubles = 2; doubles <= 8192; doubles *= 8) {
    MPI_Datatype type;
    MPI_Type_vector(doubles, 1, 2, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    measure("vector", 1, type, doubles, 2, comms);
    MPI_Type_free(&type);
  }
  MPI_Finalize();
  return 0;
}
