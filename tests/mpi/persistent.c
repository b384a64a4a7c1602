/* persistent.c: persistent sends of each mode and persistent receives, started again and again. */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kRounds = 12, kModes = 4, kTag = 20 };
static const int kBlocks[kModes] = {6, 500, 60000, 60000};

static int rank;
static MPI_Comm comm;

typedef struct Channel {
  Layout layout;
  Image image;
  MPI_Request request;
} Channel;

static void init_send(int mode, Channel* channel) {
  typedef int (*Init)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  static const Init kInits[kModes] = {MPI_Send_init, MPI_Bsend_init, MPI_Ssend_init, MPI_Send_init};
  CHECK_MPI(kInits[mode](channel->image.base, 1, channel->layout.type, 1, kTag + mode, comm,
                         &channel->request));
}

static void open_channel(int mode, Channel* channel) {
  channel->layout =
      rank == 0 ? layout_strided(kBlocks[mode], 2, 5) : layout_irregular(kBlocks[mode], 2);
  channel->image = layout_image(&channel->layout, 1, 0, false);
  if (rank == 0) {
    init_send(mode, channel);
  } else {
    CHECK_MPI(MPI_Recv_init(channel->image.base, 1, channel->layout.type, 0, kTag + mode, comm,
                            &channel->request));
  }
  /* The request keeps the type alive. */
  MPI_Type_free(&channel->layout.type);
}

static uint32_t stamp_of(int round, int mode) { return 1 + (uint32_t)(round * kModes + mode); }

/* The path may change between two starts. */
static void play(Channel* channels, int round) {
  const char* path = kPaths[(round + rank) % kPathCount];
  MPI_Request requests[kModes];
  path_set(comm, path);
  for (int m = 0; m < kModes; m++) {
    image_fill(&channels[m].image, stamp_of(round, m), rank == 0);
    requests[m] = channels[m].request;
  }
  CHECK_MPI(MPI_Startall(kModes, requests));
  CHECK_MPI(MPI_Waitall(kModes, requests, MPI_STATUSES_IGNORE));
  for (int m = 0; m < kModes; m++) {
    CHECK(requests[m] == channels[m].request, "mode %d: Waitall freed the request", m);
    CHECK_IMAGE(&channels[m].image, stamp_of(round, m), "mode %d, round %d, path %s", m, round,
                path);
  }
}

int main(int argc, char** argv) {
  enum { kRoom = 1 << 20 };
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  void* room = malloc(kRoom);
  int size;
  MPI_Buffer_attach(room, kRoom);
  Channel channels[kModes];
  for (int m = 0; m < kModes; m++) open_channel(m, &channels[m]);
  for (int round = 0; round < kRounds; round++) play(channels, round);
  for (int m = 0; m < kModes; m++) {
    MPI_Request_free(&channels[m].request);
    typemap_free(&channels[m].layout.map);
    image_free(&channels[m].image);
  }
  MPI_Buffer_detach(&room, &size);
  free(room);
  MPI_Comm_free(&comm);
  return check_finish();
}
