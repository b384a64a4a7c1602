/* cancel.c: receives taken back. */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 1, kBlocks = 3000 };

static MPI_Comm comm;
static int rank;
static uint32_t stamp;

static void take_back(MPI_Request* request, const char* what) {
  MPI_Status status;
  int cancelled = 0;
  CHECK_MPI(MPI_Cancel(request));
  CHECK_MPI(MPI_Wait(request, &status));
  MPI_Test_cancelled(&status, &cancelled);
  CHECK(cancelled, "%s is not cancelled", what);
}

/* A cancelled receive takes nothing: the message goes to the next one that fits. */
static void cancelled_takes_nothing(int source) {
  Layout layout = layout_strided(kBlocks, 2, 3);
  Image image = layout_image(&layout, 1, ++stamp, rank == 1);
  Image unused = layout_image(&layout, 1, stamp, false);
  if (rank == 0) {
    MPI_Request request;
    CHECK_MPI(MPI_Irecv(unused.base, 1, layout.type, source, kTag, comm, &request));
    take_back(&request, "a posted receive");
  }
  MPI_Barrier(comm);
  if (rank == 1) CHECK_MPI(MPI_Send(image.base, 1, layout.type, 0, kTag, comm));
  if (rank == 0) {
    CHECK_MPI(MPI_Recv(image.base, 1, layout.type, 1, kTag, comm, MPI_STATUS_IGNORE));
    CHECK_IMAGE(&image, stamp, "after a cancelled receive from %d", source);
    CHECK_IMAGE_PREFIX(&unused, stamp, 0, "a cancelled receive from %d", source);
  }
  image_free(&image), image_free(&unused);
  layout_free(&layout);
}

/* Too late: the message is matched, and comes. */
static void matched_is_kept(void) {
  Layout layout = layout_strided(kBlocks, 2, 3);
  Image image = layout_image(&layout, 1, ++stamp, rank == 1);
  MPI_Request request;
  int cancelled = 1;
  MPI_Status status;
  if (rank == 0) CHECK_MPI(MPI_Irecv(image.base, 1, layout.type, 1, kTag, comm, &request));
  MPI_Barrier(comm);
  if (rank == 1) CHECK_MPI(MPI_Send(image.base, 1, layout.type, 0, kTag, comm));
  if (rank == 0) {
    int done = 0;
    while (!done) CHECK_MPI(MPI_Request_get_status(request, &done, &status));
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled, "a complete receive was cancelled");
    CHECK_IMAGE(&image, stamp, "cancelled too late");
  }
  image_free(&image);
  layout_free(&layout);
}

/* Either outcome is right, a half one is not. */
static void race(void) {
  Layout layout = layout_strided(kBlocks, 2, 3);
  Image image = layout_image(&layout, 1, ++stamp, rank == 1);
  MPI_Request request;
  MPI_Status status;
  int cancelled;
  if (rank == 0) CHECK_MPI(MPI_Irecv(image.base, 1, layout.type, 1, kTag, comm, &request));
  MPI_Barrier(comm);
  if (rank == 1) CHECK_MPI(MPI_Send(image.base, 1, layout.type, 0, kTag, comm));
  if (rank == 0) {
    CHECK_MPI(MPI_Cancel(&request));
    CHECK_MPI(MPI_Wait(&request, &status));
    MPI_Test_cancelled(&status, &cancelled);
    if (cancelled) {
      CHECK_IMAGE_PREFIX(&image, stamp, 0, "cancelled in a race");
      CHECK_MPI(MPI_Recv(image.base, 1, layout.type, 1, kTag, comm, MPI_STATUS_IGNORE));
    }
    CHECK_IMAGE(&image, stamp, "after a race");
  }
  image_free(&image);
  layout_free(&layout);
}

static void persistent(void) {
  int value = 0;
  MPI_Request request;
  if (rank == 1) {
    MPI_Barrier(comm);
    value = 42;
    CHECK_MPI(MPI_Send(&value, 1, MPI_INT, 0, kTag, comm));
    return;
  }
  CHECK_MPI(MPI_Recv_init(&value, 1, MPI_INT, 1, kTag, comm, &request));
  CHECK_MPI(MPI_Start(&request));
  take_back(&request, "a persistent receive");
  CHECK_MPI(MPI_Start(&request));
  MPI_Barrier(comm);
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(value == 42, "%d after a restart", value);
  MPI_Request_free(&request);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    cancelled_takes_nothing(1);
    cancelled_takes_nothing(MPI_ANY_SOURCE);
    matched_is_kept();
    for (int i = 0; i < 20; i++) race();
  }
  persistent();
  MPI_Comm_free(&comm);
  return check_finish();
}
