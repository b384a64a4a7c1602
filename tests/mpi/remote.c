/* remote.c: contiguous puts and gets of windows whose memory the fabric has, without the target.
 *
 * Every length around what a device copies and what it registers, in windows of MPI_Win_create and
 * of MPI_Win_allocate, by locks, fences and groups; what lies outside is refused as elsewhere; a
 * window made again at the same place; and, "counted", that the fabric alone did it, by its
 * counter, where the fabric of this run can.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counter.h"

enum { kBytes = 3 << 20, kFilling = 0x5a };

static const size_t kLengths[] = {1, 8, 63, 4096, 8175, 8177, 65536, 262143, 262144, (2 << 20) + 7};
enum { kKinds = sizeof(kLengths) / sizeof(kLengths[0]) };

static int rank, size, right, left;
static bool by_fabric;

static unsigned char value(int from, size_t i) { return (unsigned char)(from * 37 + i * 11 + 1); }

static uint64_t written(void) { return counter_read("mad_written_bytes"); }

/* A connected endpoint of libfabric's reaches memory, and nothing else; where neighbours are of one
 * node, the kernel does some of it. */
static bool is_reached(bool counted) {
  const char* fabric = getenv("MPIR_CVAR_CH4_MAD_FABRIC");
  return counted && fabric && (strcmp(fabric, "ofi:tcp") == 0 || strcmp(fabric, "ofi:verbs") == 0);
}

static void check_all(const unsigned char* memory, size_t at, size_t bytes, int from,
                      const char* what) {
  size_t i = 0;
  while (i < kBytes) {
    const bool inside = i >= at && i < at + bytes;
    if (memory[i] != (inside ? value(from, i - at) : kFilling)) break;
    i++;
  }
  CHECK(i == kBytes, "%s of %zu bytes: byte %zu is %d", what, bytes, i, memory[i]);
}

/* Puts, then gets what the right neighbour has; `units` bytes are the unit of displacements. */
static void lengths(MPI_Win win, unsigned char* memory, size_t unit) {
  unsigned char* data = malloc(kBytes);
  for (int kind = 0; kind < kKinds; kind++) {
    const size_t bytes = kLengths[kind], at = 24 * (size_t)(kind + 1) / unit * unit;
    uint64_t before;
    memset(memory, kFilling, kBytes);
    for (size_t i = 0; i < bytes; i++) data[i] = value(rank, i);
    MPI_Barrier(MPI_COMM_WORLD);
    before = written();
    MPI_Win_lock_all(0, win);
    MPI_Put(data, (int)bytes, MPI_BYTE, right, (MPI_Aint)(at / unit), (int)bytes, MPI_BYTE, win);
    MPI_Win_flush(right, win);
    if (by_fabric)
      CHECK(written() - before == bytes, "%zu bytes put, %llu written", bytes,
            (unsigned long long)(written() - before));
    MPI_Barrier(MPI_COMM_WORLD);
    check_all(memory, at, bytes, left, "put");
    memset(data, kFilling, kBytes);
    before = written();
    MPI_Get(data + at, (int)bytes, MPI_BYTE, right, (MPI_Aint)(at / unit), (int)bytes, MPI_BYTE,
            win);
    MPI_Win_unlock_all(win);
    check_all(data, at, bytes, rank, "get");
    if (by_fabric)
      CHECK(written() - before == bytes, "%zu bytes got, %llu counted", bytes,
            (unsigned long long)(written() - before));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
}

/* Hundreds in an epoch, with others between them that are messages. */
static void many(MPI_Win win, unsigned char* memory) {
  enum { kMany = 600, kEach = 700 };
  static unsigned char data[kMany][kEach];
  MPI_Datatype holes;
  MPI_Type_vector(kEach / 7, 7, 14, MPI_BYTE, &holes);
  MPI_Type_commit(&holes);
  memset(memory, kFilling, kBytes);
  for (int i = 0; i < kMany; i++)
    for (int j = 0; j < kEach; j++) data[i][j] = value(rank + i, (size_t)j);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kMany; i++) {
    const MPI_Aint at = (MPI_Aint)i * 2 * kEach;
    if (i % 5 == 4)
      MPI_Put(data[i], kEach, MPI_BYTE, right, at, 1, holes, win);
    else
      MPI_Put(data[i], kEach, MPI_BYTE, right, at, kEach, MPI_BYTE, win);
  }
  MPI_Win_fence(0, win);
  for (int i = 0; i < kMany; i++)
    for (int j = 0; j < kEach; j++) {
      const size_t at = (size_t)i * 2 * kEach + (size_t)(i % 5 == 4 ? j / 7 * 14 + j % 7 : j);
      CHECK(memory[at] == value(left + i, (size_t)j), "put %d, byte %d is %d", i, j, memory[at]);
    }
  MPI_Win_fence(0, win);
  memset(data, 0, sizeof(data));
  for (int i = 0; i < kMany; i++)
    MPI_Get(data[i], kEach, MPI_BYTE, right, (MPI_Aint)i * 2 * kEach, kEach, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  for (int i = 0; i < kMany; i++)
    for (int j = 0; j < kEach; j++)
      if (i % 5 != 4)
        CHECK(data[i][j] == value(rank + i, (size_t)j), "get %d, byte %d is %d", i, j, data[i][j]);
  MPI_Type_free(&holes);
}

/* By requests, and in epochs of groups. */
static void requests_and_groups(MPI_Win win, unsigned char* memory) {
  MPI_Request requests[2];
  MPI_Group world, origins, targets;
  int mine = 1000 + rank, got = -1;
  memset(memory, kFilling, kBytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  MPI_Rput(&mine, 1, MPI_INT, right, 8, 1, MPI_INT, win, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Win_flush(right, win);
  MPI_Rget(&got, 1, MPI_INT, right, 8, 1, MPI_INT, win, &requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Win_unlock_all(win);
  CHECK(got == mine, "%d is back and not %d", got, mine);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &left, &origins);
  MPI_Group_incl(world, 1, &right, &targets);
  MPI_Win_post(origins, 0, win);
  MPI_Win_start(targets, 0, win);
  MPI_Put(&mine, 1, MPI_INT, right, 16, 1, MPI_INT, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  memcpy(&got, memory + 16, sizeof(got));
  CHECK(got == 1000 + left, "%d was put and not %d", got, 1000 + left);
  MPI_Group_free(&world);
  MPI_Group_free(&origins);
  MPI_Group_free(&targets);
}

/* Nothing is written, and the next flush says so. */
static void outside(MPI_Win win, unsigned char* memory) {
  unsigned char data[64];
  memset(memory, kFilling, kBytes);
  memset(data, 1, sizeof(data));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 2; i++) {
    const MPI_Aint at[] = {kBytes - 63, kBytes + 1000000};
    int error = MPI_Put(data, 64, MPI_BYTE, right, at[i], 64, MPI_BYTE, win);
    if (error == MPI_SUCCESS) error = MPI_Win_flush(right, win);
    CHECK_CLASS(error, MPI_ERR_RMA_RANGE);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  check_all(memory, 0, 0, left, "nothing");
}

int main(int argc, char** argv) {
  unsigned char* memory;
  MPI_Win win;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  counters_open();
  by_fabric = is_reached(argc > 1 && strcmp(argv[1], "counted") == 0);

  memory = malloc(kBytes);
  for (int again = 0; again < 2; again++) { /* at the same place */
    MPI_Win_create(memory, kBytes, again ? 8 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    lengths(win, memory, again ? 8 : 1);
    if (!again) {
      many(win, memory);
      requests_and_groups(win, memory);
      outside(win, memory);
    }
    MPI_Win_free(&win);
  }
  free(memory);
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* nobody has any */
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  by_fabric = false; /* in shared memory where all are on one node */
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  lengths(win, memory, 1);
  MPI_Win_free(&win);
  counters_close();
  return check_finish();
}
