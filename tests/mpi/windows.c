/* windows.c: one-sided operations among the ranks of a node in windows that MPI allocates.
 *
 * They need no help of the target, which calls no MPI meanwhile; they do what a literal model says,
 * whatever the types; and they write nothing beside the target's window.
 */
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"

enum { kWords = 64, kFilling = -77 };

static MPI_Comm comm;
static int rank, size, right, left;
static bool shared; /* MPI_Win_allocate_shared: the ranks' memory in a row */

/* `words` ints, all kFilling. */
static int* allocate(int words, MPI_Win* win) {
  const MPI_Aint bytes = (MPI_Aint)(sizeof(int) * (size_t)words);
  int* memory = NULL;
  if (shared)
    MPI_Win_allocate_shared(bytes, sizeof(int), MPI_INFO_NULL, comm, (void*)&memory, win);
  else
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, (void*)&memory, win);
  for (int i = 0; i < words; i++) memory[i] = kFilling;
  MPI_Win_set_errhandler(*win, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  return memory;
}

/* ---- without the target ---- */

static void operate(MPI_Win win) {
  const int seven = 7, five = 5, twelve = 12;
  int result = 0, two[2] = {1, 2}, both[2] = {0, 0};
  MPI_Request requests[4];
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win));
  CHECK_MPI(MPI_Put(&seven, 1, MPI_INT, right, 0, 1, MPI_INT, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK_MPI(MPI_Accumulate(&five, 1, MPI_INT, right, 0, 1, MPI_INT, MPI_SUM, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK_MPI(MPI_Compare_and_swap(&five, &twelve, &result, MPI_INT, right, 0, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK(result == 12, "compared with %d", result);
  result = seven; /* the result may take the place of what is compared */
  CHECK_MPI(MPI_Compare_and_swap(&seven, &result, &result, MPI_INT, right, 0, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK(result == 5, "compared with %d", result);
  CHECK_MPI(MPI_Compare_and_swap(&seven, &twelve, &result, MPI_INT, right, 0, win));
  CHECK_MPI(MPI_Win_flush_local(right, win));
  CHECK(result == 5, "compared with %d", result);
  CHECK_MPI(MPI_Fetch_and_op(&seven, &result, MPI_INT, right, 0, MPI_PROD, win));
  CHECK_MPI(MPI_Win_unlock(right, win));
  CHECK(result == 5, "fetched %d", result);
  CHECK_MPI(MPI_Win_lock_all(0, win));
  CHECK_MPI(MPI_Fetch_and_op(NULL, &result, MPI_INT, right, 0, MPI_NO_OP, win));
  CHECK_MPI(MPI_Win_flush_all(win));
  CHECK(result == 35, "fetched %d", result);
  CHECK_MPI(MPI_Rput(two, 2, MPI_INT, right, 1, 2, MPI_INT, win, &requests[0]));
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Raccumulate(two, 2, MPI_INT, right, 1, 2, MPI_INT, MPI_SUM, win, &requests[1]));
  CHECK_MPI(MPI_Rget_accumulate(two, 2, MPI_INT, both, 2, MPI_INT, right, 1, 2, MPI_INT,
                                MPI_REPLACE, win, &requests[2]));
  CHECK_MPI(MPI_Waitall(2, &requests[1], MPI_STATUSES_IGNORE));
  CHECK(both[0] == 2 && both[1] == 4, "%d and %d", both[0], both[1]);
  CHECK_MPI(MPI_Rget(both, 2, MPI_INT, right, 1, 2, MPI_INT, win, &requests[3]));
  CHECK_MPI(MPI_Wait(&requests[3], MPI_STATUS_IGNORE));
  CHECK(both[0] == 1 && both[1] == 2, "%d and %d", both[0], both[1]);
  CHECK_MPI(MPI_Win_flush_local_all(win));
  CHECK_MPI(MPI_Win_unlock_all(win));
}

/* Odd ranks look at their memory until the last word of it changes, and call no MPI. */
static void without_target(void) {
  MPI_Win win;
  volatile int* mine = allocate(kWords, &win);
  const int done = 1;
  if (rank % 2 == 0 && rank + 1 < size) {
    operate(win);
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    CHECK_MPI(MPI_Put(&done, 1, MPI_INT, right, kWords - 1, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_unlock(right, win));
  } else if (rank % 2 == 1) {
    while (mine[kWords - 1] != 1) sched_yield();
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(mine[0] == 35 && mine[1] == 1 && mine[2] == 2 && mine[3] == kFilling, "%d, %d, %d, %d",
          mine[0], mine[1], mine[2], mine[3]);
    MPI_Win_unlock(rank, win);
  }
  MPI_Barrier(comm);
  MPI_Win_free(&win);
}

/* ---- a literal model ---- */

static int64_t combined(MPI_Op op, int64_t was, int64_t with) {
  if (op == MPI_SUM) return was + with;
  if (op == MPI_PROD) return was * with;
  if (op == MPI_MAX) return was > with ? was : with;
  if (op == MPI_MIN) return was < with ? was : with;
  if (op == MPI_REPLACE) return with;
  return was; /* MPI_NO_OP */
}

static int64_t read_as(MPI_Datatype type, const void* memory, int i) {
  if (type == MPI_INT8_T) return ((const int8_t*)memory)[i];
  if (type == MPI_INT16_T) return ((const int16_t*)memory)[i];
  if (type == MPI_INT) return ((const int*)memory)[i];
  if (type == MPI_INT64_T) return ((const int64_t*)memory)[i];
  return (int64_t)((const double*)memory)[i];
}

static void write_as(MPI_Datatype type, void* memory, int i, int64_t value) {
  if (type == MPI_INT8_T)
    ((int8_t*)memory)[i] = (int8_t)value;
  else if (type == MPI_INT16_T)
    ((int16_t*)memory)[i] = (int16_t)value;
  else if (type == MPI_INT)
    ((int*)memory)[i] = (int)value;
  else if (type == MPI_INT64_T)
    ((int64_t*)memory)[i] = value;
  else
    ((double*)memory)[i] = (double)value;
}

enum { kElements = 8 }; /* of each operation */

/* Bit 0: the origin has holes, 1: the result, 2: the target. */
static void check_operation(MPI_Datatype type, MPI_Op op, int holes, MPI_Win win, void* mine) {
  double origin[2 * kElements], result[2 * kElements]; /* the largest of the types */
  MPI_Datatype gapped;
  int wrong = 0, step[3];
  for (int i = 0; i < 3; i++) step[i] = (holes >> i & 1) + 1;
  MPI_Type_vector(kElements, 1, 2, type, &gapped);
  MPI_Type_commit(&gapped);
  for (int i = 0; i < 2 * kElements; i++) {
    write_as(type, origin, i, i % 5 + rank);
    write_as(type, result, i, -1);
    write_as(type, mine, i, i % 3 + rank);
  }
  MPI_Win_fence(0, win);
  CHECK_MPI(MPI_Get_accumulate(origin, step[0] == 2 ? 1 : kElements, step[0] == 2 ? gapped : type,
                               result, step[1] == 2 ? 1 : kElements, step[1] == 2 ? gapped : type,
                               right, 0, step[2] == 2 ? 1 : kElements, step[2] == 2 ? gapped : type,
                               op, win));
  MPI_Win_fence(0, win);
  for (int i = 0; i < kElements; i++) {
    const int at = i * step[2];
    wrong += read_as(type, result, i * step[1]) != at % 3 + right;
    wrong += read_as(type, mine, at) != combined(op, at % 3 + rank, i * step[0] % 5 + left);
    if (step[1] == 2) wrong += read_as(type, result, 2 * i + 1) != -1;
    if (step[2] == 2) wrong += read_as(type, mine, 2 * i + 1) != (2 * i + 1) % 3 + rank;
  }
  CHECK(wrong == 0, "%d values are wrong, op %x, type %x, holes %d", wrong, (unsigned)op,
        (unsigned)type, holes);
  MPI_Win_fence(0, win);
  MPI_Type_free(&gapped);
}

static void model(void) {
  const MPI_Datatype types[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT, MPI_INT64_T, MPI_DOUBLE};
  const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_REPLACE, MPI_NO_OP};
  for (int t = 0; t < 5; t++) {
    MPI_Win whole;
    int bytes;
    void* memory = NULL;
    MPI_Type_size(types[t], &bytes);
    MPI_Win_allocate((MPI_Aint)2 * kElements * bytes, bytes, MPI_INFO_NULL, comm, (void*)&memory,
                     &whole);
    for (int o = 0; o < 6; o++)
      for (int holes = 0; holes < 8; holes++)
        check_operation(types[t], ops[o], holes, whole, memory);
    MPI_Win_free(&whole);
  }
}

/* Blocks of some hundred bytes on both sides, of other lengths on each, more than are looked up at
 * once; the operator is called for what they have in common. */
static void long_runs(void) {
  enum { kInts = 70 * 96, kHere = 70, kThere = 96 };
  static int origin[2 * kInts];
  int *mine = NULL, wrong = 0;
  MPI_Win win;
  MPI_Datatype here, there;
  MPI_Win_allocate(2 * kInts * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, (void*)&mine, &win);
  MPI_Type_vector(kInts / kHere, kHere, 2 * kHere, MPI_INT, &here);
  MPI_Type_vector(kInts / kThere, kThere, 2 * kThere, MPI_INT, &there);
  MPI_Type_commit(&here);
  MPI_Type_commit(&there);
  for (int i = 0; i < 2 * kInts; i++) origin[i] = 10 * i + rank, mine[i] = i;
  MPI_Win_fence(0, win);
  CHECK_MPI(MPI_Accumulate(origin, 1, here, right, 0, 1, there, MPI_SUM, win));
  MPI_Win_fence(0, win);
  for (int i = 0; i < 2 * kInts; i++) {
    const int packed = i / (2 * kThere) * kThere + i % (2 * kThere);
    const int from = packed / kHere * 2 * kHere + packed % kHere;
    wrong += mine[i] != (i % (2 * kThere) < kThere ? i + 10 * from + left : i);
  }
  CHECK(wrong == 0, "%d of %d sums in runs are wrong", wrong, 2 * kInts);
  MPI_Type_free(&here);
  MPI_Type_free(&there);
  MPI_Win_free(&win);
}

/* A predefined type with holes. */
static void pairs(void) {
  typedef struct Pair {
    double value;
    int place;
  } Pair;
  Pair* mine = NULL;
  MPI_Win win;
  MPI_Win_allocate(2 * sizeof(Pair), sizeof(Pair), MPI_INFO_NULL, comm, (void*)&mine, &win);
  memset(mine, 0x55, 2 * sizeof(Pair));
  mine[0] = (Pair){.value = 10.0, .place = 100}, mine[1] = (Pair){.value = 0.5, .place = 101};
  const Pair found[2] = {{1.0 + rank, rank}, {1.0 + rank, rank}};
  MPI_Win_fence(0, win);
  MPI_Accumulate(found, 2, MPI_DOUBLE_INT, 0, 0, 2, MPI_DOUBLE_INT, MPI_MAXLOC, win);
  MPI_Win_fence(0, win);
  if (rank == 0) {
    CHECK(mine[0].place == 100 && mine[0].value == 10.0, "%d", mine[0].place);
    CHECK(mine[1].place == size - 1 && mine[1].value == (double)size, "%d", mine[1].place);
  }
  MPI_Win_free(&win);
}

/* ---- beside the window ---- */

static void expect_range(int error) { CHECK_CLASS(error, MPI_ERR_RMA_RANGE); }

static void beside(MPI_Win win, int target) {
  int values[4] = {1, 2, 3, 4}, one = 1;
  MPI_Datatype gapped, backwards;
  MPI_Type_vector(2, 1, 4, MPI_INT, &gapped);
  MPI_Type_vector(2, 1, -4, MPI_INT, &backwards);
  MPI_Type_commit(&gapped), MPI_Type_commit(&backwards);
  CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win));
  expect_range(MPI_Put(&one, 1, MPI_INT, target, kWords, 1, MPI_INT, win));
  expect_range(MPI_Put(values, 2, MPI_INT, target, kWords - 1, 2, MPI_INT, win));
  expect_range(MPI_Put(values, 2, MPI_INT, target, kWords - 4, 1, gapped, win));
  expect_range(MPI_Put(values, 2, MPI_INT, target, 3, 1, backwards, win));
  expect_range(MPI_Put(&one, 1, MPI_INT, target, PTRDIFF_MAX / 2, 1, MPI_INT, win));
  expect_range(MPI_Get(&one, 1, MPI_INT, target, kWords, 1, MPI_INT, win));
  expect_range(MPI_Accumulate(&one, 1, MPI_INT, target, kWords, 1, MPI_INT, MPI_SUM, win));
  expect_range(MPI_Fetch_and_op(&one, values, MPI_INT, target, kWords, MPI_SUM, win));
  expect_range(MPI_Compare_and_swap(&one, &one, values, MPI_INT, target, kWords, win));
  CHECK_CLASS(MPI_Put(values, 2, MPI_INT, target, kWords - 1, 1, MPI_INT, win), MPI_ERR_TRUNCATE);
  CHECK_CLASS(MPI_Accumulate(values, 2, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win), MPI_ERR_ARG);
  CHECK_MPI(MPI_Put(values, 0, MPI_INT, target, kWords + 9, 0, MPI_INT, win));
  CHECK_MPI(MPI_Put(&values[2], 2, MPI_INT, target, kWords - 5, 1, gapped, win));
  CHECK_MPI(MPI_Put(values, 2, MPI_INT, target, 4, 1, backwards, win));
  CHECK_MPI(MPI_Win_unlock(target, win));
  MPI_Type_free(&gapped), MPI_Type_free(&backwards);
}

static void ranges(void) {
  MPI_Win win;
  int *mine = allocate(kWords, &win), untouched = 0;
  if (rank == 0) beside(win, right);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  for (int i = 0; i < kWords; i++) untouched += mine[i] == kFilling;
  if (rank == 1 % size)
    CHECK(untouched == kWords - 4 && mine[0] == 2 && mine[4] == 1 && mine[kWords - 5] == 3 &&
              mine[kWords - 1] == 4,
          "%d words are untouched; %d, %d, %d, %d", untouched, mine[0], mine[4], mine[kWords - 5],
          mine[kWords - 1]);
  else
    CHECK(untouched == kWords, "%d words are untouched", untouched);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(comm);
  MPI_Win_free(&win);
}

/* One's own window of any kind is known, too. */
static void own(void) {
  int memory[kWords] = {0};
  MPI_Win win;
  MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  beside(win, 0);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  CHECK(memory[0] == 2 && memory[4] == 1 && memory[kWords - 5] == 3 && memory[kWords - 1] == 4,
        "%d, %d, %d, %d", memory[0], memory[4], memory[kWords - 5], memory[kWords - 1]);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

/* A type whose last member has no bytes, at the end of a window. */
static void without_bytes(void) {
  const int lengths[] = {1, 1}, five = 5;
  const MPI_Aint places[] = {0, 4096};
  MPI_Datatype nothing, type, types[] = {MPI_INT, MPI_DATATYPE_NULL};
  MPI_Win win;
  int* mine = allocate(kWords, &win);
  MPI_Type_contiguous(0, MPI_INT, &nothing);
  types[1] = nothing;
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Win_fence(0, win);
  CHECK_MPI(MPI_Put(&five, 1, MPI_INT, right, kWords - 1, 1, type, win));
  MPI_Win_fence(0, win);
  CHECK(mine[kWords - 1] == 5, "%d", mine[kWords - 1]);
  MPI_Type_free(&type), MPI_Type_free(&nothing);
  MPI_Win_free(&win);
}

/* A window that cannot be made takes nothing of one that was freed. */
static void too_large(void) {
  MPI_Comm alone;
  void* memory;
  MPI_Win win;
  MPI_Comm_dup(MPI_COMM_SELF, &alone);
  MPI_Comm_set_errhandler(alone, MPI_ERRORS_RETURN);
  for (int round = 0; round < 3; round++) {
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, alone, (void*)&memory, &win);
    MPI_Win_free(&win);
    CHECK(MPI_Win_allocate((MPI_Aint)1 << 60, 1, MPI_INFO_NULL, alone, (void*)&memory, &win) !=
              MPI_SUCCESS,
          "a window of 2^60 bytes, round %d", round);
  }
  MPI_Comm_free(&alone);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int kind = 0; kind < 2; kind++) {
    shared = kind == 1;
    without_target();
    ranges();
  }
  model();
  long_runs();
  pairs();
  own();
  without_bytes();
  too_large();
  MPI_Comm_free(&comm);
  return check_finish();
}
