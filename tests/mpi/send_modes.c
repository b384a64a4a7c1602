/* send_modes.c: a synchronous send completes after its match and not before; buffered and ready
 * sends. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 1, kTokenTag = 2, kTokens = 30 };
static const int kBlocks[] = {0, 3, 2000, 120000};

static MPI_Comm comm;
static int rank;
static uint32_t stamp;

/* Time enough, in round trips, for a message that does not wait to be there. */
static void talk(void) {
  for (int i = 0; i < kTokens; i++) {
    MPI_Sendrecv(NULL, 0, MPI_INT, 1 - rank, kTokenTag, NULL, 0, MPI_INT, 1 - rank, kTokenTag, comm,
                 MPI_STATUS_IGNORE);
  }
}

static void synchronous(int blocks, const char* path) {
  Layout layout = rank == 0 ? layout_strided(blocks, 2, 3) : layout_irregular(blocks, 2);
  Image image = layout_image(&layout, 1, ++stamp, rank == 0);
  if (rank == 0) {
    MPI_Request request;
    int done = 0;
    CHECK_MPI(MPI_Issend(image.base, 1, layout.type, 1, kTag, comm, &request));
    talk();
    CHECK_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    CHECK(!done, "done before anyone received, %d blocks, path %s", blocks, path);
    MPI_Barrier(comm);
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    talk();
    MPI_Barrier(comm);
    CHECK_MPI(MPI_Recv(image.base, 1, layout.type, 0, kTag, comm, MPI_STATUS_IGNORE));
    CHECK_IMAGE(&image, stamp, "Issend, %d blocks, path %s", blocks, path);
  }
  image_free(&image);
  layout_free(&layout);
}

/* The receive is posted when a ready send may begin. */
static void ready(int blocks, const char* path) {
  Layout layout = rank == 0 ? layout_strided(blocks, 2, 3) : layout_irregular(blocks, 2);
  Image image = layout_image(&layout, 1, ++stamp, rank == 0);
  MPI_Request request;
  if (rank == 1) MPI_Irecv(image.base, 1, layout.type, 0, kTag, comm, &request);
  MPI_Barrier(comm);
  if (rank == 0) CHECK_MPI(MPI_Irsend(image.base, 1, layout.type, 1, kTag, comm, &request));
  CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_IMAGE(&image, stamp, "Irsend, %d blocks, path %s", blocks, path);
  image_free(&image);
  layout_free(&layout);
}

/* A buffered send is over, and its memory free, before anyone receives. */
static void buffered(int blocks, const char* path) {
  Layout layout = rank == 0 ? layout_strided(blocks, 2, 3) : layout_irregular(blocks, 2);
  Image image = layout_image(&layout, 1, ++stamp, rank == 0);
  if (rank == 0) {
    CHECK_MPI(MPI_Bsend(image.base, 1, layout.type, 1, kTag, comm));
    image_fill(&image, stamp + 1000, true);
  }
  MPI_Barrier(comm);
  if (rank == 1) {
    CHECK_MPI(MPI_Recv(image.base, 1, layout.type, 0, kTag, comm, MPI_STATUS_IGNORE));
    CHECK_IMAGE(&image, stamp, "Bsend, %d blocks, path %s", blocks, path);
  }
  image_free(&image);
  layout_free(&layout);
}

int main(int argc, char** argv) {
  enum { kRoom = 4 << 20 };
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  void* room = malloc(kRoom);
  int size;
  MPI_Buffer_attach(room, kRoom);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (size_t b = 0; b < sizeof(kBlocks) / sizeof(kBlocks[0]); b++) {
      synchronous(kBlocks[b], kPaths[p]);
      ready(kBlocks[b], kPaths[p]);
      buffered(kBlocks[b], kPaths[p]);
    }
  }
  MPI_Buffer_detach(&room, &size);
  free(room);
  MPI_Comm_free(&comm);
  return check_finish();
}
