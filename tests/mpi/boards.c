/* boards.c: random programs of collective operations, each result against what it has to be.
 *
 * Lengths lie on both sides of what goes through shared memory, or, on request, of what ranks send
 * from where the user has it; each rank chooses by itself whether it describes its data as plain
 * integers or as a derived type; roots change, and now and then a rank is late, so that who only
 * sends runs ahead.  Arguments: threads of each rank, each with a communicator of its own; "values"
 * if the last rank attaches a value in the midst of it all, so that what it has to say goes by
 * messages from then on; or "long" for long parts.
 */
#include <mpix_mad.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/random.h"

enum {
  kOperations = 4000,
  kMostInts = 300, /* of one rank's part; 124 go through shared memory */
  kLongOperations = 400,
  kMostLongInts = 9000, /* 2,048 and more are sent from the user's memory, however many ranks */
  kMostRanks = 9,
  kMostThreads = 4,
  kGap = 2, /* ints between those of a derived type */
  kUntouched = -77
};

typedef struct {
  MPI_Comm comm;
  int rank, size;
  Random common, own; /* alike on all ranks; of this one */
  uint32_t round;
  MPI_Win window;
  bool attaches, is_long;
  volatile int* arrived; /* at barriers, by rank, in memory of all; or NULL */
} Program;

/* A buffer of `parts` parts of `count` ints each, as one type or the other. */
typedef struct {
  int* memory;
  int count, stride;
  MPI_Datatype type; /* of a part, one element */
} Buffer;

static int value(uint32_t round, int from, int to, int i) {
  return (int)(round * 7919u + (uint32_t)from * 101u + (uint32_t)to * 13u + (uint32_t)i) % 100003;
}

static Buffer buffer_of(Program* program, int parts, int count) {
  Buffer buffer = {NULL, count, 1, MPI_DATATYPE_NULL};
  const bool derived = random_below(&program->own, 3) == 0;
  size_t ints;
  MPI_Datatype spread;
  if (derived) buffer.stride = 1 + kGap;
  MPI_Type_vector(count, 1, buffer.stride, MPI_INT, &spread);
  MPI_Type_create_resized(spread, 0, (MPI_Aint)sizeof(int) * count * buffer.stride, &buffer.type);
  MPI_Type_commit(&buffer.type);
  MPI_Type_free(&spread);
  ints = (size_t)parts * (size_t)(count * buffer.stride) + 1;
  buffer.memory = malloc(ints * sizeof(int));
  for (size_t i = 0; i < ints; i++) buffer.memory[i] = kUntouched;
  return buffer;
}

static void buffer_free(Buffer* buffer) {
  MPI_Type_free(&buffer->type);
  free(buffer->memory);
}

static int* element(const Buffer* buffer, int part, int i) {
  return &buffer->memory[(part * buffer->count + i) * buffer->stride];
}

/* Plain ones are sent as ints, by their number. */
static bool is_plain(const Buffer* buffer) { return buffer->stride == 1; }
static MPI_Datatype type_of(const Buffer* buffer) {
  return is_plain(buffer) ? MPI_INT : buffer->type;
}
static int count_of(const Buffer* buffer) { return is_plain(buffer) ? buffer->count : 1; }

static void fill(const Program* program, Buffer* buffer, int part, int from, int to) {
  for (int i = 0; i < buffer->count; i++)
    *element(buffer, part, i) = value(program->round, from, to, i);
}

static void expect(const Program* program, const Buffer* buffer, int part, int from, int to,
                   const char* operation) {
  for (int i = 0; i < buffer->count; i++) {
    const int wanted = value(program->round, from, to, i);
    CHECK(*element(buffer, part, i) == wanted, "%s %u: part %d has %d at %d of %d, expected %d",
          operation, program->round, part, *element(buffer, part, i), i, buffer->count, wanted);
  }
}

/* What lies between the elements is nobody's. */
static void expect_gaps(const Buffer* buffer, int parts, const char* operation) {
  for (int i = 0; !is_plain(buffer) && i < parts * buffer->count * buffer->stride; i++)
    CHECK(i % buffer->stride == 0 || buffer->memory[i] == kUntouched, "%s wrote into a gap",
          operation);
}

static void bcast(Program* program, int count, int root) {
  Buffer buffer = buffer_of(program, 1, count);
  if (program->rank == root) fill(program, &buffer, 0, root, 0);
  MPI_Bcast(buffer.memory, count_of(&buffer), type_of(&buffer), root, program->comm);
  expect(program, &buffer, 0, root, 0, "bcast");
  expect_gaps(&buffer, 1, "bcast");
  buffer_free(&buffer);
}

static void gather(Program* program, int count, int root) {
  Buffer all = buffer_of(program, program->size, count), mine = buffer_of(program, 1, count);
  const bool in_place = program->rank == root && random_below(&program->own, 2) == 0;
  fill(program, &mine, 0, program->rank, root);
  if (in_place) fill(program, &all, root, root, root);
  MPI_Gather(in_place ? MPI_IN_PLACE : mine.memory, count_of(&mine), type_of(&mine), all.memory,
             count_of(&all), type_of(&all), root, program->comm);
  for (int i = 0; program->rank == root && i < program->size; i++)
    expect(program, &all, i, i, root, "gather");
  expect_gaps(&all, program->size, "gather");
  buffer_free(&all);
  buffer_free(&mine);
}

static void scatter(Program* program, int count, int root) {
  Buffer all = buffer_of(program, program->size, count), mine = buffer_of(program, 1, count);
  const bool in_place = program->rank == root && random_below(&program->own, 2) == 0;
  for (int i = 0; i < program->size; i++) fill(program, &all, i, root, i);
  MPI_Scatter(all.memory, count_of(&all), type_of(&all), in_place ? MPI_IN_PLACE : mine.memory,
              count_of(&mine), type_of(&mine), root, program->comm);
  if (!in_place) expect(program, &mine, 0, root, program->rank, "scatter");
  expect_gaps(&mine, 1, "scatter");
  buffer_free(&all);
  buffer_free(&mine);
}

static void allgather(Program* program, int count, bool in_place) {
  Buffer all = buffer_of(program, program->size, count), mine = buffer_of(program, 1, count);
  fill(program, &mine, 0, program->rank, 0);
  if (in_place) fill(program, &all, program->rank, program->rank, 0);
  MPI_Allgather(in_place ? MPI_IN_PLACE : mine.memory, count_of(&mine), type_of(&mine), all.memory,
                count_of(&all), type_of(&all), program->comm);
  for (int i = 0; i < program->size; i++) expect(program, &all, i, i, 0, "allgather");
  expect_gaps(&all, program->size, "allgather");
  buffer_free(&all);
  buffer_free(&mine);
}

/* All by the addresses in the types: what is sent and what is received begin at the same one. */
static void allgather_from_bottom(Program* program, int count) {
  int* const memory = malloc((size_t)(program->size + 1) * (size_t)count * sizeof(int));
  int* const mine = memory + program->size * count;
  const MPI_Aint part_bytes = (MPI_Aint)sizeof(int) * count;
  MPI_Datatype to, from, part;
  MPI_Aint at;
  MPI_Get_address(mine, &at);
  MPI_Type_create_hindexed(1, &count, &at, MPI_INT, &to);
  MPI_Get_address(memory, &at);
  MPI_Type_create_hindexed(1, &count, &at, MPI_INT, &part);
  MPI_Type_create_resized(part, 0, part_bytes, &from);
  MPI_Type_commit(&to);
  MPI_Type_commit(&from);
  for (int i = 0; i < (program->size + 1) * count; i++) memory[i] = kUntouched;
  for (int i = 0; i < count; i++) mine[i] = value(program->round, program->rank, 0, i);
  MPI_Allgather(MPI_BOTTOM, 1, to, MPI_BOTTOM, 1, from, program->comm);
  for (int i = 0; i < program->size * count; i++) {
    const int wanted = value(program->round, i / count, 0, i % count);
    CHECK(memory[i] == wanted, "allgather %u from bottom: %d at %d, expected %d", program->round,
          memory[i], i, wanted);
  }
  MPI_Type_free(&to);
  MPI_Type_free(&from);
  MPI_Type_free(&part);
  free(memory);
}

static void alltoall(Program* program, int count, bool in_place) {
  Buffer to = buffer_of(program, program->size, count),
         from = buffer_of(program, program->size, count);
  for (int i = 0; i < program->size; i++)
    fill(program, in_place ? &from : &to, i, program->rank, i);
  MPI_Alltoall(in_place ? MPI_IN_PLACE : to.memory, count_of(&to), type_of(&to), from.memory,
               count_of(&from), type_of(&from), program->comm);
  for (int i = 0; i < program->size; i++) expect(program, &from, i, i, program->rank, "alltoall");
  expect_gaps(&from, program->size, "alltoall");
  buffer_free(&to);
  buffer_free(&from);
}

/* Sums of doubles that are exact. */
static void reduce(Program* program, int count, int root, bool to_all, bool in_place) {
  double* const mine = malloc((size_t)count * sizeof(double));
  double* const result = malloc((size_t)count * sizeof(double));
  const bool receives = to_all || program->rank == root;
  for (int i = 0; i < count; i++) mine[i] = result[i] = value(program->round, program->rank, 0, i);
  if (to_all)
    MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE, MPI_SUM,
                  program->comm);
  else
    MPI_Reduce(in_place && receives ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE, MPI_SUM, root,
               program->comm);
  for (int i = 0; receives && i < count; i++) {
    double wanted = 0;
    for (int from = 0; from < program->size; from++) wanted += value(program->round, from, 0, i);
    CHECK(result[i] == wanted, "reduce %u: %f at %d of %d, expected %f", program->round, result[i],
          i, count, wanted);
  }
  free(mine);
  free(result);
}

/* Of the ranks up to this one, or before it; rank 0 gets nothing of the latter. */
static void scan(Program* program, int count, bool exclusive, bool in_place) {
  double* const mine = malloc((size_t)count * sizeof(double));
  double* const result = malloc((size_t)count * sizeof(double));
  const int end = program->rank + (exclusive ? 0 : 1);
  for (int i = 0; i < count; i++) {
    mine[i] = value(program->round, program->rank, 0, i);
    result[i] = in_place ? mine[i] : kUntouched;
  }
  if (exclusive)
    MPI_Exscan(in_place ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE, MPI_SUM, program->comm);
  else
    MPI_Scan(in_place ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE, MPI_SUM, program->comm);
  for (int i = 0; i < count; i++) {
    double wanted = end > 0 ? 0 : in_place ? mine[i] : kUntouched;
    for (int from = 0; from < end; from++) wanted += value(program->round, from, 0, i);
    CHECK(result[i] == wanted, "scan %u: %f at %d of %d, expected %f", program->round, result[i], i,
          count, wanted);
  }
  free(mine);
  free(result);
}

/* Of pairs with a hole in each, which nobody writes. */
static void locate(Program* program, int count, int root, bool to_all, bool in_place) {
  typedef struct {
    double value;
    int index, hole;
  } Pair;
  Pair* const mine = malloc((size_t)count * sizeof(Pair));
  Pair* const result = malloc((size_t)count * sizeof(Pair));
  const bool receives = to_all || program->rank == root;
  for (int i = 0; i < count; i++) {
    mine[i] = (Pair){value(program->round, program->rank, 0, i) % 5, program->rank, 1000 + i};
    result[i] = in_place && receives ? mine[i] : (Pair){kUntouched, kUntouched, 1000 + i};
  }
  if (to_all)
    MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE_INT, MPI_MINLOC,
                  program->comm);
  else
    MPI_Reduce(in_place && receives ? MPI_IN_PLACE : mine, result, count, MPI_DOUBLE_INT,
               MPI_MINLOC, root, program->comm);
  for (int i = 0; receives && i < count; i++) {
    int least = 0;
    for (int from = 1; from < program->size; from++)
      if (value(program->round, from, 0, i) % 5 < value(program->round, least, 0, i) % 5)
        least = from;
    CHECK(result[i].index == least && result[i].value == value(program->round, least, 0, i) % 5 &&
              result[i].hole == 1000 + i,
          "minloc %u: %f of %d, hole %d, at %d of %d, expected %d", program->round, result[i].value,
          result[i].index, result[i].hole, i, count, least);
  }
  free(mine);
  free(result);
}

/* If all are of one node. */
static void share_arrivals(Program* program) {
  MPI_Comm node;
  MPI_Aint bytes;
  int size, unit;
  void* base;
  MPI_Comm_split_type(program->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &size);
  MPI_Comm_free(&node);
  program->arrived = NULL;
  if (size != program->size) return;
  bytes = program->rank == 0 ? kMostRanks * (MPI_Aint)sizeof(int) : 0;
  MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, program->comm, &base,
                          &program->window);
  MPI_Win_shared_query(program->window, 0, &bytes, &unit, &base);
  MPI_Win_lock_all(0, program->window);
  program->arrived = base;
}

/* Nobody leaves before the last has come. */
static void barrier(Program* program) {
  if (program->arrived == NULL) MPI_Barrier(program->comm);
  for (int turn = 0; program->arrived && turn < 3; turn++) {
    program->arrived[program->rank]++;
    MPI_Win_sync(program->window);
    MPI_Barrier(program->comm);
    MPI_Win_sync(program->window);
    for (int i = 0; i < program->size; i++)
      CHECK(program->arrived[i] >= program->arrived[program->rank],
            "rank %d had arrived at %d barriers when this one left its %d.", i, program->arrived[i],
            program->arrived[program->rank]);
  }
}

static void one(Program* program) {
  const uint32_t most = program->is_long ? kMostLongInts : kMostInts;
  const int operation = (int)random_below(&program->common, 14);
  const int count = random_below(&program->common, 2) == 0
                        ? 1 + (int)random_below(&program->common, 12)
                        : 1 + (int)random_below(&program->common, most);
  const int root = (int)random_below(&program->common, (uint32_t)program->size);
  const bool in_place = random_below(&program->common, 3) == 0;
  program->round++;
  if (random_below(&program->own, 200) == 0) usleep(2000);
  if (operation == 0) barrier(program);
  if (operation == 1) bcast(program, count, root);
  if (operation == 2) gather(program, count, root);
  if (operation == 3) scatter(program, count, root);
  if (operation == 4) allgather(program, count, in_place);
  if (operation == 5) alltoall(program, count, in_place);
  if (operation == 6) reduce(program, count, root, false, in_place);
  if (operation == 7) reduce(program, count, root, true, in_place);
  if (operation == 9) allgather_from_bottom(program, count);
  if (operation == 10) scan(program, count, false, in_place);
  if (operation == 11) scan(program, count, true, in_place);
  if (operation == 12) locate(program, count, root, false, in_place);
  if (operation == 13) locate(program, count, root, true, in_place);
  if (operation == 8) /* who only sends may be far ahead */
    for (int i = 0; i < 30; i++, program->round++) bcast(program, 1 + i % 3, root);
}

static void* run(void* argument) {
  Program* program = argument;
  const int operations = program->is_long ? kLongOperations : kOperations;
  for (int i = 0; i < operations; i++) {
    if (program->attaches && i == operations / 4)
      CHECK_MPI(MPIX_Mad_piggyback_attach(program->comm, &program->rank, 1, MPI_INT));
    one(program);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int threads = argc > 1 ? atoi(argv[1]) : 1;
  const uint64_t seed = random_seed(64);
  Program programs[kMostThreads];
  pthread_t ids[kMostThreads];
  int provided, rank, size;
  MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (threads > kMostThreads || size > kMostRanks) return check_skip("too many threads or ranks");
  for (int i = 0; i < threads; i++) {
    programs[i] = (Program){.rank = rank, .size = size};
    /* The ranks of one are in another order. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 == 0 ? rank : -rank, &programs[i].comm);
    MPI_Comm_rank(programs[i].comm, &programs[i].rank);
    share_arrivals(&programs[i]);
    programs[i].attaches = i == 0 && argc > 2 && strcmp(argv[2], "values") == 0 && rank == size - 1;
    programs[i].is_long = argc > 2 && strcmp(argv[2], "long") == 0;
    programs[i].common = random_from(seed + (uint64_t)i);
    programs[i].own = random_from(seed + 1000 + (uint64_t)(i * 100 + rank));
  }
  for (int i = 1; i < threads; i++) pthread_create(&ids[i], NULL, run, &programs[i]);
  run(&programs[0]);
  for (int i = 1; i < threads; i++) pthread_join(ids[i], NULL);
  if (check_failures() > 0)
    fprintf(stderr, "boards: rank %d, MAD_SEED=%llu\n", rank, (unsigned long long)seed);
  for (int i = 0; i < threads; i++) {
    if (programs[i].arrived) {
      MPI_Win_unlock_all(programs[i].window);
      MPI_Win_free(&programs[i].window);
    }
    MPI_Comm_free(&programs[i].comm);
  }
  return check_finish();
}
