/* columns.c: columns of a matrix that are put and got one by one, in every order.
 *
 * Where the window is in shared memory they are moved together, at the synchronisation that
 * follows, whichever it is; the types are freed before it, and after a local one the origin's
 * memory is used again.  All of both matrices is compared with a literal model each time.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"

enum {
  kRows = 70,
  kColumns = 24,
  kWords = 2,
  kCells = kRows * kColumns,
  kRowWords = kColumns * kWords
};

typedef int64_t Matrix[kRows][kColumns][kWords];

typedef enum Style {
  kFence,
  kLock,
  kFlush,
  kFlushLocal,
  kFlushAll,
  kFlushLocalAll,
  kGroups,
  kAmong, /* other operations */
  kStyles
} Style;
static const char* const kStyleNames[kStyles] = {"fence",       "lock",        "flush",
                                                 "flush_local", "flush_all",   "flush_local_all",
                                                 "groups",      "among others"};

typedef enum Shape { kColumnToColumn, kRunToColumn, kColumnToRun, kShapes } Shape;

typedef enum Order { kRising, kFalling, kEvenFirst, kAnyOrder, kTwice, kOrders } Order;

static MPI_Comm comm;
static int rank, size, right, left;
static MPI_Win win;
static Matrix* theirs; /* this rank's window, which others write to and read from */
static Matrix mine;    /* what this rank puts from, and gets to */
static Matrix model_theirs, model_mine;
static Random all_alike; /* the same on all ranks */

/* Of a rank's matrix, before an epoch. */
static int64_t number(int owner, bool in_window, int round, int cell, int word) {
  return ((((int64_t)round * 64 + owner) * 2 + in_window) * kCells + cell) * kWords + word;
}

static void fill(Matrix* matrix, int owner, bool in_window, int round) {
  int64_t* words = &(*matrix)[0][0][0];
  for (int i = 0; i < kCells * kWords; i++)
    words[i] = number(owner, in_window, round, i / kWords, i % kWords);
}

/* Where a cell of a column is: a column of the matrix, or as many cells in a row, one column after
 * the other. */
static int64_t* cell_of(Matrix* matrix, bool is_run, int column, int row) {
  int64_t* words = &(*matrix)[0][0][0];
  return words + kWords * (is_run ? column * kRows + row : row * kColumns + column);
}

static void make_order(Order order, int* columns, int* count) {
  *count = kColumns;
  for (int i = 0; i < kColumns; i++) columns[i] = i;
  if (order == kFalling)
    for (int i = 0; i < kColumns; i++) columns[i] = kColumns - 1 - i;
  if (order == kEvenFirst)
    for (int i = 0; i < kColumns; i++)
      columns[i] = i < kColumns / 2 ? 2 * i : 2 * (i - kColumns / 2) + 1;
  if (order == kAnyOrder)
    for (int i = kColumns - 1; i > 0; i--) {
      const int other = (int)random_below(&all_alike, (uint32_t)(i + 1)), was = columns[i];
      columns[i] = columns[other];
      columns[other] = was;
    }
  if (order == kTwice) { /* the same again writes the same again */
    *count = 6;
    for (int i = 0; i < *count; i++) columns[i] = 5 + i / 2;
  }
}

/* ---- an operation, and the same in the model ---- */

static void operate(bool is_put, Shape shape, int column, MPI_Request* request) {
  const bool here_run = shape == kRunToColumn, there_run = shape == kColumnToRun;
  const MPI_Aint there = cell_of(theirs, there_run, column, 0) - &(*theirs)[0][0][0];
  int64_t* here = cell_of(&mine, here_run, column, 0);
  MPI_Datatype type;
  CHECK_MPI(MPI_Type_vector(kRows, kWords, kRowWords, MPI_INT64_T, &type));
  CHECK_MPI(MPI_Type_commit(&type));
  const int here_count = here_run ? kRows * kWords : 1,
            there_count = there_run ? kRows * kWords : 1;
  const MPI_Datatype here_type = here_run ? MPI_INT64_T : type,
                     there_type = there_run ? MPI_INT64_T : type;
  if (request != NULL)
    CHECK_MPI(is_put ? MPI_Rput(here, here_count, here_type, right, there, there_count, there_type,
                                win, request)
                     : MPI_Rget(here, here_count, here_type, right, there, there_count, there_type,
                                win, request));
  else
    CHECK_MPI(
        is_put ? MPI_Put(here, here_count, here_type, right, there, there_count, there_type, win)
               : MPI_Get(here, here_count, here_type, right, there, there_count, there_type, win));
  CHECK_MPI(MPI_Type_free(&type));
}

static void model(bool is_put, Shape shape, int column, int round) {
  const bool here_run = shape == kRunToColumn, there_run = shape == kColumnToRun;
  Matrix from;
  fill(&from, is_put ? left : right, !is_put, round);
  Matrix* to = is_put ? &model_theirs : &model_mine;
  for (int row = 0; row < kRows; row++)
    memcpy(cell_of(to, is_put ? there_run : here_run, column, row),
           cell_of(&from, is_put ? here_run : there_run, column, row), kWords * sizeof(int64_t));
}

/* What an operation moved, once its request is complete: of a put the memory is used again. */
static void use_again(bool is_put, Shape shape, int column) {
  const bool here_run = shape == kRunToColumn;
  for (int row = 0; row < kRows; row++) {
    int64_t* here = cell_of(&mine, here_run, column, row);
    int64_t* expected = cell_of(&model_mine, here_run, column, row);
    if (is_put)
      here[0] = expected[0] = here[1] = expected[1] = -2;
    else
      CHECK(here[0] == expected[0] && here[1] == expected[1], "column %d, row %d was not got",
            column, row);
  }
}

/* ---- epochs ---- */

static void begin(Style style, MPI_Group neighbors[2]) {
  if (style == kFence) {
    CHECK_MPI(MPI_Win_fence(0, win));
  } else if (style == kGroups) {
    CHECK_MPI(MPI_Win_post(neighbors[0], 0, win));
    CHECK_MPI(MPI_Win_start(neighbors[1], 0, win));
  } else if (style == kFlushAll || style == kFlushLocalAll) {
    CHECK_MPI(MPI_Win_lock_all(0, win));
  } else {
    CHECK_MPI(MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win));
  }
}

static void compare(const char* what, Matrix* is, Matrix* expected, Style style, Shape shape,
                    Order order, bool is_put);

/* After a local completion the memory that was put from may change, and what was got is there. */
static void end(Style style, Shape shape, Order order, bool is_put) {
  if (style == kFlush) CHECK_MPI(MPI_Win_flush(right, win));
  if (style == kFlushAll) CHECK_MPI(MPI_Win_flush_all(win));
  if (style == kFlushLocal) CHECK_MPI(MPI_Win_flush_local(right, win));
  if (style == kFlushLocalAll) CHECK_MPI(MPI_Win_flush_local_all(win));
  if (is_put && style >= kFlush && style <= kFlushLocalAll) {
    memset(mine, -1, sizeof(mine));
    memcpy(model_mine, mine, sizeof(mine));
  } else if (style >= kFlush && style <= kFlushLocalAll) {
    compare("origin after a flush", &mine, &model_mine, style, shape, order, is_put);
  }
  if (style == kFence) {
    CHECK_MPI(MPI_Win_fence(0, win));
  } else if (style == kGroups) {
    CHECK_MPI(MPI_Win_complete(win));
    CHECK_MPI(MPI_Win_wait(win));
  } else if (style == kFlushAll || style == kFlushLocalAll) {
    CHECK_MPI(MPI_Win_unlock_all(win));
  } else {
    CHECK_MPI(MPI_Win_unlock(right, win));
  }
}

static void compare(const char* what, Matrix* is, Matrix* expected, Style style, Shape shape,
                    Order order, bool is_put) {
  int at = 0;
  while (at < kCells * kWords && (&(*is)[0][0][0])[at] == (&(*expected)[0][0][0])[at]) at++;
  CHECK(at == kCells * kWords,
        "%s, %s by %s, shape %d, order %d: row %d, column %d has %lld, not %lld", what,
        is_put ? "put" : "get", kStyleNames[style], (int)shape, (int)order, at / kWords / kColumns,
        at / kWords % kColumns, (long long)(&(*is)[0][0][0])[at],
        (long long)(&(*expected)[0][0][0])[at]);
}

static void check_epoch(Style style, Shape shape, Order order, bool is_put, int round,
                        MPI_Group neighbors[2]) {
  int columns[kColumns], count;
  const int64_t one = 1;
  int64_t before = 0;
  MPI_Request request;
  make_order(order, columns, &count);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  fill(theirs, rank, true, round);
  fill(&model_theirs, rank, true, round);
  fill(&mine, rank, false, round);
  fill(&model_mine, rank, false, round);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(comm);
  begin(style, neighbors);
  for (int i = 0; i < count; i++) {
    const bool has_request = style == kAmong && i % 5 == 3;
    operate(is_put, shape, columns[i], has_request ? &request : NULL);
    model(is_put, shape, columns[i], round);
    if (has_request) {
      CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
      if (order != kTwice) use_again(is_put, shape, columns[i]); /* else the one before, too */
    }
    /* A word behind the matrix, which nobody puts to. */
    if (style == kAmong && i % 4 == 2)
      CHECK_MPI(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, right, kCells * kWords, MPI_SUM, win));
    if (style == kAmong && i % 7 == 6) CHECK_MPI(MPI_Win_flush_local(right, win));
  }
  end(style, shape, order, is_put);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  compare("window", theirs, &model_theirs, style, shape, order, is_put);
  MPI_Win_unlock(rank, win);
  compare("origin", &mine, &model_mine, style, shape, order, is_put);
}

int main(int argc, char** argv) {
  MPI_Group all, neighbors[2];
  int64_t* memory;
  int round = 0;
  MPI_Init(&argc, &argv);
  comm = check_comm(MPI_COMM_WORLD);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  all_alike = random_from(random_seed(71));
  CHECK_MPI(MPI_Win_allocate((MPI_Aint)(sizeof(Matrix) + sizeof(int64_t)), sizeof(int64_t),
                             MPI_INFO_NULL, comm, &memory, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  theirs = (Matrix*)memory;
  memory[kCells * kWords] = 0;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &left, &neighbors[0]);
  MPI_Group_incl(all, 1, &right, &neighbors[1]);
  for (Style style = 0; style < kStyles; style++)
    for (Shape shape = 0; shape < kShapes; shape++)
      for (Order order = 0; order < kOrders; order++)
        for (int is_put = 0; is_put < 2; is_put++)
          check_epoch(style, shape, order, is_put != 0, round++, neighbors);
  MPI_Group_free(&neighbors[0]);
  MPI_Group_free(&neighbors[1]);
  MPI_Group_free(&all);
  CHECK_MPI(MPI_Win_free(&win));
  MPI_Comm_free(&comm);
  return check_finish();
}
