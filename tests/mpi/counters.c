/* counters.c: every setting has the effect it names, as the performance variables show.
 *
 * The argument says what is tried; settings come from the environment, see table.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counter.h"
#include "support/path.h"

#ifndef HAVE_MAD
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return check_skip("this MPI has no mpix_mad.h");
}
#else

enum { kTag = 1, kTotal = 1 << 20, kLong = 16384, kShort = 64, kTaken = 6, kAcquaint = 20 };

static MPI_Comm comm;
static int rank;

/* What a message may be counted as. */
static const char* const kTakenNames[kTaken] = {"contiguous", "gather", "hybrid",
                                                "pipeline",   "pack",   "off"};

typedef struct Counts {
  uint64_t messages[kTaken], bytes[kTaken];
  uint64_t packets, staged, referenced, unexpected;
} Counts;

static Counts counts_now(const char* direction) {
  Counts counts;
  char family[40];
  for (int i = 0; i < kTaken; i++) {
    snprintf(family, sizeof(family), "%s_messages", direction);
    counts.messages[i] = counter_of_path(family, kTakenNames[i]);
    snprintf(family, sizeof(family), "%s_bytes", direction);
    counts.bytes[i] = counter_of_path(family, kTakenNames[i]);
  }
  counts.packets = counter_read("mad_packets_sent");
  counts.staged = counter_read("mad_staged_bytes");
  counts.referenced = counter_read("mad_referenced_bytes");
  counts.unexpected = counter_read("mad_unexpected_bytes");
  return counts;
}

static Counts since(const Counts* before, const char* direction) {
  Counts now = counts_now(direction);
  for (int i = 0; i < kTaken; i++) {
    now.messages[i] -= before->messages[i];
    now.bytes[i] -= before->bytes[i];
  }
  now.packets -= before->packets;
  now.staged -= before->staged;
  now.referenced -= before->referenced;
  now.unexpected -= before->unexpected;
  return now;
}

/* 1 MiB of payload, each block followed by a gap of its length. */
static MPI_Datatype equal_blocks(int block) {
  MPI_Datatype type;
  MPI_Type_vector(kTotal / block, block, 2 * block, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Every long block is followed by a short one. */
enum { kPairs = 64, kMixedBytes = kPairs * (kLong + kShort) };
static MPI_Datatype mixed_blocks(void) {
  MPI_Datatype pair, type;
  const int lengths[] = {kLong, kShort}, places[] = {0, kLong + kShort};
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &pair);
  MPI_Type_create_hvector(kPairs, 1, 2 * kLong, pair, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&pair);
  return type;
}

/* Without payload, so that it counts as no message of any path. */
static void token(int from) {
  const int to = 1 - from;
  if (rank == from) MPI_Send(NULL, 0, MPI_BYTE, to, kTag + 1, comm);
  if (rank == to) MPI_Recv(NULL, 0, MPI_BYTE, from, kTag + 1, comm, MPI_STATUS_IGNORE);
}

/* One message from rank 0 to a posted receive; what it added to this rank's counters. */
static Counts transfer(MPI_Datatype type, const char* path) {
  static char buffer[4 * kTotal];
  const char* direction = rank == 0 ? "send" : "recv";
  MPI_Request request;
  CHECK_MPI(MPIX_Mad_comm_set_path(comm, path));
  memset(buffer, rank == 0 ? 'm' : 0, sizeof(buffer));
  const Counts before = counts_now(direction);
  if (rank == 1) MPI_Irecv(buffer, 1, type, 0, kTag, comm, &request);
  token(1);
  if (rank == 0) MPI_Isend(buffer, 1, type, 1, kTag, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(buffer[0] == 'm', "nothing came");
  return since(&before, direction);
}

/* Exactly one message of `bytes`, counted as `taken`. */
static void expect_taken(const Counts* counts, const char* taken, uint64_t bytes,
                         const char* what) {
  for (int i = 0; i < kTaken; i++) {
    const bool mine = strcmp(kTakenNames[i], taken) == 0;
    CHECK(counts->messages[i] == mine && counts->bytes[i] == (mine ? bytes : 0),
          "%s: %llu messages of %llu bytes counted as %s, expected one as %s", what,
          (unsigned long long)counts->messages[i], (unsigned long long)counts->bytes[i],
          kTakenNames[i], taken);
  }
}

/* Whether packets are built in the fabric's own memory: what is not read from the sender's is
 * copied there, whatever the path. */
static bool memory_is_lent(void) {
  const char* fabric = getenv("MPIR_CVAR_CH4_MAD_FABRIC");
  if (fabric == NULL || *fabric == 0 || strncmp(fabric, "auto", 4) == 0) return true;
  if (strncmp(fabric, "shm", 3) == 0 || strncmp(fabric, "ucx:posix", 9) == 0) return true;
  return strncmp(fabric, "ucx", strcspn(fabric, ";")) == 0;
}

/* Where a packet ends in a long run, the rest of that may be short, and staged. */
static void expect_copied(const Counts* counts, uint64_t staged, uint64_t bytes, const char* what) {
  uint64_t rests = staged > 0 && staged < bytes ? 4096 * counts->packets : 0;
  if (memory_is_lent()) rests = bytes - staged;
  CHECK(counts->staged >= staged && counts->staged <= staged + rests &&
            counts->staged + counts->referenced == bytes,
        "%s: %llu staged, expected %llu to %llu; %llu referenced, of %llu in all", what,
        (unsigned long long)counts->staged, (unsigned long long)staged,
        (unsigned long long)(staged + rests), (unsigned long long)counts->referenced,
        (unsigned long long)bytes);
}

/* Sent on `path`, the message counts as `taken` and at its receiver as `received`; the counters of
 * bytes agree. */
static void try_both(const char* path, const char* taken, const char* received, MPI_Datatype type,
                     uint64_t bytes, uint64_t staged) {
  const Counts counts = transfer(type, path);
  char what[100];
  snprintf(what, sizeof(what), "%s on path %s", rank == 0 ? "sent" : "received", path);
  if (rank == 0) {
    expect_taken(&counts, taken, bytes, what);
    if (strcmp(path, "pack") != 0 && strcmp(path, "off") != 0) {
      expect_copied(&counts, staged, bytes, what);
    }
  } else {
    expect_taken(&counts, received, bytes, what);
  }
}

/* Receivers take long runs in place and collect what is to be packed, else they unpack as it
 * arrives. */
static void try_path(const char* path, const char* taken, MPI_Datatype type, uint64_t bytes,
                     uint64_t staged) {
  const char* received = strcmp(taken, "hybrid") == 0 ? "gather" : taken;
  try_both(path, taken, received, type, bytes, staged);
}

static void paths(void) {
  MPI_Datatype longs = equal_blocks(kLong), shorts = equal_blocks(kShort), mixed = mixed_blocks();
  try_path("gather", "gather", longs, kTotal, 0);
  try_path("gather", "gather", shorts, kTotal, 0);
  try_path("hybrid", "hybrid", mixed, kMixedBytes, kPairs * kShort);
  try_path("pipeline", "pipeline", longs, kTotal, kTotal);
  try_path("pack", "pack", longs, kTotal, 0);
  try_path("off", "off", longs, kTotal, 0);
  MPI_Type_free(&longs), MPI_Type_free(&shorts), MPI_Type_free(&mixed);
}

/* Which path is the cheapest for long runs with short ones between them follows from what the
 * fabric costs its sender; its receiver takes the long ones in place. */
static void automatic(const char* of_mixed) {
  MPI_Datatype longs = equal_blocks(kLong), shorts = equal_blocks(kShort), mixed = mixed_blocks();
  const uint64_t staged = strcmp(of_mixed, "hybrid") == 0 ? kPairs * kShort : kMixedBytes;
  try_path("auto", "gather", longs, kTotal, 0);
  try_path("auto", "pipeline", shorts, kTotal, kTotal);
  try_both("auto", of_mixed, "gather", mixed, kMixedBytes, staged);
  MPI_Type_free(&longs), MPI_Type_free(&shorts), MPI_Type_free(&mixed);
}

/* Dense data is one run whatever is asked for: RT-0306's own three layouts. */
static void dense(void) {
  MPI_Datatype vector, structure;
  const int lengths[] = {2, 1, 1};
  const MPI_Aint places[] = {0, 8, 12};
  const MPI_Datatype types[] = {MPI_FLOAT, MPI_INT, MPI_FLOAT};
  MPI_Datatype particle;
  MPI_Type_vector(1024, 256, 256, MPI_FLOAT, &vector);
  MPI_Type_create_struct(3, lengths, places, types, &particle);
  MPI_Type_contiguous(kTotal / 16, particle, &structure);
  MPI_Type_commit(&vector);
  MPI_Type_commit(&structure);
  for (int i = 0; i < 2; i++) {
    const Counts counts = transfer(i ? structure : vector, "gather");
    expect_taken(&counts, "contiguous", kTotal, i ? "particles" : "a dense vector");
  }
  MPI_Type_free(&vector), MPI_Type_free(&structure), MPI_Type_free(&particle);
}

/* MPIR_CVAR_CH4_MAD_MAX_BLOCKS below 64: auto no longer references 64 blocks. */
static void max_blocks(void) {
  MPI_Datatype longs = equal_blocks(kLong);
  try_path("auto", "pipeline", longs, kTotal, kTotal);
  try_path("gather", "gather", longs, kTotal, 0); /* who forces a path gets it */
  MPI_Type_free(&longs);
}

/* The number of packets of a message that is copied throughout. */
static void packets(uint64_t low, uint64_t high) {
  MPI_Datatype shorts = equal_blocks(kShort);
  const Counts counts = transfer(shorts, "pipeline");
  CHECK(rank != 0 || (counts.packets >= low && counts.packets <= high),
        "%llu packets, expected %llu to %llu", (unsigned long long)counts.packets,
        (unsigned long long)low, (unsigned long long)high);
  MPI_Type_free(&shorts);
}

/* What of an unexpected message is kept at the receiver. */
static void unexpected(uint64_t low, uint64_t high) {
  static char buffer[2 * kTotal];
  MPI_Datatype shorts = equal_blocks(kShort);
  const Counts before = counts_now("recv");
  MPI_Request request;
  if (rank == 0) MPI_Isend(buffer, 1, shorts, 1, kTag, comm, &request);
  token(0); /* behind the other */
  if (rank == 1) MPI_Irecv(buffer, 1, shorts, 0, kTag, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const Counts counts = since(&before, "recv");
  CHECK(rank != 1 || (counts.unexpected >= low && counts.unexpected <= high),
        "%llu bytes kept, expected %llu to %llu", (unsigned long long)counts.unexpected,
        (unsigned long long)low, (unsigned long long)high);
  MPI_Type_free(&shorts);
}

/* The fabrics differ in how many segments a packet takes. */
static void gathered_packets(uint64_t low, uint64_t high) {
  MPI_Datatype blocks = equal_blocks(256);
  const Counts counts = transfer(blocks, "gather");
  CHECK(rank != 0 || (counts.packets >= low && counts.packets <= high),
        "%llu packets for 4096 blocks, expected %llu to %llu", (unsigned long long)counts.packets,
        (unsigned long long)low, (unsigned long long)high);
  MPI_Type_free(&blocks);
}

/* An MPI_Allreduce of two ranks is one message each way up to 8 KiB, then two; short ones are none
 * once they go through shared memory. */
static void reductions(bool shared) {
  enum { kMost = 4096, kTimes = 100, kShort = 496 };
  static int mine[kMost], sum[kMost];
  for (int i = 0; i < kTimes; i++) MPI_Barrier(comm);
  for (int count = 1; count <= kMost; count *= 2) {
    MPI_Barrier(comm);
    const Counts before = counts_now("send");
    for (int i = 0; i < kTimes; i++) {
      for (int k = 0; k < count; k++) mine[k] = i + rank;
      CHECK_MPI(MPI_Allreduce(mine, sum, count, MPI_INT, MPI_SUM, comm));
      for (int k = 0; k < count; k++)
        CHECK(sum[k] == 2 * i + 1, "element %d of %d is %d, expected %d", k, count, sum[k],
              2 * i + 1);
    }
    const Counts counts = since(&before, "send");
    uint64_t messages = 0;
    for (int i = 0; i < kTaken; i++) messages += counts.messages[i];
    const bool none = shared && count * sizeof(int) <= kShort;
    const uint64_t expected = none ? 0 : count * sizeof(int) <= 8192 ? kTimes : 2 * kTimes;
    CHECK(messages == expected, "%llu messages for %d reductions of %d elements, expected %llu",
          (unsigned long long)messages, kTimes, count, (unsigned long long)expected);
  }
}

/* No operation that is short is a message once they go through shared memory. */
static void shared_operations(void) {
  enum { kTimes = 50, kOperations = 8 };
  static const char* const kNames[kOperations] = {"barrier",   "bcast",    "gather", "scatter",
                                                  "allgather", "alltoall", "reduce", "allreduce"};
  for (int operation = 0; operation < kOperations; operation++) {
    const Counts before = counts_now("send");
    for (int i = 0; i < kTimes; i++) {
      double out[2] = {rank, rank}, in[2];
      if (operation == 0) CHECK_MPI(MPI_Barrier(comm));
      if (operation == 1) CHECK_MPI(MPI_Bcast(out, 1, MPI_DOUBLE, i % 2, comm));
      if (operation == 2) CHECK_MPI(MPI_Gather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, i % 2, comm));
      if (operation == 3)
        CHECK_MPI(MPI_Scatter(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, i % 2, comm));
      if (operation == 4) CHECK_MPI(MPI_Allgather(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm));
      if (operation == 5) CHECK_MPI(MPI_Alltoall(out, 1, MPI_DOUBLE, in, 1, MPI_DOUBLE, comm));
      if (operation == 6) CHECK_MPI(MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, i % 2, comm));
      if (operation == 7) CHECK_MPI(MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, comm));
    }
    const Counts counts = since(&before, "send");
    uint64_t messages = 0;
    for (int i = 0; i < kTaken; i++) messages += counts.messages[i];
    CHECK(messages == 0, "%llu messages for %d times %s", (unsigned long long)messages, kTimes,
          kNames[operation]);
  }
}

/* Each control variable is there, says what it is for, and has the environment's value. */
static void variables(void) {
  static const char* const kNames[] = {"DATATYPE_PATH",   "FABRIC",     "INTERFACE", "EAGER_LIMIT",
                                       "FLUSH_THRESHOLD", "MAX_BLOCKS", "CHECKSUM"};
  for (int i = 0; i < 7; i++) {
    char name[80], found[80], description[1000];
    int index, found_length = sizeof(found), length = sizeof(description), verbosity, bind, scope;
    int count, number = 0;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_handle handle;
    snprintf(name, sizeof(name), "MPIR_CVAR_CH4_MAD_%s", kNames[i]);
    const int error = MPI_T_cvar_get_index(name, &index);
    CHECK(error == MPI_SUCCESS, "there is no %s", name);
    if (error != MPI_SUCCESS) continue;
    MPI_T_cvar_get_info(index, found, &found_length, &verbosity, &type, &values, description,
                        &length, &bind, &scope);
    CHECK(length > 40, "%s says of itself '%s'", name, description);
    MPI_T_cvar_handle_alloc(index, NULL, &handle, &count);
    /* MPICH 4.0.2 reads strings as their defaults, whatever they are set to. */
    const char* expected = type == MPI_INT ? getenv(name) : NULL;
    if (expected) {
      MPI_T_cvar_read(handle, &number);
      CHECK(number == atoi(expected), "%s is %d, set to %s", name, number, expected);
    }
    MPI_T_cvar_handle_free(&handle);
  }
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "paths";
  const uint64_t low = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
  const uint64_t high = argc > 3 ? strtoull(argv[3], NULL, 0) : UINT64_MAX;
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  counters_open();
  for (int i = 0; i < kAcquaint; i++) token(i % 2); /* connected, and credit granted */
  variables();
  if (strcmp(what, "paths") == 0) paths(), dense();
  if (strcmp(what, "auto") == 0 && argc > 2) automatic(argv[2]);
  if (strcmp(what, "max_blocks") == 0) max_blocks();
  if (strcmp(what, "packets") == 0) packets(low, high);
  if (strcmp(what, "unexpected") == 0) unexpected(low, high);
  if (strcmp(what, "gathered") == 0) gathered_packets(low, high);
  if (strcmp(what, "reductions") == 0) reductions(false);
  if (strcmp(what, "reductions-shared") == 0) {
    reductions(true);
    shared_operations();
  }
  counters_close();
  MPI_Comm_free(&comm);
  return check_finish();
}
#endif
