/* any_source.c: receives from whoever comes, and the order of each sender's messages. */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"
#include "support/random.h"

enum { kMessages = 40, kMaxRanks = 16, kMaxInts = 40000, kTag = 1 };

static MPI_Comm comm;
static int rank, size;

/* Lengths that mix what fits one packet with what does not; the same on both sides. */
static int blocks_of(int sender, int message) {
  static const int kBlocks[] = {0, 1, 10, 700, kMaxInts / 2};
  Random random = random_from((uint64_t)(sender * kMessages + message));
  return kBlocks[random_below(&random, 5)];
}

static uint32_t stamp_of(int sender, int message) {
  return 1 + (uint32_t)(sender * kMessages + message);
}

static void send_all(void) {
  Layout layouts[kMessages];
  Image images[kMessages];
  MPI_Request requests[kMessages];
  for (int m = 0; m < kMessages; m++) {
    layouts[m] = layout_strided(blocks_of(rank, m), 2, 3);
    images[m] = layout_image(&layouts[m], 1, stamp_of(rank, m), true);
    MPI_Isend(images[m].base, 1, layouts[m].type, 0, kTag, comm, &requests[m]);
  }
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; m < kMessages; m++) image_free(&images[m]), layout_free(&layouts[m]);
}

/* Every receive is large enough for every message, and cares for what came. */
static void check_one(Image* image, const MPI_Status* status, int* next, const char* path) {
  const int sender = status->MPI_SOURCE;
  CHECK(sender > 0 && sender < size && next[sender] < kMessages, "a message of rank %d", sender);
  if (sender <= 0 || sender >= size || next[sender] >= kMessages) return;
  const int message = next[sender]++;
  int ints;
  MPI_Get_elements(status, MPI_INT, &ints);
  CHECK(ints == 2 * blocks_of(sender, message), "message %d of rank %d has %d ints, sent %d",
        message, sender, ints, 2 * blocks_of(sender, message));
  /* The guards around it were filled for this receive, the payload by the sender. */
  size_t position = 0;
  Image expected = image_new(&image->map, 0, 1);
  image_fill(&expected, stamp_of(sender, message), true);
  bool same = true;
  for (size_t i = 0; i < (size_t)ints && i < image->map.count; i++, position++) {
    const int64_t at = image->map.entries[i].offset - image->low;
    for (int b = 0; b < 4; b++) same = same && image->memory[at + b] == expected.memory[at + b];
  }
  CHECK(same, "wrong bytes in message %d of rank %d, path %s", message, sender, path);
  image_free(&expected);
}

/* The first messages leave before the receives are posted. */
static void begin_late(void) {
  MPI_Request everybody;
  MPI_Ibarrier(comm, &everybody);
  if (rank != 0) send_all();
  MPI_Wait(&everybody, MPI_STATUS_IGNORE);
}

static void receive_all(bool posted, const char* path) {
  const int total = (size - 1) * kMessages;
  enum { kRing = 8 };
  int next[kMaxRanks] = {0};
  Layout layout = layout_strided(kMaxInts / 2, 2, 3);
  Image images[kRing];
  MPI_Request requests[kRing];
  for (int r = 0; r < kRing; r++) images[r] = layout_image(&layout, 1, 0, false);
  if (!posted) begin_late();
  for (int r = 0; r < kRing; r++) {
    MPI_Irecv(images[r].base, 1, layout.type, MPI_ANY_SOURCE, kTag, comm, &requests[r]);
  }
  if (posted) MPI_Barrier(comm);
  for (int m = 0; m < total; m++) {
    /* In the order posted, which is the order in which they were matched. */
    MPI_Status status;
    const int slot = m % kRing;
    MPI_Wait(&requests[slot], &status);
    check_one(&images[slot], &status, next, path);
    if (m + kRing < total) {
      MPI_Irecv(images[slot].base, 1, layout.type, MPI_ANY_SOURCE, kTag, comm, &requests[slot]);
    }
  }
  for (int s = 1; s < size; s++) CHECK(next[s] == kMessages, "rank %d: %d came", s, next[s]);
  for (int r = 0; r < kRing; r++) image_free(&images[r]);
  layout_free(&layout);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (int posted = 0; posted < 2; posted++) {
      if (rank == 0) {
        receive_all(posted, kPaths[p]);
      } else {
        if (posted) {
          MPI_Barrier(comm);
          send_all();
        } else {
          begin_late();
        }
      }
      MPI_Barrier(comm);
    }
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
