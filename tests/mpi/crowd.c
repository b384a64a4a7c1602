/* crowd.c: many more ranks than cores.
 *
 * Everyone talks with everyone. What is tested besides the bytes is that waiting ranks let the
 * others work: spinning out every time slice would take minutes, and the runner's limit is far
 * below that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 1, kLaps = 30, kBarriers = 200, kMaxRanks = 64 };

static MPI_Comm comm;
static int rank, size;

static void ring(int blocks, const char* path) {
  Layout out = layout_strided(blocks, 2, 3), in = layout_irregular(blocks, 2);
  for (int lap = 0; lap < kLaps; lap++) {
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    const uint32_t mine = 1 + (uint32_t)(lap * size + rank),
                   theirs = 1 + (uint32_t)(lap * size + from);
    Image sent = layout_image(&out, 1, mine, true), taken = layout_image(&in, 1, theirs, false);
    MPI_Sendrecv(sent.base, 1, out.type, to, kTag, taken.base, 1, in.type, from, kTag, comm,
                 MPI_STATUS_IGNORE);
    CHECK_IMAGE(&taken, theirs, "lap %d, %d blocks, path %s", lap, blocks, path);
    image_free(&sent), image_free(&taken);
  }
  layout_free(&out), layout_free(&in);
}

static void all_pairs(int blocks, const char* path) {
  Layout layout = layout_strided(blocks, 2, 3);
  Image sent[kMaxRanks], taken[kMaxRanks];
  MPI_Request requests[2 * kMaxRanks];
  for (int r = 0; r < size; r++) {
    sent[r] = layout_image(&layout, 1, 1 + (uint32_t)(rank * size + r), true);
    taken[r] = layout_image(&layout, 1, 1 + (uint32_t)(r * size + rank), false);
    MPI_Irecv(taken[r].base, 1, layout.type, r, kTag, comm, &requests[r]);
  }
  for (int r = 0; r < size; r++) {
    const int to = (rank + r) % size;
    MPI_Isend(sent[to].base, 1, layout.type, to, kTag, comm, &requests[size + r]);
  }
  MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
  for (int r = 0; r < size; r++) {
    CHECK_IMAGE(&taken[r], 1 + (uint32_t)(r * size + rank), "from %d, path %s", r, path);
    image_free(&sent[r]), image_free(&taken[r]);
  }
  layout_free(&layout);
}

static void alltoall(int ints, const char* path) {
  const size_t bytes = (size_t)(size * ints) * sizeof(int);
  int *out = malloc(bytes), *in = malloc(bytes);
  if (!out || !in) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < size * ints; i++) out[i] = rank * size * ints + i;
  MPI_Alltoall(out, ints, MPI_INT, in, ints, MPI_INT, comm);
  int wrong = 0;
  for (int i = 0; i < size * ints; i++) {
    wrong += in[i] != i / ints * size * ints + rank * ints + i % ints;
  }
  CHECK(wrong == 0, "%d of %d ints wrong, path %s", wrong, size * ints, path);
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size > kMaxRanks) MPI_Abort(comm, 1);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    ring(3, kPaths[p]);
    ring(3000, kPaths[p]);
    all_pairs(10, kPaths[p]);
    all_pairs(4000, kPaths[p]);
    alltoall(2, kPaths[p]);
    alltoall(5000, kPaths[p]);
  }
  for (int i = 0; i < kBarriers; i++) MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  return check_finish();
}
