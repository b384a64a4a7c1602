/* far.c: put and get in windows whose memory the origin does not have.
 *
 * More layouts than have a number at a time, in any order; descriptions that are too long for one;
 * operations of every length, with and without holes on either side; and those that lie outside of
 * the target's window, which are refused, write nothing, and are an error of the next
 * synchronisation.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { kBytes = 1 << 20, kFilling = 0x5a };

static int rank, size, right, left;
static unsigned char *memory, *expected;
static MPI_Win win;

static unsigned char value(int from, size_t i) { return (unsigned char)(from * 37 + i * 11 + 1); }

static void make_window(void) {
  memory = malloc(kBytes);
  expected = malloc(kBytes);
  memset(memory, kFilling, kBytes);
  memset(expected, kFilling, kBytes);
  MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void check_memory(const char* what) {
  size_t i = 0;
  while (i < kBytes && memory[i] == expected[i]) i++;
  CHECK(i == kBytes, "%s: byte %zu is %d and not %d", what, i, memory[i], expected[i]);
}

/* Blocks of `length` bytes, `pitch` apart. */
static MPI_Datatype blocks(int count, int length, int pitch) {
  MPI_Datatype type;
  MPI_Type_vector(count, length, pitch, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  return type;
}

/* ---- many layouts ---- */

enum { kLayouts = 40, kCount = 8 };

/* What the left neighbour puts with layout `n`: kCount blocks in a part of the window of its own.
 */
static void expect_layout(int n, int from, int at) {
  for (int block = 0; block < kCount; block++)
    for (int i = 0; i <= n % 7; i++)
      expected[at + block * (n + 8) + i] = value(from, (size_t)(block * (n % 7 + 1) + i));
}

static void many_layouts(void) {
  MPI_Datatype types[kLayouts];
  unsigned char data[kCount * 8], back[kCount * 8];
  int at = 0;
  for (int n = 0; n < kLayouts; n++) types[n] = blocks(kCount, n % 7 + 1, n + 8);
  for (size_t i = 0; i < sizeof(data); i++) data[i] = value(rank, i);
  for (int round = 0; round < 5; round++) {
    for (int turn = 0; turn < kLayouts; turn++) {
      const int n = (turn * (round * 2 + 1) + round) % kLayouts; /* some soon again, some late */
      const int bytes = kCount * (n % 7 + 1);
      MPI_Request request;
      CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
      CHECK_MPI(MPI_Put(data, bytes, MPI_BYTE, right, at, 1, types[n], win));
      expect_layout(n, left, at);
      CHECK_MPI(MPI_Win_flush(right, win));
      memset(back, 0, sizeof(back));
      CHECK_MPI(MPI_Rget(back, bytes, MPI_BYTE, right, at, 1, types[n], win, &request));
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
      CHECK(memcmp(back, data, (size_t)bytes) == 0, "what comes back of layout %d", n);
      CHECK_MPI(MPI_Win_unlock(right, win));
      at += kCount * (n + 8);
    }
  }
  CHECK(at < kBytes, "the window is too small");
  for (int n = 0; n < kLayouts; n++) MPI_Type_free(&types[n]);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  check_memory("many layouts");
}

/* A type that lives for one operation; the next one may be in its place. */
static void short_lived(void) {
  unsigned char data[64];
  for (size_t i = 0; i < sizeof(data); i++) data[i] = value(rank, i);
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int n = 0; n < 30; n++) {
    MPI_Datatype type = blocks(4, 2 + n % 3, 5 + n);
    const int at = 200000 + n * 200;
    CHECK_MPI(MPI_Put(data, 4 * (2 + n % 3), MPI_BYTE, right, at, 1, type, win));
    MPI_Type_free(&type);
    for (int i = 0; i < 4 * (2 + n % 3); i++)
      expected[at + i / (2 + n % 3) * (5 + n) + i % (2 + n % 3)] = value(left, (size_t)i);
  }
  CHECK_MPI(MPI_Win_fence(0, win));
  check_memory("types of one operation");
}

/* ---- lengths ---- */

/* Every length in turn: a run, or with holes at the origin, at the target, or at both. */
static void lengths(void) {
  enum { kMost = 300000, kAt = 300000 };
  unsigned char* data = malloc(2 * kMost);
  unsigned char* back = malloc(2 * kMost);
  for (size_t i = 0; i < 2 * kMost; i++) data[i] = value(rank, i);
  for (int elements = 1; elements <= kMost / 3; elements = elements * 7 + 1) {
    for (int holes = 0; holes < 4; holes++) {
      MPI_Datatype here = blocks(elements, 3, holes & 1 ? 5 : 3);
      MPI_Datatype there = blocks(elements, 3, holes & 2 ? 4 : 3);
      CHECK_MPI(MPI_Win_fence(0, win));
      CHECK_MPI(MPI_Put(data, 1, here, right, kAt, 1, there, win));
      CHECK_MPI(MPI_Win_fence(0, win));
      for (int i = 0; i < 3 * elements; i++)
        expected[kAt + (holes & 2 ? i / 3 * 4 + i % 3 : i)] =
            value(left, (size_t)(holes & 1 ? i / 3 * 5 + i % 3 : i));
      check_memory("lengths");
      memset(back, 0, 2 * kMost);
      CHECK_MPI(MPI_Get(back, 1, here, right, kAt, 1, there, win));
      CHECK_MPI(MPI_Win_fence(0, win));
      for (int i = 0; i < 3 * elements; i++) {
        const int place = holes & 1 ? i / 3 * 5 + i % 3 : i;
        if (back[place] == data[place]) continue;
        CHECK(false, "get of %d elements, holes %d: byte %d", elements, holes, i);
        break;
      }
      MPI_Type_free(&here);
      MPI_Type_free(&there);
    }
  }
  free(data);
  free(back);
}

/* So many blocks without order that no message's header has their description. */
static void long_description(void) {
  enum { kBlocks = 20000, kAt = 700000 };
  int* places = malloc(kBlocks * sizeof(int));
  unsigned char* data = malloc(kBlocks);
  unsigned seed = 1;
  MPI_Datatype type;
  for (int i = 0; i < kBlocks; i++) {
    seed = seed * 1664525u + 1013904223u;
    places[i] = i * 4 + (int)(seed >> 30);
    data[i] = value(rank, (size_t)i);
    expected[kAt + places[i]] = value(left, (size_t)i);
  }
  MPI_Type_create_indexed_block(kBlocks, 1, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Put(data, kBlocks, MPI_BYTE, right, kAt, 1, type, win));
  CHECK_MPI(MPI_Win_fence(0, win));
  check_memory("a long description");
  memset(data, 0, kBlocks);
  CHECK_MPI(MPI_Get(data, kBlocks, MPI_BYTE, right, kAt, 1, type, win));
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < kBlocks; i++)
    if (data[i] != value(rank, (size_t)i)) {
      CHECK(false, "get by a long description: byte %d", i);
      break;
    }
  /* Less than there is room for. */
  for (int i = 0; i < kBlocks / 3; i++) {
    data[i] = value(rank, (size_t)i + 5);
    expected[kAt + places[i]] = value(left, (size_t)i + 5);
  }
  CHECK_MPI(MPI_Put(data, kBlocks / 3, MPI_BYTE, right, kAt, 1, type, win));
  CHECK_MPI(MPI_Win_fence(0, win));
  check_memory("a short put by a long description");
  MPI_Type_free(&type);
  free(places);
  free(data);
}

/* ---- many at once ---- */

static void many_at_once(void) {
  enum { kMany = 3000, kAt = 100000 };
  unsigned char* data = malloc(kMany * 8);
  for (size_t i = 0; i < kMany * 8; i++) data[i] = value(rank, i);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD)); /* The right neighbour may still look at its memory. */
  CHECK_MPI(MPI_Win_lock_all(0, win));
  for (int i = 0; i < kMany; i++)
    CHECK_MPI(MPI_Put(data + 8 * i, 8, MPI_BYTE, right, kAt + 8 * i, 8, MPI_BYTE, win));
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (size_t i = 0; i < kMany * 8; i++) expected[kAt + i] = value(left, i);
  check_memory("many at once");
  free(data);
}

/* ---- outside of the window ---- */

/* A type that begins before its displacement. */
static void before(void) {
  const unsigned char data[4] = {1, 2, 3, 4};
  int minus = -4;
  MPI_Datatype type;
  MPI_Type_create_indexed_block(1, 4, &minus, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Put(data, 4, MPI_BYTE, right, 3, 1, type, win));
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
  check_memory("before");
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Put(data, 4, MPI_BYTE, right, 4, 1, type, win));
  CHECK_MPI(MPI_Win_fence(0, win));
  for (int i = 0; i < 4; i++) expected[i] = data[i];
  check_memory("at the beginning");
  MPI_Type_free(&type);
}

/* A layout whose first operation fails before it is sent is sent with the next. */
static void fresh(void) {
  unsigned char data[16], back[16] = {0};
  for (int n = 0; n < 20; n++) {
    MPI_Datatype type = blocks(3, 4, 50 + n);
    for (int i = 0; i < 12; i++) {
      data[i] = value(rank, (size_t)(n + i));
      expected[4000 + n * 200 + i / 4 * (50 + n) + i % 4] = value(left, (size_t)(n + i));
    }
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK_CLASS(MPI_Put(data, 13, MPI_BYTE, right, 4000, 1, type, win), MPI_ERR_TRUNCATE);
    CHECK_CLASS(MPI_Get(back, 11, MPI_BYTE, right, 4000, 1, type, win), MPI_ERR_TRUNCATE);
    CHECK_MPI(MPI_Put(data, 12, MPI_BYTE, right, 4000 + n * 200, 1, type, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    check_memory("fresh");
    CHECK_MPI(MPI_Get(back, 12, MPI_BYTE, right, 4000 + n * 200, 1, type, win));
    CHECK_MPI(MPI_Win_fence(0, win));
    CHECK(memcmp(back, data, 12) == 0, "what comes back of fresh layout %d", n);
    MPI_Type_free(&type);
  }
}

static void outside(void) {
  unsigned char data[16] = {1}, same[16] = {1};
  const MPI_Aint beyond[] = {kBytes - 203, kBytes, INT64_MAX / 2, INT64_MAX};
  MPI_Datatype type = blocks(3, 4, 100); /* of 204 bytes */
  MPI_Request request;
  for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
    CHECK_MPI(MPI_Put(data, 12, MPI_BYTE, right, beyond[i], 1, type, win));
    CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    CHECK_MPI(MPI_Win_flush(right, win));
    CHECK_MPI(MPI_Get(data, 12, MPI_BYTE, right, beyond[i], 1, type, win));
    CHECK_CLASS(MPI_Win_unlock(right, win), MPI_ERR_RMA_RANGE);
    CHECK_MPI(MPI_Win_lock_all(0, win));
    CHECK_MPI(MPI_Rget(data, 12, MPI_BYTE, right, beyond[i], 1, type, win, &request));
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_RANGE);
  }
  CHECK_MPI(MPI_Win_fence(0, win));
  CHECK_MPI(MPI_Put(data, 2, MPI_BYTE, right, kBytes - 1, 2, MPI_BYTE, win));
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_RANGE);
  CHECK_MPI(MPI_Put(data, 12, MPI_BYTE, right, kBytes - 204, 1, type, win));
  for (int i = 0; i < 12; i++) expected[kBytes - 204 + i / 4 * 100 + i % 4] = i == 0;
  CHECK_MPI(MPI_Win_fence(0, win));
  check_memory("outside");
  CHECK(memcmp(data, same, sizeof(data)) == 0, "a get that was refused wrote");
  CHECK_CLASS(MPI_Put(data, 13, MPI_BYTE, right, 0, 1, type, win), MPI_ERR_TRUNCATE);
  CHECK_MPI(MPI_Win_fence(0, win));
  check_memory("too much");
  MPI_Type_free(&type);
  before();
  fresh();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  make_window();
  many_layouts();
  short_lived();
  lengths();
  long_description();
  many_at_once();
  outside();
  MPI_Win_free(&win);
  free(memory);
  free(expected);
  return check_finish();
}
