/* piggyback.c: values that messages take along (mpix_mad.h).
 *
 * `piggyback` with two ranks or more: rank 0 sends to rank 1; all send in the collective
 * operations.  Alone it sends to itself.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/path.h"

#ifndef HAVE_MAD
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return check_skip("this MPI has no mpix_mad.h");
}
#else

enum { kTag = 3, kLong = 1 << 20, kKept = MPIX_MAD_PIGGYBACK_KEPT };

static int rank, size;
static char out[kLong], in[kLong];

static void expect_value(const MPI_Status* status, long expected, const char* where) {
  long value = -1;
  int bytes = -2;
  CHECK_MPI(MPIX_Mad_piggyback_get(status, &value, 1, MPI_LONG, &bytes));
  CHECK(bytes == (int)sizeof(value) && value == expected, "%s: %d bytes, value %ld, expected %ld",
        where, bytes, value, expected);
}

static void expect_nothing(const MPI_Status* status, const char* where) {
  long value = -1;
  int bytes = -2;
  CHECK_MPI(MPIX_Mad_piggyback_get(status, &value, 1, MPI_LONG, &bytes));
  CHECK(bytes == MPI_UNDEFINED && value == -1, "%s: %d bytes, value %ld", where, bytes, value);
}

static void expect_count(const MPI_Status* status, int expected) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  MPI_Test_cancelled(status, &cancelled);
  CHECK(count == expected && !cancelled, "count %d, expected %d, cancelled %d", count, expected,
        cancelled);
}

static MPI_Comm with_collectives(const char* value) {
  MPI_Comm made = check_comm(MPI_COMM_WORLD);
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mad_piggyback_collectives", value);
  CHECK_MPI(MPI_Comm_set_info(made, info));
  MPI_Info_free(&info);
  return made;
}

/* ---- every kind of send and receive ---- */

typedef enum Mode { kStandard, kSynchronous, kBuffered, kReady, kPersistent, kModes } Mode;
typedef enum How { kRecv, kPosted, kProbed, kMatched, kAny, kHows } How;

static void post(Mode mode, int bytes, int to, MPI_Comm comm, MPI_Request* request) {
  if (mode == kStandard) MPI_Isend(out, bytes, MPI_BYTE, to, kTag, comm, request);
  if (mode == kSynchronous) MPI_Issend(out, bytes, MPI_BYTE, to, kTag, comm, request);
  if (mode == kBuffered) MPI_Ibsend(out, bytes, MPI_BYTE, to, kTag, comm, request);
  if (mode == kReady) MPI_Irsend(out, bytes, MPI_BYTE, to, kTag, comm, request);
  if (mode != kPersistent) return;
  MPI_Send_init(out, bytes, MPI_BYTE, to, kTag, comm, request);
  MPI_Start(request);
}

static void receive(How how, int bytes, int from, MPI_Comm comm, MPI_Request* posted,
                    long expected) {
  MPI_Status status;
  MPI_Message message;
  if (how == kRecv) MPI_Recv(in, bytes, MPI_BYTE, from, kTag, comm, &status);
  if (how == kPosted) MPI_Wait(posted, &status);
  if (how == kAny) MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  if (how == kProbed) {
    MPI_Probe(from, kTag, comm, &status);
    expect_count(&status, bytes);
    expect_value(&status, expected, "probed");
    MPI_Recv(in, bytes, MPI_BYTE, from, kTag, comm, &status);
  }
  if (how == kMatched) {
    MPI_Mprobe(from, kTag, comm, &message, &status);
    expect_value(&status, expected, "matched");
    MPI_Mrecv(in, bytes, MPI_BYTE, &message, &status);
  }
  expect_count(&status, bytes);
  expect_value(&status, expected, "received");
  expect_value(&status, expected, "asked for again");
}

/* The value is read when the message is sent, or started. */
static void one(Mode mode, How how, int bytes, int from, int to, MPI_Comm comm, long* value) {
  MPI_Request send, posted = MPI_REQUEST_NULL;
  long sent = ++*value;
  if (rank == to && (how == kPosted)) MPI_Irecv(in, bytes, MPI_BYTE, from, kTag, comm, &posted);
  if (size > 1) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == from) post(mode, bytes, to, comm, &send);
  *value = -5;
  if (rank == to) receive(how, bytes, from, comm, &posted, sent);
  if (rank == from) MPI_Wait(&send, MPI_STATUS_IGNORE);
  if (rank == from && mode == kPersistent) MPI_Request_free(&send);
  *value = sent;
}

static void all_modes(MPI_Comm comm, int from, int to) {
  static const int kSizes[] = {0, 8, 5000, 100000, kLong};
  long value = 0;
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG));
  for (int s = 0; s < 5; s++)
    for (int mode = 0; mode < kModes; mode++)
      for (int how = 0; how < kHows; how++)
        if (mode != kReady || how == kPosted)
          one((Mode)mode, (How)how, kSizes[s], from, to, comm, &value);
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG));
}

static void sendrecv(MPI_Comm comm) {
  long value = 100 + rank;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  MPI_Status status;
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG));
  CHECK_MPI(
      MPI_Sendrecv(out, 10, MPI_BYTE, next, kTag, in, 10, MPI_BYTE, previous, kTag, comm, &status));
  expect_value(&status, 100 + previous, "sendrecv");
  CHECK_MPI(MPI_Sendrecv_replace(in, 10, MPI_BYTE, next, kTag, previous, kTag, comm, &status));
  expect_value(&status, 100 + previous, "sendrecv_replace");
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 0, MPI_LONG));
}

/* ---- what the two sides need not agree on ---- */

static void transfer(MPI_Comm comm, int bytes, MPI_Status* status) {
  if (rank == 0) MPI_Send(out, bytes, MPI_BYTE, 1, kTag, comm);
  if (rank == 1) MPI_Recv(in, bytes, MPI_BYTE, 0, kTag, comm, status);
}

static void sides(MPI_Comm comm) {
  int three[3] = {1, 2, 3}, room[4] = {0, 0, 0, 0}, bytes;
  MPI_Status status;
  MPI_Comm copy;
  transfer(comm, 4, &status);
  if (rank == 1) expect_nothing(&status, "nothing attached");
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, three, 3, MPI_INT);
  transfer(comm, 4, &status);
  if (rank == 1) {
    int error = MPIX_Mad_piggyback_get(&status, room, 2, MPI_INT, &bytes);
    CHECK_CLASS(error, MPI_ERR_TRUNCATE);
    CHECK_TEXT(error, "has 12 bytes; there is room for 8");
    CHECK(room[0] == 1 && room[1] == 2 && room[2] == 0, "%d %d %d", room[0], room[1], room[2]);
    CHECK_MPI(MPIX_Mad_piggyback_get(&status, room, 4, MPI_INT, &bytes));
    CHECK(bytes == 12 && room[2] == 3 && room[3] == 0, "%d bytes, %d %d", bytes, room[2], room[3]);
    CHECK_CLASS(MPIX_Mad_piggyback_get(&status, NULL, 0, MPI_INT, &bytes), MPI_ERR_TRUNCATE);
    CHECK(bytes == 12, "%d bytes of no room", bytes);
    MPI_Status_set_elements(&status, MPI_BYTE, 4);
    expect_nothing(&status, "another count");
  }
  MPI_Comm_dup(comm, &copy);
  transfer(copy, 4, &status);
  if (rank == 1) expect_nothing(&status, "a copy");
  MPI_Comm_free(&copy);
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, NULL, 3, MPI_INT);
  transfer(comm, 4, &status);
  if (rank == 1) expect_nothing(&status, "detached");
}

/* Every second int of a struct with holes, attached and asked for in other layouts. */
static void holes(MPI_Comm comm) {
  int ints[8] = {1, 0, 2, 0, 3, 0, 4, 0}, packed[4] = {0}, apart[12], bytes;
  MPI_Datatype second, third;
  MPI_Status status;
  for (int i = 0; i < 12; i++) apart[i] = -1;
  MPI_Type_vector(4, 1, 2, MPI_INT, &second);
  MPI_Type_commit(&second);
  MPI_Type_vector(4, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&third);
  if (rank == 0) CHECK_MPI(MPIX_Mad_piggyback_attach(comm, ints, 1, second));
  MPI_Type_free(&second); /* what is attached keeps it */
  ints[2] = 20;
  transfer(comm, 100, &status);
  if (rank == 1) {
    CHECK_MPI(MPIX_Mad_piggyback_get(&status, packed, 4, MPI_INT, &bytes));
    CHECK(bytes == 16 && packed[0] == 1 && packed[1] == 20 && packed[3] == 4, "%d bytes: %d %d %d",
          bytes, packed[0], packed[1], packed[3]);
    CHECK_MPI(MPIX_Mad_piggyback_get(&status, apart, 1, third, &bytes));
    CHECK(apart[0] == 1 && apart[1] == -1 && apart[3] == 20 && apart[9] == 4, "%d %d %d %d",
          apart[0], apart[1], apart[3], apart[9]);
  }
  MPI_Type_free(&third);
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_INT);
}

/* With messages whose type is a struct of few fields, in all ways of receiving them. */
static void structs(MPI_Comm comm) {
  const int lengths[] = {1, 3};
  const MPI_Aint displacements[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_CHAR};
  long value = 0;
  MPI_Datatype type;
  MPI_Type_create_struct(2, lengths, displacements, types, &type);
  MPI_Type_commit(&type);
  if (rank == 0) CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG));
  for (int how = 0; how < 4; how++) {
    struct {
      int number;
      char pad[4], text[4];
    } item = {0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    value = 40 + how;
    if (rank == 1 && how == 1) MPI_Irecv(&item, 1, type, 0, kTag, comm, &request);
    MPI_Barrier(comm);
    if (rank == 0) {
      item.number = how;
      memcpy(item.text, "abc", 3);
      CHECK_MPI(how == 2 ? MPI_Ssend(&item, 1, type, 1, kTag, comm)
                         : MPI_Send(&item, 1, type, 1, kTag, comm));
    } else if (rank == 1) {
      CHECK_MPI(how == 1
                    ? MPI_Wait(&request, &status)
                    : MPI_Recv(&item, 1, type, how == 3 ? MPI_ANY_SOURCE : 0, kTag, comm, &status));
      CHECK(item.number == how && strcmp(item.text, "abc") == 0, "%d %s", item.number, item.text);
      expect_value(&status, 40 + how, "struct");
    }
  }
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG);
  MPI_Type_free(&type);
}

static void limits(MPI_Comm comm) {
  static char most[MPIX_MAD_PIGGYBACK_MAX + 1], got[sizeof(most)];
  MPI_Datatype all;
  MPI_Status status;
  int bytes = 0, error;
  memset(most, 'm', sizeof(most));
  error = MPIX_Mad_piggyback_attach(comm, most, sizeof(most), MPI_CHAR);
  CHECK_CLASS(error, MPI_ERR_COUNT);
  CHECK_TEXT(error, "has 257 bytes; a message takes at most 256 along");
  CHECK_CLASS(MPIX_Mad_piggyback_attach(comm, most, -1, MPI_CHAR), MPI_ERR_COUNT);
  CHECK_CLASS(MPIX_Mad_piggyback_attach(comm, most, 1, MPI_DATATYPE_NULL), MPI_ERR_TYPE);
  if (rank == 0) CHECK_MPI(MPIX_Mad_piggyback_attach(comm, most, sizeof(most) - 1, MPI_CHAR));
  transfer(comm, 3, &status);
  if (rank == 1) {
    CHECK_MPI(MPIX_Mad_piggyback_get(&status, got, sizeof(got), MPI_CHAR, &bytes));
    CHECK(bytes == MPIX_MAD_PIGGYBACK_MAX && memcmp(got, most, (size_t)bytes) == 0, "%d bytes",
          bytes);
    memset(got, 0, sizeof(got));
    MPI_Type_contiguous(sizeof(got), MPI_CHAR, &all);
    CHECK(MPIX_Mad_piggyback_get(&status, got, 1, all, &bytes) != MPI_SUCCESS, "not committed");
    MPI_Type_commit(&all);
    CHECK_MPI(MPIX_Mad_piggyback_get(&status, got, 1, all, &bytes));
    CHECK(memcmp(got, most, (size_t)bytes) == 0 && got[bytes] == 0, "into one long element");
    MPI_Type_free(&all);
  }
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_INT);
}

/* Many wait, and each has its own; of more than are kept the first are gone, which is said. */
static void many(MPI_Comm comm) {
  static MPI_Request requests[kKept + 1];
  static MPI_Status statuses[kKept + 1];
  long value = 0;
  int bytes;
  if (rank == 0) {
    MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG);
    for (int i = 0; i <= kKept; i++) {
      value = i;
      MPI_Send(out, 8, MPI_BYTE, 1, kTag, comm);
    }
    MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG);
  }
  if (rank == 1) {
    for (int i = 0; i <= kKept; i++) MPI_Irecv(in, 8, MPI_BYTE, 0, kTag, comm, &requests[i]);
    MPI_Waitall(kKept + 1, requests, statuses);
    int error = MPIX_Mad_piggyback_get(&statuses[0], &value, 1, MPI_LONG, &bytes);
    CHECK_CLASS(error, MPI_ERR_ARG);
    CHECK_TEXT(error, "the latest 1024 are kept");
    for (int i = 1; i <= kKept; i++) expect_value(&statuses[i], i, "one of many");
  }
}

/* A receive without room for the message has its value. */
static void truncation(MPI_Comm comm) {
  long value = 77;
  MPI_Status status;
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG);
  if (rank == 0) MPI_Send(out, 100, MPI_BYTE, 1, kTag, comm);
  if (rank == 1) {
    CHECK_CLASS(MPI_Recv(in, 10, MPI_BYTE, 0, kTag, comm, &status), MPI_ERR_TRUNCATE);
    expect_value(&status, 77, "too long a message");
  }
  if (rank == 0) MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG);
}

static void oink(MPI_Comm comm) {
  long value = 5, attached = 6, got = 0;
  MPI_Status status;
  if (rank == 0) {
    CHECK_MPI(MPIX_Mad_send_oink(out, 8, MPI_BYTE, 1, kTag, comm, &value, MPI_LONG, 1));
    MPIX_Mad_piggyback_attach(comm, &attached, 1, MPI_LONG);
    CHECK_MPI(MPIX_Mad_send_oink(out, kLong, MPI_BYTE, 1, kTag, comm, &value, MPI_LONG, 1));
    MPI_Send(out, 8, MPI_BYTE, 1, kTag, comm);
    MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG);
    CHECK_CLASS(MPIX_Mad_send_oink(out, 8, MPI_BYTE, 1, kTag, comm, out, MPI_LONG, 100),
                MPI_ERR_COUNT);
    MPI_Send(out, 8, MPI_BYTE, 1, kTag, comm);
  }
  if (rank == 1) {
    CHECK_MPI(MPIX_Mad_recv_oink(in, 8, MPI_BYTE, 0, kTag, comm, &status, &got, MPI_LONG, 1));
    CHECK(got == 5, "oink %ld", got);
    got = 0;
    CHECK_MPI(MPIX_Mad_recv_oink(in, kLong, MPI_BYTE, 0, kTag, comm, MPI_STATUS_IGNORE, &got,
                                 MPI_LONG, 1));
    CHECK(got == 5, "oink before what is attached: %ld", got);
    MPI_Recv(in, 8, MPI_BYTE, 0, kTag, comm, &status);
    expect_value(&status, 6, "attached again");
    MPI_Recv(in, 8, MPI_BYTE, 0, kTag, comm, &status);
    expect_nothing(&status, "after a failed oink");
  }
}

/* ---- callbacks and collective operations ---- */

typedef struct Seen {
  MPI_Comm comm;
  int messages, collective, values, wrong;
} Seen;

/* Each rank's value is 1000 and its rank. */
static void count(MPI_Comm comm, const MPI_Status* status, int collective, const void* value,
                  int bytes, void* extra) {
  Seen* seen = extra;
  long its;
  seen->messages++;
  seen->collective += (collective != 0);
  seen->wrong += (comm != seen->comm);
  if (value == NULL) return;
  seen->values++;
  memcpy(&its, value, sizeof(its));
  seen->wrong += (bytes != sizeof(its) || its != 1000 + status->MPI_SOURCE);
}

static void operations(MPI_Comm comm) {
  int mine = rank, sum = 0, all[64];
  MPI_Request request;
  MPI_Barrier(comm);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2, "sum %d", sum);
  MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm);
  for (int i = 0; i < size; i++) CHECK(all[i] == i, "%d from %d", all[i], i);
  MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Bcast(in, kLong, MPI_BYTE, 0, comm);
}

static void collectives(const char* hint) {
  const bool included = strcmp(hint, "true") == 0;
  MPI_Comm comm = with_collectives(hint);
  long value = 1000 + rank;
  Seen seen = {comm, 0, 0, 0, 0};
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG));
  CHECK_MPI(MPIX_Mad_piggyback_callback(comm, count, &seen));
  operations(comm);
  CHECK((seen.collective > 0) == included && seen.messages == seen.collective,
        "hint %s: %d of %d messages are collective", hint, seen.collective, seen.messages);
  CHECK(seen.values == seen.messages && seen.wrong == 0, "hint %s: %d values, %d wrong", hint,
        seen.values, seen.wrong);
  CHECK_MPI(MPIX_Mad_piggyback_callback(comm, NULL, NULL));
  seen.messages = 0;
  operations(comm);
  CHECK(seen.messages == 0, "%d after the end", seen.messages);
  MPI_Comm_free(&comm);
}

static void callbacks(MPI_Comm comm) {
  long value = 1000 + rank;
  Seen seen = {comm, 0, 0, 0, 0};
  MPI_Status status;
  CHECK_MPI(MPIX_Mad_piggyback_callback(comm, count, &seen));
  transfer(comm, 8, &status);
  CHECK(seen.messages == (rank == 1) && seen.values == 0, "%d messages, %d values", seen.messages,
        seen.values);
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, &value, 1, MPI_LONG));
  transfer(comm, kLong, &status);
  CHECK(seen.messages == 2 * (rank == 1) && seen.values == (rank == 1) && seen.wrong == 0,
        "%d messages, %d values, %d wrong", seen.messages, seen.values, seen.wrong);
  CHECK_MPI(MPIX_Mad_piggyback_callback(comm, NULL, NULL));
  CHECK_MPI(MPIX_Mad_piggyback_attach(comm, NULL, 0, MPI_LONG));
}

/* ---- threads ---- */

enum { kThreads = 4, kEach = 200 };
static MPI_Comm threads_comm;

static void* run_thread(void* argument) {
  const int me = (int)(size_t)argument;
  for (int i = 0; i < kEach; i++) {
    long value = me * 100000L + i;
    MPI_Status status;
    if (rank == 0)
      CHECK_MPI(MPIX_Mad_send_oink(out, 8, MPI_BYTE, 1, me, threads_comm, &value, MPI_LONG, 1));
    if (rank != 1) continue;
    CHECK_MPI(MPI_Recv(in + 8 * me, 8, MPI_BYTE, 0, me, threads_comm, &status));
    expect_value(&status, value, "of a thread");
  }
  return NULL;
}

static void threads(MPI_Comm comm) {
  pthread_t all[kThreads];
  threads_comm = comm;
  for (size_t i = 0; i < kThreads; i++) pthread_create(&all[i], NULL, run_thread, (void*)i);
  for (int i = 0; i < kThreads; i++) pthread_join(all[i], NULL);
}

static void alone(void) {
  MPI_Comm comm = check_comm(MPI_COMM_SELF);
  long value = 9, got = 0;
  const int world = rank;
  rank = 0;
  all_modes(comm, 0, 0);
  CHECK_MPI(MPIX_Mad_send_oink(out, 8, MPI_BYTE, 0, kTag, comm, &value, MPI_LONG, 1));
  CHECK_MPI(
      MPIX_Mad_recv_oink(in, 8, MPI_BYTE, 0, kTag, comm, MPI_STATUS_IGNORE, &got, MPI_LONG, 1));
  CHECK(got == 9, "to itself %ld", got);
  MPI_Comm_free(&comm);
  rank = world;
}

int main(int argc, char** argv) {
  static char buffer[2 * kLong];
  int provided, length = sizeof(buffer);
  void* attached;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Buffer_attach(buffer, length);
  /* a status has no communicator */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm comm = check_comm(MPI_COMM_WORLD);
  if (size > 1) {
    all_modes(comm, 0, 1);
    sendrecv(comm);
    sides(comm);
    holes(comm);
    structs(comm);
    limits(comm);
    many(comm);
    truncation(comm);
    oink(comm);
    callbacks(comm);
    if (provided == MPI_THREAD_MULTIPLE) threads(comm);
    MPI_Barrier(comm);
    collectives("true");
    collectives("false");
  }
  if (rank == 0) {
    const int all = size;
    size = 1; /* the others wait */
    alone();
    size = all;
  }
  MPI_Barrier(comm);
  MPI_Buffer_detach(&attached, &length);
  MPI_Comm_free(&comm);
  return check_finish();
}
#endif
