/* probe.c: messages looked at before they are received, with and without taking them out of the
 * queue. */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kReceiver = 0, kSmallBlocks = 5, kLargeBlocks = 40000 };

static MPI_Comm comm;
static int rank;

typedef enum How { kProbe, kIprobe, kMprobe, kImprobe, kImprobeImrecv, kHowCount } How;

static const char* const kHowNames[kHowCount] = {"Probe", "Iprobe", "Mprobe", "Improbe", "Imrecv"};

static void look(How how, int source, int tag, MPI_Message* message, MPI_Status* status) {
  int found = 0;
  *message = MPI_MESSAGE_NULL;
  if (how == kProbe) CHECK_MPI(MPI_Probe(source, tag, comm, status));
  if (how == kMprobe) CHECK_MPI(MPI_Mprobe(source, tag, comm, message, status));
  while (how == kIprobe && !found) CHECK_MPI(MPI_Iprobe(source, tag, comm, &found, status));
  while (how >= kImprobe && !found) {
    CHECK_MPI(MPI_Improbe(source, tag, comm, &found, message, status));
  }
}

static void take(How how, const Layout* layout, void* base, MPI_Message* message,
                 const MPI_Status* probed) {
  MPI_Status status;
  if (how <= kIprobe) {
    CHECK_MPI(MPI_Recv(base, 1, layout->type, probed->MPI_SOURCE, probed->MPI_TAG, comm, &status));
  } else if (how == kImprobeImrecv) {
    MPI_Request request;
    CHECK_MPI(MPI_Imrecv(base, 1, layout->type, message, &request));
    CHECK_MPI(MPI_Wait(&request, &status));
  } else {
    CHECK_MPI(MPI_Mrecv(base, 1, layout->type, message, &status));
  }
  CHECK(*message == MPI_MESSAGE_NULL, "the message handle is left over by %s", kHowNames[how]);
  CHECK(status.MPI_SOURCE == probed->MPI_SOURCE && status.MPI_TAG == probed->MPI_TAG,
        "source %d tag %d, probed %d and %d", status.MPI_SOURCE, status.MPI_TAG, probed->MPI_SOURCE,
        probed->MPI_TAG);
}

/* Rank r sends its two messages, small with tag 10r, large with tag 10r+1. */
static int tag_of(int sender, int large) { return 10 * sender + large; }
static uint32_t stamp_of(int sender, int large, How how) {
  return 1 + (uint32_t)tag_of(sender, large) * kHowCount + (uint32_t)how;
}

static void send_two(How how) {
  Image images[2];
  MPI_Request requests[2];
  Layout layouts[2] = {layout_strided(kSmallBlocks, 2, 3), layout_strided(kLargeBlocks, 2, 3)};
  for (int large = 0; large < 2; large++) {
    images[large] = layout_image(&layouts[large], 1, stamp_of(rank, large, how), true);
    MPI_Isend(images[large].base, 1, layouts[large].type, kReceiver, tag_of(rank, large), comm,
              &requests[large]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int large = 0; large < 2; large++) image_free(&images[large]), layout_free(&layouts[large]);
}

static void receive_one(How how, int source, int tag, const char* path) {
  MPI_Status status;
  MPI_Message message;
  int ints = 0;
  look(how, source, tag, &message, &status);
  const int large = status.MPI_TAG % 10, blocks = large ? kLargeBlocks : kSmallBlocks;
  MPI_Get_count(&status, MPI_INT, &ints);
  CHECK(ints == 2 * blocks, "%s found %d ints, %d were sent", kHowNames[how], ints, 2 * blocks);
  CHECK(status.MPI_TAG == tag_of(status.MPI_SOURCE, large), "source %d, tag %d", status.MPI_SOURCE,
        status.MPI_TAG);
  Layout layout = layout_irregular(blocks, 2);
  const uint32_t stamp = stamp_of(status.MPI_SOURCE, large, how);
  Image image = layout_image(&layout, 1, stamp, false);
  take(how, &layout, image.base, &message, &status);
  CHECK_IMAGE(&image, stamp, "%s, tag %d, path %s", kHowNames[how], status.MPI_TAG, path);
  image_free(&image);
  layout_free(&layout);
}

/* Two senders: first by name and out of order, then whatever comes. */
static void round_of(How how, const char* path) {
  MPI_Barrier(comm);
  if (rank != kReceiver) {
    send_two(how);
    return;
  }
  receive_one(how, 2, tag_of(2, 1), path);
  receive_one(how, 1, MPI_ANY_TAG, path);
  receive_one(how, MPI_ANY_SOURCE, MPI_ANY_TAG, path);
  receive_one(how, MPI_ANY_SOURCE, MPI_ANY_TAG, path);
}

/* A message taken out of the queue is not found by the next receive, though it came first. */
static void taken_first(void) {
  MPI_Barrier(comm);
  int values[2] = {7, 8};
  if (rank == 1) {
    MPI_Send(&values[0], 1, MPI_INT, kReceiver, 1, comm);
    MPI_Send(&values[1], 1, MPI_INT, kReceiver, 1, comm);
  }
  if (rank != kReceiver) return;
  MPI_Message message;
  values[0] = values[1] = 0;
  MPI_Mprobe(1, 1, comm, &message, MPI_STATUS_IGNORE);
  MPI_Recv(&values[1], 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
  MPI_Mrecv(&values[0], 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  CHECK(values[0] == 7 && values[1] == 8, "%d, then %d", values[0], values[1]);
}

static void nobody(void) {
  MPI_Status status;
  MPI_Message message;
  int found = 1;
  CHECK_MPI(MPI_Iprobe(MPI_ANY_SOURCE, 999, comm, &found, &status));
  CHECK(!found, "found a message that nobody sent");
  CHECK_MPI(MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, &status));
  CHECK(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "source %d",
        status.MPI_SOURCE);
  CHECK_MPI(MPI_Mrecv(NULL, 0, MPI_INT, &message, &status));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (How how = kProbe; how < kHowCount; how++) round_of(how, kPaths[p]);
  }
  taken_first();
  nobody();
  MPI_Comm_free(&comm);
  return check_finish();
}
