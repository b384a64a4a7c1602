/* kernel.c: puts and gets that the kernel does in windows over the user's memory, for targets of
 * the origin's node that do not look.
 *
 * A target that has kept its origin waiting calls no MPI meanwhile; all lengths and layouts do what
 * they do by messages, beside which they are; and nothing is written beside the window.  With an
 * argument they have to be messages: "messages" by the run's settings, "refused" as the kernel
 * refuses.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "support/check.h"

enum { kBytes = 300000, kFilling = 0x5a, kMost = 65536, kLeast = 4096 };

static int rank, size, right, left, unit;
static unsigned char *memory, *expected, *data, *back;
static MPI_Win win;

static unsigned char value(int from, size_t i) {
  return (unsigned char)(from * 37 + i * 11 + i / 251 + 1);
}

static int unit_of(int who) { return 1 << who % 3; }

static void make_window(size_t bytes) {
  MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
}

static void check_memory(const char* what, int length) {
  size_t i = 0;
  while (i < kBytes && memory[i] == expected[i]) i++;
  CHECK(i == kBytes, "%s of %d: byte %zu is %d and not %d", what, length, i, memory[i],
        expected[i]);
}

static MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

/* ---- without the target ---- */

static void tell(int other) { CHECK_MPI(MPI_Send(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD)); }
static void hear(int other) {
  CHECK_MPI(MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The ranks that are even, or odd, learn that the next does not look: in an epoch with all. */
static void learn_about_next(int odd) {
  const unsigned char filling = kFilling;
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  if (rank % 2 == odd) {
    usleep(10000); /* until the others sleep */
    CHECK_MPI(MPI_Put(&filling, 1, MPI_BYTE, right, 0, 1, MPI_BYTE, win));
    CHECK_MPI(MPI_Win_flush(right, win));
  } else {
    usleep(50000);
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* Whether somebody writes the byte before so many seconds are over, in which this process calls no
 * MPI. */
static bool is_written(const volatile unsigned char* byte, unsigned char was, double seconds) {
  const double begin = MPI_Wtime();
  while (*byte == was && MPI_Wtime() - begin < seconds) sched_yield();
  return *byte != was;
}

static void put_and_get(int length) {
  MPI_Request requests[2];
  CHECK_MPI(MPI_Put(data, length, MPI_BYTE, right, 0, length, MPI_BYTE, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  memset(back, 0, (size_t)length);
  CHECK_MPI(MPI_Get(back, length, MPI_BYTE, right, 0, length, MPI_BYTE, win));
  CHECK_MPI(MPI_Win_flush_local(right, win));
  CHECK(memcmp(back, data, (size_t)length) == 0, "what comes back of %d bytes", length);
  memset(back, 0, (size_t)length);
  CHECK_MPI(MPI_Rput(data + 1, length, MPI_BYTE, right, 0, length, MPI_BYTE, win, &requests[0]));
  CHECK_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
  CHECK_MPI(MPI_Rget(back, length, MPI_BYTE, right, 0, length, MPI_BYTE, win, &requests[1]));
  CHECK_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
  CHECK(memcmp(back, data + 1, (size_t)length) == 0, "what comes back of a request's %d bytes",
        length);
}

/* The even ranks put into the memory of the next, which waits for a last byte. */
static void without_target(bool by_kernel) {
  const int lengths[] = {1, 100, kLeast, 50000, kMost};
  const bool is_origin = rank % 2 == 0 && right == rank + 1;
  const unsigned char last = kFilling + 1;
  unsigned char* const told = memory + (size_t)kMost * (size_t)unit;
  *told = kFilling;
  CHECK_MPI(MPI_Win_lock_all(0, win));
  learn_about_next(0);
  if (is_origin) {
    hear(right);
    usleep(10000); /* until it has left MPI */
    for (int i = 0; by_kernel && i < 5; i++) put_and_get(lengths[i]);
    CHECK_MPI(MPI_Put(&last, 1, MPI_BYTE, right, kMost, 1, MPI_BYTE, win));
  } else if (rank % 2 == 1) {
    tell(left);
    CHECK(is_written(told, kFilling, by_kernel ? 20 : 0.3) == by_kernel,
          by_kernel ? "the origin waits for its target" : "the target was not needed");
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  memset(memory, kFilling, kBytes);
}

/* ---- lengths and layouts ---- */

/* A layout of `length` bytes: where the bytes of the packed stream are. */
typedef struct {
  MPI_Datatype type;
  int run, pitch, first; /* runs of so many bytes, so far apart, from here on */
} Layout;

enum { kOneRun, kMoved, kFewRuns, kManyRuns, kLayouts };

static Layout layout_new(int kind, int length) {
  const int few = length / 5 + 1;
  const int run = kind == kFewRuns ? few : kind == kManyRuns ? 7 : length;
  const int rest = length % run, count = length / run;
  const Layout layout = {.run = run, .pitch = run + (run < length) * 9, .first = kind == kMoved};
  int lengths[2] = {1, rest};
  MPI_Aint places[2] = {layout.first, (MPI_Aint)count * layout.pitch};
  MPI_Datatype runs, bytes = MPI_BYTE;
  Layout made = layout;
  MPI_Type_vector(count, run, layout.pitch, MPI_BYTE, &runs);
  MPI_Type_create_struct(rest ? 2 : 1, lengths, places, (MPI_Datatype[]){runs, bytes}, &made.type);
  MPI_Type_free(&runs);
  made.type = committed(made.type);
  return made;
}

static size_t place(const Layout* layout, int i) {
  return (size_t)(layout->first + i / layout->run * layout->pitch + i % layout->run);
}

static void check_length(int length, int here_kind, int there_kind, int round) {
  const int displacement = round * 13 % 4099;
  Layout here = layout_new(here_kind, length), there = layout_new(there_kind, length);
  unsigned char* const origin = data + round % 64;
  unsigned char* const got = back + round % 64;
  memset(memory, kFilling, kBytes);
  memset(expected, kFilling, kBytes);
  memset(back, kFilling, kBytes);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(MPI_Put(origin, 1, here.type, right, displacement, 1, there.type, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < length; i++)
    expected[(size_t)(displacement * unit) + place(&there, i)] =
        value(left, (size_t)(round % 64) + place(&here, i));
  check_memory("a put", length);
  CHECK_MPI(MPI_Get(got, 1, here.type, right, displacement, 1, there.type, win));
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < length; i++) {
    const size_t at = place(&here, i);
    if (got[at] != origin[at]) {
      CHECK(false, "a get of %d bytes: byte %zu", length, at);
      break;
    }
    got[at] = kFilling;
  }
  for (size_t i = 0; i < kBytes; i++) {
    if (back[i] == kFilling) continue;
    CHECK(false, "a get of %d bytes wrote byte %zu beside its layout", length, i);
    break;
  }
  MPI_Type_free(&here.type);
  MPI_Type_free(&there.type);
}

static void lengths(void) {
  static const int all[] = {1, 2, 100, 4095, 4096, 4097, 8191, 8193, 20007, 65536, 100000};
  int round = 0;
  CHECK_MPI(MPI_Win_lock_all(0, win));
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    learn_about_next(0);
    learn_about_next(1);
    for (int here = 0; here < kLayouts; here++)
      for (int there = 0; there < kLayouts; there++) check_length(all[i], here, there, round++);
  }
  CHECK_MPI(MPI_Win_unlock_all(win));
}

/* A place longer than what is put; a place at the origin longer than what it gets. */
static void rooms(void) {
  CHECK_MPI(MPI_Win_lock_all(0, win));
  learn_about_next(0);
  learn_about_next(1);
  CHECK_MPI(MPI_Put(data, kLeast, MPI_BYTE, right, 0, 2 * kLeast, MPI_BYTE, win));
  CHECK_CLASS(MPI_Put(data, 2 * kLeast, MPI_BYTE, right, 0, kLeast, MPI_BYTE, win),
              MPI_ERR_TRUNCATE);
  CHECK_MPI(MPI_Win_flush(right, win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  memset(expected, kFilling, kBytes);
  for (size_t i = 0; i < kLeast; i++) expected[i] = value(left, i);
  memset(memory + kLeast, kFilling, kBytes - kLeast);
  check_memory("a short put", kLeast);
  memset(back, kFilling, kBytes);
  CHECK_MPI(MPI_Get(back, 2 * kLeast, MPI_BYTE, right, 0, kLeast, MPI_BYTE, win));
  CHECK_CLASS(MPI_Get(back, kLeast, MPI_BYTE, right, 0, 2 * kLeast, MPI_BYTE, win),
              MPI_ERR_TRUNCATE);
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK(memcmp(back, data, kLeast) == 0 && back[kLeast] == kFilling, "a short get");
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- beside messages ---- */

/* What one way wrote is what the other finds, after a flush. */
static void beside_messages(void) {
  enum { kWords = 2 * kLeast / sizeof(int), kAt = 12 };
  const int one = 1;
  int words[kWords], found[kWords], before = 0;
  memset(memory, 0, kBytes);
  CHECK_MPI(MPI_Win_lock_all(0, win));
  learn_about_next(0);
  learn_about_next(1);
  for (int round = 1; round <= 50; round++) {
    const int word = round * 31 % kWords, behind = word * (int)sizeof(int) / unit_of(right);
    for (int i = 0; i < kWords; i++) words[i] = rank * 1000 + round + i;
    CHECK_MPI(MPI_Put(words, kWords, MPI_INT, right, kAt, kWords, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(right, win));
    CHECK_MPI(MPI_Fetch_and_op(&one, &before, MPI_INT, right, kAt + behind, MPI_SUM, win));
    CHECK_MPI(MPI_Win_flush(right, win));
    CHECK(before == words[word], "%d was %d", words[word], before);
    words[word]++;
    words[0] = -round;
    CHECK_MPI(MPI_Put(words, 1, MPI_INT, right, kAt, 1, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(right, win));
    CHECK_MPI(MPI_Get(found, kWords, MPI_INT, right, kAt, kWords, MPI_INT, win));
    CHECK_MPI(MPI_Win_flush(right, win));
    CHECK(memcmp(found, words, sizeof(words)) == 0, "what is found in round %d", round);
  }
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- outside of the window ---- */

/* In a window of `bytes`, which end within the memory. */
static void outside(size_t bytes) {
  const MPI_Aint unit_there = unit_of(right), last = (MPI_Aint)bytes / unit_there;
  const MPI_Aint beyond[] = {last - kLeast / unit_there + 1, last, INT64_MAX / 2, INT64_MAX};
  memset(memory, kFilling, kBytes);
  memset(expected, kFilling, kBytes);
  memset(back, 0, kLeast);
  CHECK_MPI(MPI_Win_lock_all(0, win));
  learn_about_next(0);
  learn_about_next(1);
  for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
    CHECK_MPI(MPI_Put(data, kLeast, MPI_BYTE, right, beyond[i], kLeast, MPI_BYTE, win));
    CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
    CHECK_MPI(MPI_Get(back, kLeast, MPI_BYTE, right, beyond[i], kLeast, MPI_BYTE, win));
    CHECK_CLASS(MPI_Win_flush(right, win), MPI_ERR_RMA_RANGE);
  }
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (size_t i = 0; i < kLeast; i++) {
    if (back[i] == 0) continue;
    CHECK(false, "a get that was refused wrote");
    break;
  }
  check_memory("what was refused", (int)bytes);
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_MPI(
      MPI_Put(data, kLeast, MPI_BYTE, right, last - kLeast / unit_there, kLeast, MPI_BYTE, win));
  CHECK_MPI(MPI_Win_unlock_all(win));
  CHECK_MPI(MPI_Barrier(MPI_COMM_WORLD));
  for (size_t i = 0; i < kLeast; i++) expected[bytes - kLeast + i] = value(left, i);
  check_memory("the last", (int)bytes);
}

/* ---- main ---- */

/* No process may open another's memory from now on: as root we become somebody else. */
static void be_secretive(void) {
  CHECK(prctl(PR_SET_DUMPABLE, 0) == 0, "prctl");
  if (geteuid() == 0) CHECK(seteuid(65534) == 0, "seteuid");
}

int main(int argc, char** argv) {
  const bool by_kernel = argc == 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  unit = unit_of(rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  memory = malloc(kBytes);
  expected = malloc(kBytes);
  data = malloc(kBytes);
  back = malloc(kBytes);
  memset(memory, kFilling, kBytes);
  for (size_t i = 0; i < kBytes; i++) data[i] = value(rank, i);
  make_window(kBytes);
  CHECK_MPI(MPI_Win_fence(0, win)); /* all have met */
  if (!by_kernel && strcmp(argv[1], "refused") == 0) be_secretive();
  without_target(by_kernel);
  lengths();
  rooms();
  beside_messages();
  outside(kBytes);
  MPI_Win_free(&win);
  make_window(kBytes - 50000); /* at the same memory */
  without_target(by_kernel);
  outside(kBytes - 50000);
  MPI_Win_free(&win);
  free(memory);
  free(expected);
  free(data);
  free(back);
  return check_finish();
}
