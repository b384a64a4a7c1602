/* matching.c: random programs of sends, receives, probes and cancels, against two literal lists.
 *
 * Rank 0 sends, rank 1 receives, and both know the program, which the seed makes.  In each round
 * some receives are posted before the messages are sent and some afterwards, on two communicators,
 * with and without wildcards; some are cancelled, some messages taken by matched probes.  As all
 * messages of a round have one sender, and an empty one after them is received before anything is
 * asked for, MPI says of each which receive it goes to.
 *
 * matching [THREADS]: so many threads of both ranks do that at once, with communicators of their
 * own.  `tools/mad test debian` runs it on Debian's MPICH, too, whose matching is MPICH's generic
 * one: that both hold to the lists says that both give each message to the same receive.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/random.h"

enum {
  kRounds = 150,
  kMost = 24, /* messages, and receives, of a round */
  kComms = 2,
  kTags = 3,
  kMostThreads = 8,
  kLongest = 100000, /* bytes */
  kDone = 1000       /* tag of a round's last message */
};

typedef struct Message {
  int comm, tag, bytes, synchronous;
  int taken; /* no receive may have it any more */
} Message;

typedef struct Receive {
  int comm, source, tag;
  int cancelled;
  int message; /* index, or -1 */
  MPI_Request request;
  unsigned char* memory;
} Receive;

/* A thread's. */
static _Thread_local MPI_Comm comms[kComms], control;
static _Thread_local Random program;
static _Thread_local int number;
static int rank;

static int any(int n) { return (int)random_below(&program, (uint32_t)n); }

static unsigned char byte_of(int round, int message, int i) {
  return (unsigned char)(number * 101 + round * 31 + message * 7 + i + i / 251);
}

static Message random_message(void) {
  static const int kBytes[] = {0, 1, 8, 300, 9000, kLongest};
  return (Message){any(kComms), any(kTags), kBytes[any(6)], any(5) == 0, 0};
}

static Receive random_receive(void) {
  return (Receive){any(kComms),
                   any(2) ? MPI_ANY_SOURCE : 0,
                   any(3) ? any(kTags) : MPI_ANY_TAG,
                   any(6) == 0,
                   -1,
                   MPI_REQUEST_NULL,
                   NULL};
}

static bool matches(const Receive* receive, const Message* message) {
  return receive->comm == message->comm &&
         (receive->tag == MPI_ANY_TAG || receive->tag == message->tag);
}

/* What MPI says: each message to the first receive that waits for it ... */
static void match_posted(Message* messages, int count, Receive* posted, int receives) {
  for (int m = 0; m < count; m++) {
    for (int r = 0; r < receives && !messages[m].taken; r++) {
      if (posted[r].cancelled || posted[r].message >= 0 || !matches(&posted[r], &messages[m]))
        continue;
      posted[r].message = m;
      messages[m].taken = 1;
    }
  }
}

/* ... and a receive gets the first message that waits. */
static int match_waiting(Message* messages, int count, const Receive* receive) {
  for (int m = 0; m < count; m++) {
    if (messages[m].taken || !matches(receive, &messages[m])) continue;
    messages[m].taken = 1;
    return m;
  }
  return -1;
}

static void post(Receive* receive) {
  receive->memory = calloc(kLongest, 1);
  CHECK_MPI(MPI_Irecv(receive->memory, kLongest, MPI_BYTE, receive->source, receive->tag,
                      comms[receive->comm], &receive->request));
}

static void verify(int round, const Message* messages, const Receive* receive,
                   const MPI_Status* status) {
  const Message* message = &messages[receive->message];
  int bytes = -1;
  MPI_Get_count(status, MPI_BYTE, &bytes);
  CHECK(bytes == message->bytes && status->MPI_TAG == message->tag && status->MPI_SOURCE == 0,
        "round %d, message %d: %d bytes, tag %d of rank %d, not %d and tag %d", round,
        receive->message, bytes, status->MPI_TAG, status->MPI_SOURCE, message->bytes, message->tag);
  for (int i = 0; i < message->bytes; i++) {
    if (receive->memory[i] == byte_of(round, receive->message, i)) continue;
    CHECK(false, "round %d, message %d: byte %d is wrong", round, receive->message, i);
    break;
  }
}

static void finish(int round, const Message* messages, Receive* receive) {
  MPI_Status status;
  int cancelled = 0;
  if (receive->message < 0) CHECK_MPI(MPI_Cancel(&receive->request));
  CHECK_MPI(MPI_Wait(&receive->request, &status));
  CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
  CHECK(cancelled == (receive->message < 0), "round %d: cancelled %d, message %d", round, cancelled,
        receive->message);
  if (receive->message >= 0 && !cancelled) verify(round, messages, receive, &status);
  free(receive->memory);
}

/* By a probe, a matched probe, or a receive. */
static void ask(int round, Message* messages, int count) {
  Receive receive = random_receive();
  MPI_Comm comm = comms[receive.comm];
  MPI_Message claimed = MPI_MESSAGE_NULL;
  MPI_Status status;
  const int how = any(3);
  int found = 1;
  receive.message = match_waiting(messages, count, &receive);
  receive.memory = calloc(kLongest, 1);
  if (how == 0) CHECK_MPI(MPI_Iprobe(receive.source, receive.tag, comm, &found, &status));
  if (how == 1)
    CHECK_MPI(MPI_Improbe(receive.source, receive.tag, comm, &found, &claimed, &status));
  if (how < 2)
    CHECK(found == (receive.message >= 0), "round %d: found %d, message %d", round, found,
          receive.message);
  if (receive.message >= 0 && found) {
    if (how == 1)
      CHECK_MPI(MPI_Mrecv(receive.memory, kLongest, MPI_BYTE, &claimed, &status));
    else
      CHECK_MPI(
          MPI_Recv(receive.memory, kLongest, MPI_BYTE, receive.source, receive.tag, comm, &status));
    verify(round, messages, &receive, &status);
  }
  free(receive.memory);
}

static void send_all(int round, const Message* messages, int count) {
  MPI_Request requests[kMost];
  unsigned char* memory[kMost];
  MPI_Recv(NULL, 0, MPI_BYTE, 1, kDone, control, MPI_STATUS_IGNORE);
  for (int m = 0; m < count; m++) {
    const Message* message = &messages[m];
    MPI_Comm comm = comms[message->comm];
    memory[m] = malloc((size_t)message->bytes + 1);
    for (int i = 0; i < message->bytes; i++) memory[m][i] = byte_of(round, m, i);
    if (message->synchronous)
      CHECK_MPI(
          MPI_Issend(memory[m], message->bytes, MPI_BYTE, 1, message->tag, comm, &requests[m]));
    else
      CHECK_MPI(
          MPI_Isend(memory[m], message->bytes, MPI_BYTE, 1, message->tag, comm, &requests[m]));
  }
  MPI_Send(NULL, 0, MPI_BYTE, 1, kDone, control);
  CHECK_MPI(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
  for (int m = 0; m < count; m++) free(memory[m]);
}

static void receive_all(int round, Message* messages, int count, Receive* posted, int receives) {
  for (int r = 0; r < receives; r++) {
    post(&posted[r]);
    if (!posted[r].cancelled) continue;
    MPI_Status status;
    int cancelled = 0;
    CHECK_MPI(MPI_Cancel(&posted[r].request));
    CHECK_MPI(MPI_Wait(&posted[r].request, &status));
    CHECK_MPI(MPI_Test_cancelled(&status, &cancelled));
    CHECK(cancelled, "round %d: receive %d was not cancelled", round, r);
    free(posted[r].memory);
  }
  match_posted(messages, count, posted, receives);
  MPI_Send(NULL, 0, MPI_BYTE, 0, kDone, control);
  MPI_Recv(NULL, 0, MPI_BYTE, 0, kDone, control, MPI_STATUS_IGNORE);
  for (int asked = any(kMost); asked > 0; asked--) ask(round, messages, count);
  for (int m = 0; m < count; m++) {
    Receive rest = {messages[m].comm, 0, messages[m].tag, 0, m, MPI_REQUEST_NULL, NULL};
    if (messages[m].taken) continue;
    messages[m].taken = 1;
    post(&rest);
    finish(round, messages, &rest);
  }
  for (int r = 0; r < receives; r++) {
    if (!posted[r].cancelled) finish(round, messages, &posted[r]);
  }
}

typedef struct Thread {
  int number;
  uint64_t seed;
  MPI_Comm comms[kComms], control;
} Thread;

static Thread make_thread(int its_number, uint64_t seed) {
  Thread thread = {.number = its_number, .seed = seed, .control = check_comm(MPI_COMM_WORLD)};
  for (int c = 0; c < kComms; c++) thread.comms[c] = check_comm(MPI_COMM_WORLD);
  return thread;
}

static void* run_rounds(void* argument) {
  const Thread* thread = argument;
  number = thread->number;
  control = thread->control;
  for (int c = 0; c < kComms; c++) comms[c] = thread->comms[c];
  for (int round = 0; round < kRounds && check_failures() == 0; round++) {
    Message messages[kMost];
    Receive posted[kMost];
    int count, receives;
    program = random_from(thread->seed + (uint64_t)round);
    count = any(kMost);
    receives = any(kMost);
    for (int m = 0; m < count; m++) messages[m] = random_message();
    for (int r = 0; r < receives; r++) posted[r] = random_receive();
    if (rank == 0) send_all(round, messages, count);
    if (rank == 1) receive_all(round, messages, count, posted, receives);
  }
  return NULL;
}

static void run_threads(uint64_t seed, int count) {
  pthread_t handles[kMostThreads];
  Thread threads[kMostThreads];
  for (int t = 0; t < count; t++) threads[t] = make_thread(t, seed + (uint64_t)t * kRounds);
  for (int t = 1; t < count; t++) {
    if (pthread_create(&handles[t], NULL, run_rounds, &threads[t]) == 0) continue;
    fprintf(stderr, "thread %d of %d cannot be had\n", t, count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  (void)run_rounds(&threads[0]);
  for (int t = 1; t < count; t++) pthread_join(handles[t], NULL);
  for (int t = 0; t < count; t++) {
    for (int c = 0; c < kComms; c++) MPI_Comm_free(&threads[t].comms[c]);
    MPI_Comm_free(&threads[t].control);
  }
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  uint64_t seed = random_seed(38);
  int provided;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  CHECK(threads >= 1 && threads <= kMostThreads, "%d threads; 1 to %d can be had", threads,
        kMostThreads);
  CHECK(threads == 1 || provided == MPI_THREAD_MULTIPLE, "thread level %d", provided);
  if (check_failures() == 0) run_threads(seed, threads);
  if (check_failures() > 0) fprintf(stderr, "MAD_SEED=%llu\n", (unsigned long long)seed);
  return check_finish();
}
