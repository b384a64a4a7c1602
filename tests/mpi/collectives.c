/* collectives.c: collective operations whose data are derived datatypes.
 *
 * The pieces are strided on one side and irregular on the other wherever the operation has two
 * sides.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kRoot = 1 };

static MPI_Comm comm;
static int rank, size;
static uint32_t stamp;

static void bcast(int blocks, bool nonblocking, const char* path) {
  Layout layout = rank == kRoot ? layout_strided(blocks, 2, 3) : layout_irregular(blocks, 2);
  Image image = layout_image(&layout, 2, ++stamp, rank == kRoot);
  if (nonblocking) {
    MPI_Request request;
    MPI_Ibcast(image.base, 2, layout.type, kRoot, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Bcast(image.base, 2, layout.type, kRoot, comm);
  }
  CHECK_IMAGE(&image, stamp, "Bcast of %d blocks, nonblocking %d, path %s", blocks, nonblocking,
              path);
  image_free(&image);
  layout_free(&layout);
}

/* What rank `from` has for rank `to`. */
static int value_of(int from, int to, int i) { return (from * 64 + to) * 100000 + i; }

/* A table with one row for each rank, rows of `ints` ints with a hole behind each int. */
typedef struct Table {
  int* cells;
  int ints;
  MPI_Datatype row;
} Table;

static Table table_new(int ints) {
  Table table = {malloc((size_t)(size * ints) * 2 * sizeof(int)), ints, MPI_DATATYPE_NULL};
  MPI_Datatype vector;
  if (!table.cells) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int i = 0; i < size * ints * 2; i++) table.cells[i] = -1;
  MPI_Type_vector(ints, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)ints * 8, &table.row);
  MPI_Type_commit(&table.row);
  MPI_Type_free(&vector);
  return table;
}

static void table_free(Table* table) {
  MPI_Type_free(&table->row);
  free(table->cells);
}

static void set_row(Table* table, int row, int from, int to) {
  for (int i = 0; i < table->ints; i++) {
    table->cells[(row * table->ints + i) * 2] = value_of(from, to, i);
  }
}

static void check_row(const Table* table, int row, int from, int to, const char* what) {
  int wrong = 0;
  for (int i = 0; i < table->ints; i++) {
    const int* cell = &table->cells[(row * table->ints + i) * 2];
    wrong += cell[0] != value_of(from, to, i) || cell[1] != -1;
  }
  CHECK(wrong == 0, "%s: %d of %d cells wrong in the row from %d to %d", what, wrong, table->ints,
        from, to);
}

static void gather_scatter(int ints) {
  Table all = table_new(ints), mine = table_new(ints);
  set_row(&mine, 0, rank, kRoot);
  MPI_Gather(mine.cells, 1, mine.row, all.cells, 1, all.row, kRoot, comm);
  for (int r = 0; rank == kRoot && r < size; r++) check_row(&all, r, r, kRoot, "Gather");

  for (int r = 0; rank == kRoot && r < size; r++) set_row(&all, r, kRoot, r);
  MPI_Scatter(all.cells, 1, all.row, mine.cells, 1, mine.row, kRoot, comm);
  check_row(&mine, 0, kRoot, rank, "Scatter");
  table_free(&all), table_free(&mine);
}

static void allgather(int ints) {
  Table all = table_new(ints), mine = table_new(ints);
  set_row(&mine, 0, rank, 0);
  MPI_Allgather(mine.cells, 1, mine.row, all.cells, 1, all.row, comm);
  for (int r = 0; r < size; r++) check_row(&all, r, r, 0, "Allgather");

  /* Rows in reverse, by displacement. */
  int counts[64], places[64];
  for (int r = 0; r < size; r++) counts[r] = 1, places[r] = size - 1 - r;
  MPI_Allgatherv(mine.cells, 1, mine.row, all.cells, counts, places, all.row, comm);
  for (int r = 0; r < size; r++) check_row(&all, size - 1 - r, r, 0, "Allgatherv");
  table_free(&all), table_free(&mine);
}

static void alltoall(int ints) {
  Table out = table_new(ints), in = table_new(ints);
  for (int r = 0; r < size; r++) set_row(&out, r, rank, r);
  MPI_Alltoall(out.cells, 1, out.row, in.cells, 1, in.row, comm);
  for (int r = 0; r < size; r++) check_row(&in, r, r, rank, "Alltoall");
  table_free(&in);

  in = table_new(ints);
  MPI_Request request;
  MPI_Ialltoall(out.cells, 1, out.row, in.cells, 1, in.row, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int r = 0; r < size; r++) check_row(&in, r, r, rank, "Ialltoall");
  table_free(&in);

  in = table_new(ints);
  int counts[64], places[64];
  MPI_Datatype out_types[64], in_types[64];
  for (int r = 0; r < size; r++) {
    counts[r] = 1;
    places[r] = r * ints * 8;
    out_types[r] = out.row, in_types[r] = in.row;
  }
  MPI_Alltoallw(out.cells, counts, places, out_types, in.cells, counts, places, in_types, comm);
  for (int r = 0; r < size; r++) check_row(&in, r, r, rank, "Alltoallw");
  table_free(&in), table_free(&out);
}

/* Pairs {value, rank of its owner} with a hole between them: the largest value wins. */
typedef struct Best {
  int value, hole, owner;
} Best;

static void best_of(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  const Best* a = in;
  Best* b = inout;
  for (int i = 0; i < *count; i++) {
    if (a[i].value > b[i].value) b[i].value = a[i].value, b[i].owner = a[i].owner;
  }
}

/* Another rank has the largest value of each element. */
static int best_rank(int i) { return i * 7 % size; }

static void reduce(int count, bool everywhere) {
  MPI_Datatype vector, type;
  MPI_Op op;
  MPI_Type_vector(2, 1, 2, MPI_INT, &vector);
  MPI_Type_create_resized(vector, 0, sizeof(Best), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&vector);
  MPI_Op_create(best_of, 1, &op);
  Best* mine = calloc((size_t)count, sizeof(Best));
  Best* best = calloc((size_t)count, sizeof(Best));
  for (int i = 0; i < count; i++) {
    mine[i] = (Best){rank == best_rank(i) ? 1000 + i : rank, -1, rank};
    best[i].hole = -1;
  }
  if (everywhere)
    MPI_Allreduce(mine, best, count, type, op, comm);
  else
    MPI_Reduce(mine, best, count, type, op, kRoot, comm);
  int wrong = 0;
  for (int i = 0; (everywhere || rank == kRoot) && i < count; i++) {
    wrong += best[i].value != 1000 + i || best[i].owner != best_rank(i) || best[i].hole != -1;
  }
  CHECK(wrong == 0, "%d of %d elements wrong, everywhere %d", wrong, count, everywhere);
  free(mine), free(best);
  MPI_Op_free(&op);
  MPI_Type_free(&type);
}

/* On a ring: the left neighbour's row comes first, then the right one's. */
static void neighbours(int ints) {
  MPI_Comm ring;
  const int periodic = 1;
  int left, right;
  MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring);
  MPI_Cart_shift(ring, 0, 1, &left, &right);
  Table out = table_new(ints), in = table_new(ints);
  set_row(&out, 0, rank, left);
  set_row(&out, 1, rank, right);
  MPI_Neighbor_alltoall(out.cells, 1, out.row, in.cells, 1, in.row, ring);
  check_row(&in, 0, left, rank, "Neighbor_alltoall");
  check_row(&in, 1, right, rank, "Neighbor_alltoall");
  table_free(&out), table_free(&in);
  MPI_Comm_free(&ring);
}

/* The halves of the world as one intercommunicator. */
static void between_groups(int blocks, const char* path) {
  MPI_Comm half, other;
  const int mine = rank % 2;
  MPI_Comm_split(comm, mine, rank, &half);
  MPI_Intercomm_create(half, 0, comm, 1 - mine, 9, &other);
  path_set(other, path);
  Layout layout = mine ? layout_irregular(blocks, 2) : layout_strided(blocks, 2, 3);
  const bool sends = rank == 0;
  Image image = layout_image(&layout, 1, ++stamp, sends);
  MPI_Bcast(image.base, 1, layout.type, mine ? 0 : (sends ? MPI_ROOT : MPI_PROC_NULL), other);
  if (mine) CHECK_IMAGE(&image, stamp, "Bcast between groups, %d blocks, path %s", blocks, path);
  image_free(&image);
  layout_free(&layout);
  MPI_Comm_free(&other);
  MPI_Comm_free(&half);
}

int main(int argc, char** argv) {
  static const int kInts[] = {1, 50, 20000};
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size < 3 || size > 16) MPI_Abort(comm, 1); /* neighbours() and value_of() */
  for (int p = 0; p < kPathCount; p++) {
    path_set(comm, kPaths[p]);
    for (int i = 0; i < 3; i++) {
      bcast(kInts[i], false, kPaths[p]);
      bcast(kInts[i], true, kPaths[p]);
      gather_scatter(kInts[i]);
      allgather(kInts[i]);
      alltoall(kInts[i]);
      reduce(kInts[i], false);
      reduce(kInts[i], true);
      neighbours(kInts[i]);
      between_groups(kInts[i], kPaths[p]);
    }
  }
  MPI_Comm_free(&comm);
  return check_finish();
}
