/* freed_types.c: datatypes and communicators freed while messages of them are in flight. */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kMessages = 12, kTag = 1 };

static int rank;
static uint32_t stamp;

/* Lives only as long as its constructor: every type it was built of is freed as well. */
static MPI_Datatype nested(int rows, int columns, TypeMap* map) {
  MPI_Datatype pair, row, matrix;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_hvector(columns, 1, 16, pair, &row);
  MPI_Type_create_hvector(rows, 1, 16 * columns + 24, row, &matrix);
  MPI_Type_commit(&matrix);
  MPI_Type_free(&pair);
  MPI_Type_free(&row);
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < columns; c++) {
      const int64_t at = (int64_t)r * (16 * columns + 24) + 16 * c;
      typemap_add(map, at, 4);
      typemap_add(map, at + 8, 4);
    }
  }
  return matrix;
}

static void start(MPI_Comm comm, Image* image, int size, MPI_Request* request) {
  TypeMap map = {0};
  MPI_Datatype type = nested(size, 50, &map);
  *image = image_new(&map, 0, 1);
  image_fill(image, stamp, rank == 0);
  if (rank == 0)
    MPI_Isend(image->base, 1, type, 1, kTag, comm, request);
  else
    MPI_Irecv(image->base, 1, type, 0, kTag, comm, request);
  MPI_Type_free(&type);
  typemap_free(&map);
}

/* New types, perhaps at the same handles, while the old ones are still travelling. */
static void reuse_handles(void) {
  for (int i = 0; i < 50; i++) {
    Layout layout = layout_strided(i + 2, 1, 3);
    layout_free(&layout);
  }
}

static void round_of(const char* path, bool receives_late) {
  Image images[kMessages];
  MPI_Request requests[kMessages];
  MPI_Comm comm;
  const uint32_t first = stamp + 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  path_set(comm, path);
  if (receives_late && rank == 1) MPI_Barrier(MPI_COMM_WORLD);
  for (int m = 0; m < kMessages; m++) {
    stamp++;
    start(comm, &images[m], m % 2 ? 900 : 3, &requests[m]);
    reuse_handles();
  }
  if (receives_late && rank == 0) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
  MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  for (int m = 0; m < kMessages; m++) {
    CHECK_IMAGE(&images[m], first + (uint32_t)m, "message %d, path %s", m, path);
    image_free(&images[m]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int p = 0; p < kPathCount; p++) {
    round_of(kPaths[p], false);
    round_of(kPaths[p], true);
  }
  return check_finish();
}
