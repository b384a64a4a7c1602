/* partitioned.c: partitioned communication, with different numbers of partitions on the two sides.
 */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 4, kRounds = 4, kParts = 12 };

static int rank;
static uint32_t stamp;

/* `parts` partitions of equal size that make kParts pieces of `blocks` blocks in all. */
typedef struct Side {
  Layout layout; /* one partition */
  Image image;
  int parts;
} Side;

static Side side(int parts, int blocks, bool gapped) {
  Side made = {.parts = parts};
  const int mine = kParts / parts * blocks;
  made.layout = gapped ? layout_strided(mine, 2, 3) : layout_contiguous(2 * mine);
  made.image = layout_image(&made.layout, (size_t)parts, 0, false);
  return made;
}

/* In an order of its own each round; some in ranges. */
static void make_ready(const Side* sender, int round, MPI_Request request) {
  const int half = sender->parts / 2;
  if (round % 2) {
    for (int p = sender->parts - 1; p >= 0; p--) CHECK_MPI(MPI_Pready(p, request));
  } else {
    int rest[kParts];
    for (int p = half; p < sender->parts; p++) rest[p - half] = p;
    CHECK_MPI(MPI_Pready_list(sender->parts - half, rest, request));
    if (half) CHECK_MPI(MPI_Pready_range(0, half - 1, request));
  }
}

static void await_parts(const Side* receiver, MPI_Request request) {
  for (int p = 0; p < receiver->parts; p++) {
    int arrived = 0;
    while (!arrived) CHECK_MPI(MPI_Parrived(request, p, &arrived));
  }
}

static void run(int send_parts, int receive_parts, int blocks, bool gapped, MPI_Comm comm,
                const char* path) {
  Side mine = side(rank == 0 ? send_parts : receive_parts, blocks, gapped);
  MPI_Request request;
  if (rank == 0) {
    CHECK_MPI(MPI_Psend_init(mine.image.base, mine.parts, 1, mine.layout.type, 1, kTag, comm,
                             MPI_INFO_NULL, &request));
  } else {
    CHECK_MPI(MPI_Precv_init(mine.image.base, mine.parts, 1, mine.layout.type, 0, kTag, comm,
                             MPI_INFO_NULL, &request));
  }
  for (int round = 0; round < kRounds; round++) {
    image_fill(&mine.image, ++stamp, rank == 0);
    CHECK_MPI(MPI_Start(&request));
    if (rank == 0)
      make_ready(&mine, round, request);
    else if (round % 2)
      await_parts(&mine, request);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_IMAGE(&mine.image, stamp, "%d to %d parts, %d blocks, gapped %d, path %s", send_parts,
                receive_parts, blocks, gapped, path);
  }
  CHECK_MPI(MPI_Request_free(&request));
  image_free(&mine.image);
  layout_free(&mine.layout);
}

/* At the edge of a grid there is nobody: each round is over as it begins. */
static void with_nobody(MPI_Comm comm) {
  enum { kPartitions = 3 };
  int out[kPartitions] = {1, 2, 3}, in[kPartitions] = {4, 5, 6}, arrived = 0, count = -1;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  CHECK_MPI(MPI_Psend_init(out, kPartitions, 1, MPI_INT, MPI_PROC_NULL, kTag, comm, MPI_INFO_NULL,
                           &requests[0]));
  CHECK_MPI(MPI_Precv_init(in, kPartitions, 1, MPI_INT, MPI_PROC_NULL, kTag, comm, MPI_INFO_NULL,
                           &requests[1]));
  for (int round = 0; round < kRounds; round++) {
    CHECK_MPI(MPI_Startall(2, requests));
    CHECK_MPI(MPI_Pready_range(0, kPartitions - 1, requests[0]));
    CHECK_MPI(MPI_Parrived(requests[1], 0, &arrived));
    CHECK_MPI(MPI_Waitall(2, requests, statuses));
    MPI_Get_count(&statuses[1], MPI_INT, &count);
    CHECK(arrived && statuses[1].MPI_SOURCE == MPI_PROC_NULL && count == 0 && in[0] == 4,
          "round %d: arrived %d, source %d, %d ints", round, arrived, statuses[1].MPI_SOURCE,
          count);
  }
  CHECK_MPI(MPI_Request_free(&requests[0]));
  CHECK_MPI(MPI_Request_free(&requests[1]));
}

int main(int argc, char** argv) {
  static const int kPairs[][2] = {{1, 1}, {4, 4}, {12, 3}, {2, 6}};
  MPI_Init(&argc, &argv);
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (int i = 0; i < 4; i++) {
      run(kPairs[i][0], kPairs[i][1], 3, i % 2, comm, kPaths[p]);
      run(kPairs[i][0], kPairs[i][1], 5000, true, comm, kPaths[p]);
    }
  }
  with_nobody(comm);
  MPI_Comm_free(&comm);
  return check_finish();
}
