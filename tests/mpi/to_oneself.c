/* to_oneself.c: messages to oneself between those of the neighbour, in all modes of sending, with
 * wildcards, matched probes, cancelled receives and too little room.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"
#include "support/random.h"
#ifdef HAVE_MAD
#include "support/counter.h"
#endif

enum { kTag = 1, kOtherTag = 2, kTurns = 60, kMany = 300, kBytes = 4096 };
static const int kBlocks[] = {0, 1, 20, 3000, 40000};
enum { kSizes = sizeof(kBlocks) / sizeof(kBlocks[0]) };

static MPI_Comm comm;
static int rank, size;
static uint32_t stamp;

typedef enum Mode { kStandard, kBuffered, kSynchronous, kReady, kModes } Mode;

static void start_send(Mode mode, const Image* image, MPI_Datatype type, MPI_Request* request) {
  int (*const sends[kModes])(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*) = {
      MPI_Isend, MPI_Ibsend, MPI_Issend, MPI_Irsend};
  CHECK_MPI(sends[mode](image->base, 1, type, rank, kTag, comm, request));
}

/* Holes on either side, and none. */
static Layout layout_of(int which, int blocks) {
  if (which == 0) return layout_strided(blocks, 2, 3);
  return which == 1 ? layout_irregular(blocks, 2) : layout_contiguous(2 * blocks);
}

static void in_mode(Mode mode, int blocks, int from, int to, bool receive_first, const char* path) {
  Layout out = layout_of(from, blocks), in = layout_of(to, blocks);
  Image sent = layout_image(&out, 1, ++stamp, true), taken = layout_image(&in, 1, stamp, false);
  MPI_Request send, receive;
  MPI_Status status;
  int ints;
  if (receive_first) MPI_Irecv(taken.base, 1, in.type, MPI_ANY_SOURCE, kTag, comm, &receive);
  start_send(mode, &sent, out.type, &send);
  if (mode == kBuffered) image_fill(&sent, stamp + 1, true);
  if (!receive_first) MPI_Irecv(taken.base, 1, in.type, rank, MPI_ANY_TAG, comm, &receive);
  CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Wait(&receive, &status));
  MPI_Get_elements(&status, MPI_INT, &ints);
  CHECK(status.MPI_SOURCE == rank && status.MPI_TAG == kTag && ints == 2 * blocks,
        "%d ints of rank %d, tag %d", ints, status.MPI_SOURCE, status.MPI_TAG);
  CHECK_IMAGE(&taken, stamp, "mode %d, %d blocks, layouts %d and %d, first %d, path %s", mode,
              blocks, from, to, receive_first, path);
  image_free(&sent), image_free(&taken);
  layout_free(&out), layout_free(&in);
  stamp++;
}

static void in_all_modes(const char* path) {
  for (int mode = 0; mode < kModes; mode++) {
    for (int b = 0; b < kSizes; b++) {
      for (int which = 0; which < 9; which += 1 + mode) {
        if (mode != kReady) in_mode(mode, kBlocks[b], which / 3, which % 3, false, path);
        in_mode(mode, kBlocks[b], which / 3, which % 3, true, path);
      }
    }
  }
}

/* A synchronous send is not over before it is received, as far as one can see. */
static void synchronous(int ints) {
  int* const out = calloc((size_t)ints + 1, sizeof(int));
  int* const in = calloc((size_t)ints + 1, sizeof(int));
  int done = 0;
  MPI_Request send;
  MPI_Message message;
  out[0] = ints;
  MPI_Issend(out, ints + 1, MPI_INT, rank, kTag, comm, &send);
  MPI_Mprobe(MPI_ANY_SOURCE, kTag, comm, &message, MPI_STATUS_IGNORE);
  MPI_Test(&send, &done, MPI_STATUS_IGNORE);
  CHECK(!done, "%d ints are claimed, not received", ints);
  MPI_Mrecv(in, ints + 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Test(&send, &done, MPI_STATUS_IGNORE);
  CHECK(done && in[0] == ints, "%d ints were received", ints);
  if (!done) MPI_Wait(&send, MPI_STATUS_IGNORE);
  free(out), free(in);
}

/* Each rank sends to all, itself too; of each sender messages come in the order of their sending.
 */
static void with_the_neighbour(void) {
  int next[2] = {0, 0}, numbers[2 * kTurns];
  MPI_Request requests[2 * kTurns];
  Random random = random_from((uint64_t)rank + 5);
  for (int turn = 0; turn < kTurns; turn++) {
    for (int to = 0; to < size; to++) {
      MPI_Request* const request = &requests[turn * size + to];
      int* const number = &numbers[turn * size + to];
      *number = turn;
      if (random_below(&random, 3) == 0)
        MPI_Issend(number, 1, MPI_INT, to, kTag, comm, request);
      else
        MPI_Isend(number, 1, MPI_INT, to, kTag, comm, request);
    }
    for (uint64_t n = random_below(&random, 4); n > 0 && next[0] + next[1] < size * turn; n--) {
      MPI_Status status;
      int got;
      MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &status);
      CHECK(got == next[status.MPI_SOURCE], "%d of rank %d", got, status.MPI_SOURCE);
      next[status.MPI_SOURCE]++;
    }
  }
  while (next[0] + next[1] < size * kTurns) {
    MPI_Status status;
    int got;
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    CHECK(got == next[status.MPI_SOURCE], "%d of rank %d", got, status.MPI_SOURCE);
    next[status.MPI_SOURCE]++;
  }
  MPI_Waitall(size * kTurns, requests, MPI_STATUSES_IGNORE);
}

/* More than is kept of messages that wait. */
static void many(void) {
  static char out[kMany][kBytes], in[kBytes];
  static MPI_Request requests[kMany];
  for (int i = 0; i < kMany; i++) {
    out[i][0] = out[i][kBytes - 1] = (char)i;
    MPI_Isend(out[i], kBytes, MPI_CHAR, rank, kTag, comm, &requests[i]);
  }
  for (int i = 0; i < kMany; i++) {
    MPI_Recv(in, kBytes, MPI_CHAR, rank, kTag, comm, MPI_STATUS_IGNORE);
    CHECK(in[0] == (char)i && in[kBytes - 1] == (char)i, "message %d", i);
  }
  MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
}

static void cancelled(void) {
  int out = 3, in = 0, other = 0, flag = 0;
  MPI_Request receive, cancel;
  MPI_Status status;
  MPI_Irecv(&other, 1, MPI_INT, rank, kTag, comm, &cancel);
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, kTag, comm, &receive);
  MPI_Cancel(&cancel);
  MPI_Wait(&cancel, &status);
  MPI_Test_cancelled(&status, &flag);
  CHECK(flag, "it waited");
  MPI_Send(&out, 1, MPI_INT, rank, kTag, comm);
  MPI_Wait(&receive, &status);
  CHECK(in == 3 && other == 0, "%d, and the cancelled one %d", in, other);
}

static void without_room(int ints) {
  int* const out = calloc((size_t)ints, sizeof(int));
  int in[2] = {0, 7};
  MPI_Request send;
  MPI_Status status;
  for (int receive_first = 0; receive_first < 2; receive_first++) {
    MPI_Request receive;
    out[0] = 5;
    if (receive_first) MPI_Irecv(in, 1, MPI_INT, rank, kOtherTag, comm, &receive);
    CHECK_MPI(MPI_Isend(out, ints, MPI_INT, rank, kOtherTag, comm, &send));
    if (!receive_first) MPI_Irecv(in, 1, MPI_INT, rank, kOtherTag, comm, &receive);
    CHECK_CLASS(MPI_Wait(&receive, &status), MPI_ERR_TRUNCATE);
    CHECK_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(in[0] == 5 && in[1] == 7, "%d and %d", in[0], in[1]);
  }
  free(out);
}

/* Nothing of it travels. */
static void counted(void) {
#ifdef HAVE_MAD
  int out = 1, in = 0;
  MPI_Request receive;
  counters_open();
  const uint64_t messages = counter_read("mad_self_messages");
  const uint64_t bytes = counter_read("mad_self_bytes");
  MPI_Irecv(&in, 1, MPI_INT, rank, kTag, comm, &receive);
  MPI_Send(&out, 1, MPI_INT, rank, kTag, comm);
  int done = 0;
  MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
  CHECK(done && in == 1, "the send completes the receive");
  CHECK(counter_read("mad_self_messages") - messages == 1, "one message");
  CHECK(counter_read("mad_self_bytes") - bytes == sizeof(int), "of one int");
  counters_close();
#endif
}

int main(int argc, char** argv) {
  enum { kRoom = 1 << 20 };
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size > 2) return check_skip("two ranks at most");
  void* room = malloc(kRoom);
  int detached;
  MPI_Buffer_attach(room, kRoom);
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    in_all_modes(kPaths[p]);
  }
  path_set(comm, "auto");
  synchronous(1), synchronous(1 << 18);
  MPI_Barrier(comm);
  with_the_neighbour();
  MPI_Barrier(comm);
  many();
  cancelled();
  without_room(10), without_room(1 << 18);
  counted();
  MPI_Buffer_detach(&room, &detached);
  free(room);
  MPI_Comm_free(&comm);
  return check_finish();
}
