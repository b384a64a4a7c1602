/* self.c: messages to oneself, on a communicator of several ranks and on MPI_COMM_SELF. */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 2 };
static const int kBlocks[] = {0, 4, 3000, 150000};

static uint32_t stamp;

typedef enum Order { kSendFirst, kReceiveFirst, kSynchronous, kProbed, kOrderCount } Order;

static void exchange(MPI_Comm comm, int blocks, Order order, const char* path) {
  int me;
  MPI_Comm_rank(comm, &me);
  Layout out = layout_strided(blocks, 3, 5), in = layout_irregular(blocks, 3);
  Image sent = layout_image(&out, 1, ++stamp, true), taken = layout_image(&in, 1, stamp, false);
  MPI_Request send, receive;
  MPI_Status status;
  int ints;
  if (order == kReceiveFirst) MPI_Irecv(taken.base, 1, in.type, me, kTag, comm, &receive);
  if (order == kSynchronous)
    MPI_Issend(sent.base, 1, out.type, me, kTag, comm, &send);
  else
    MPI_Isend(sent.base, 1, out.type, me, kTag, comm, &send);
  if (order == kProbed) {
    MPI_Probe(me, kTag, comm, &status);
    MPI_Get_count(&status, MPI_INT, &ints);
    CHECK(ints == 3 * blocks, "probed %d ints of %d", ints, 3 * blocks);
  }
  if (order != kReceiveFirst) {
    MPI_Irecv(taken.base, 1, in.type, MPI_ANY_SOURCE, kTag, comm, &receive);
  }
  MPI_Wait(&receive, &status);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  CHECK(status.MPI_SOURCE == me, "source %d", status.MPI_SOURCE);
  CHECK_IMAGE(&taken, stamp, "%d blocks, order %d, path %s", blocks, order, path);
  CHECK_IMAGE(&sent, stamp, "sent, %d blocks, order %d, path %s", blocks, order, path);
  image_free(&sent), image_free(&taken);
  layout_free(&out), layout_free(&in);
}

static void sendrecv(MPI_Comm comm, const char* path) {
  int me;
  MPI_Comm_rank(comm, &me);
  Layout out = layout_strided(3000, 3, 5), in = layout_contiguous(9000);
  Image sent = layout_image(&out, 1, ++stamp, true), taken = layout_image(&in, 1, stamp, false);
  MPI_Sendrecv(sent.base, 1, out.type, me, kTag, taken.base, 1, in.type, me, kTag, comm,
               MPI_STATUS_IGNORE);
  CHECK_IMAGE(&taken, stamp, "Sendrecv, path %s", path);
  MPI_Sendrecv_replace(sent.base, 1, out.type, me, kTag, me, kTag, comm, MPI_STATUS_IGNORE);
  CHECK_IMAGE(&sent, stamp, "Sendrecv_replace, path %s", path);
  image_free(&sent), image_free(&taken);
  layout_free(&out), layout_free(&in);
}

static void all(MPI_Comm comm, const char* path) {
  for (size_t b = 0; b < sizeof(kBlocks) / sizeof(kBlocks[0]); b++) {
    for (Order order = kSendFirst; order < kOrderCount; order++) {
      exchange(comm, kBlocks[b], order, path);
    }
  }
  sendrecv(comm, path);
}

int main(int argc, char** argv) {
  MPI_Comm world, self;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  for (int p = 0; p < kPathCount; p++) {
    path_set(world, kPaths[p]);
    path_set(self, kPaths[p]);
    all(world, kPaths[p]);
    all(self, kPaths[p]);
  }
  MPI_Comm_free(&world);
  MPI_Comm_free(&self);
  return check_finish();
}
