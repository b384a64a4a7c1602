#include "measure.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "pattern.h"

/* The first rounds connect the peers and touch the pages. */
enum { kWarmups = 2, kTag = 306 };

typedef struct Table {
  const Layout* layout;
  Buffer out, in;
  int rank;
} Table;

/* Every round of each direction has a pattern of its own. */
static uint32_t stamp(uint32_t round, int sender) { return 2 * round + (uint32_t)sender + 1; }

static double serve(const Table* table, MPI_Comm comm) {
  const Side *send = &table->layout->send, *receive = &table->layout->receive;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  MPI_Send(buffer_address(&table->out), send->count, send->type, 1, kTag, comm);
  MPI_Recv(buffer_address(&table->in), receive->count, receive->type, 1, kTag, comm,
           MPI_STATUS_IGNORE);
  return MPI_Wtime() - start;
}

/* The receive is posted before the round begins, so that the time is that of the transfer and not
 * that of a race for who comes first. */
static double answer(const Table* table, MPI_Comm comm) {
  const Side *send = &table->layout->send, *receive = &table->layout->receive;
  MPI_Request request;
  MPI_Irecv(buffer_address(&table->in), receive->count, receive->type, 0, kTag, comm, &request);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send(buffer_address(&table->out), send->count, send->type, 0, kTag, comm);
  return 0;
}

static void verify(const Table* table, const char* name, const char* mode, uint32_t round) {
  const struct {
    const char* what;
    const Buffer* buffer;
    const TypeMap* map;
    int sender;
  } checks[] = {
      {"received", &table->in, &table->layout->receive.map, 1 - table->rank},
      {"sent", &table->out, &table->layout->send.map, table->rank},
  };
  for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
    Mismatch wrong;
    if (pattern_check(checks[i].buffer, checks[i].map, stamp(round, checks[i].sender), &wrong)) {
      continue;
    }
    fprintf(stderr,
            "pingpong: WRONG DATA: %s, %zu bytes, %d blocks, mode %s, round %u: rank %d's %s "
            "buffer has "
            "%08x at byte %td (%s), expected %08x\n",
            name, table->layout->bytes, table->layout->blocks, mode, (unsigned)round, table->rank,
            checks[i].what, (unsigned)wrong.found, (ptrdiff_t)wrong.offset,
            wrong.in_gap ? "outside the type map" : "payload", (unsigned)wrong.expected);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static double play(const Table* table, const char* name, const Mode* mode, uint32_t round) {
  pattern_fill(&table->out, &table->layout->send.map, stamp(round, table->rank));
  pattern_clear(&table->in, stamp(round, 1 - table->rank));
  const double seconds = table->rank == 0 ? serve(table, mode->comm) : answer(table, mode->comm);
  verify(table, name, mode->name, round);
  return seconds;
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static Timing summarize(double* seconds, int count) {
  qsort(seconds, (size_t)count, sizeof(*seconds), compare_doubles);
  const double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
  Timing timing = {seconds[0] * 1e6, median * 1e6};
  return timing;
}

void measure(const char* name, const Layout* layout, const Modes* modes, int iterations,
             Timing* timings) {
  Table table = {layout, buffer_new(&layout->send.map), buffer_new(&layout->receive.map), 0};
  MPI_Comm_rank(MPI_COMM_WORLD, &table.rank);
  double* seconds = allocate((size_t)(modes->count * iterations) * sizeof(double));

  uint32_t round = 0;
  for (int i = -kWarmups; i < iterations; i++) {
    for (int turn = 0; turn < modes->count; turn++) {
      /* Another mode begins each time: what one leaves in the caches is no advantage of the next.
       */
      const int m = (i + kWarmups + turn) % modes->count;
      const double spent = play(&table, name, &modes->list[m], round++);
      if (i >= 0) seconds[m * iterations + i] = spent;
    }
  }
  for (int m = 0; m < modes->count; m++) {
    timings[m] = summarize(seconds + m * iterations, iterations);
  }

  release(seconds);
  buffer_free(&table.in);
  buffer_free(&table.out);
}

double gain(double off_us, double on_us) { return 100 * (off_us - on_us) / off_us; }
