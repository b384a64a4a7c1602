/* absent.c: a sender that stays away from MPI once its sends have returned: the receiver gets all.
 *
 * What waits in the sender's memory would wait for the sender's next call of MPI.  So the sender
 * waits outside of MPI until the receiver has everything. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 1, kWindow = 64, kMaxBytes = 1000, kPause_us = 100000, kPatience_ms = 20000 };

typedef struct {
  int count, bytes;
  bool windows; /* of sends that are waited for together, else MPI_Send */
} Round;

/* The first is a first contact; the others are more than sockets and queues take while nobody
 * receives. */
static const Round kRounds[] = {{1, 0, false},          {60032, 0, false}, {60032, 0, true},
                                {60032, 8, false},      {60032, 8, true},  {1024, kMaxBytes, false},
                                {1024, kMaxBytes, true}};

/* A pipe where the two meet outside of MPI, without having met inside. */
static int open_pipe(char* name, size_t size) {
  snprintf(name, size, "/tmp/mad-absent-%d", (int)getppid());
  (void)mkfifo(name, 0600); /* by one of the two */
  const int pipe = open(name, O_RDWR);
  CHECK(pipe >= 0, "cannot open %s", name);
  return pipe;
}

static void await_receiver(int pipe, int round) {
  struct pollfd told = {pipe, POLLIN, 0};
  char byte;
  const bool came = poll(&told, 1, kPatience_ms) == 1 && read(pipe, &byte, 1) == 1;
  CHECK(came, "round %d: the receiver still waits for what was sent", round);
}

static void tell_sender(int pipe) { CHECK(write(pipe, "", 1) == 1, "the sender is gone"); }

static void send_many(const Round* round) {
  static char data[kMaxBytes];
  MPI_Request requests[kWindow];
  for (int i = 0; i < round->count; i += round->windows ? kWindow : 1) {
    if (!round->windows) {
      MPI_Send(data, round->bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
      continue;
    }
    for (int k = 0; k < kWindow; k++) {
      MPI_Isend(data, round->bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  }
}

static void receive_many(const Round* round) {
  char data[kMaxBytes];
  for (int i = 0; i < round->count; i++) {
    MPI_Recv(data, round->bytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  char name[64];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int pipe = open_pipe(name, sizeof(name));
  for (size_t r = 0; r < sizeof(kRounds) / sizeof(*kRounds); r++) {
    const Round* const round = &kRounds[r];
    if (rank == 0) {
      send_many(round);
      await_receiver(pipe, (int)r);
    } else if (rank == 1) {
      if (round->count > 1) usleep(kPause_us); /* what the fabric takes is full by then */
      receive_many(round);
      tell_sender(pipe);
    }
  }
  close(pipe);
  if (rank == 0) unlink(name);
  return check_finish();
}
