/* file_io.c: MPI-IO with a derived datatype in memory and another one in the file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"

enum { kBlocks = 4000, kLength = 3, kPerBlock = 5 };

static int rank, size;

/* Interleaved: block b of rank r is the file's block b * size + r. */
static MPI_Datatype file_view(void) {
  MPI_Datatype blocks, view;
  MPI_Type_vector(kBlocks, kLength, kLength * size, MPI_INT, &blocks);
  MPI_Type_create_resized(blocks, 0, (MPI_Aint)kBlocks * kLength * size * (MPI_Aint)sizeof(int),
                          &view);
  MPI_Type_commit(&view);
  MPI_Type_free(&blocks);
  return view;
}

/* Rank r's packed ints, as the oracle has them. */
static int* packed(const Layout* layout, uint32_t stamp) {
  int* ints = malloc(kBlocks * kLength * sizeof(int));
  Image image = layout_image(layout, 1, stamp, true);
  for (size_t i = 0; i < image.map.count; i++) {
    memcpy(&ints[i], image.memory + image.map.entries[i].offset - image.low, sizeof(int));
  }
  image_free(&image);
  return ints;
}

/* Without MPI. */
static void check_file(const char* path, const Layout* layout) {
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL, "cannot read %s", path);
  if (!file) return;
  const size_t total = (size_t)kBlocks * kLength * (size_t)size;
  int* ints = malloc(total * sizeof(int));
  CHECK(fread(ints, sizeof(int), total, file) == total, "the file is too short");
  CHECK(fgetc(file) == EOF, "the file is too long");
  for (int r = 0; r < size; r++) {
    int* expected = packed(layout, 1 + (uint32_t)r);
    int wrong = 0;
    for (int i = 0; i < kBlocks * kLength; i++) {
      wrong += ints[(i / kLength * size + r) * kLength + i % kLength] != expected[i];
    }
    CHECK(wrong == 0, "%d ints of rank %d wrong in the file", wrong, r);
    free(expected);
  }
  free(ints);
  fclose(file);
}

static void write_and_read(const char* path, bool collective) {
  Layout gapped = layout_strided(kBlocks, kLength, kPerBlock);
  Layout irregular = layout_irregular(kBlocks, kLength);
  MPI_Datatype view = file_view();
  MPI_File file;
  MPI_Status status;
  int ints = 0;
  Image out = layout_image(&gapped, 1, 1 + (uint32_t)rank, true);
  Image in = layout_image(&irregular, 1, 1 + (uint32_t)rank, false);
  CHECK_MPI(
      MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
  CHECK_MPI(MPI_File_set_view(file, (MPI_Offset)rank * kLength * (MPI_Offset)sizeof(int), MPI_INT,
                              view, "native", MPI_INFO_NULL));
  CHECK_MPI(collective ? MPI_File_write_all(file, out.base, 1, gapped.type, &status)
                       : MPI_File_write(file, out.base, 1, gapped.type, &status));
  MPI_Get_count(&status, MPI_INT, &ints);
  CHECK(ints == kBlocks * kLength, "wrote %d ints", ints);
  CHECK_MPI(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_MPI(MPI_File_seek(file, 0, MPI_SEEK_SET));
  CHECK_MPI(collective ? MPI_File_read_all(file, in.base, 1, irregular.type, &status)
                       : MPI_File_read(file, in.base, 1, irregular.type, &status));
  CHECK_IMAGE(&in, 1 + (uint32_t)rank, "read back, collective %d", collective);
  CHECK_MPI(MPI_File_close(&file));
  if (rank == 0) check_file(path, &gapped);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK_MPI(MPI_File_delete(path, MPI_INFO_NULL));
  MPI_Type_free(&view);
  image_free(&out), image_free(&in);
  layout_free(&gapped), layout_free(&irregular);
}

int main(int argc, char** argv) {
  char path[200] = "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank == 0) {
    const char* directory = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%s/mad_file_io.%d", directory ? directory : "/tmp",
             (int)getpid());
  }
  MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
  write_and_read(path, false);
  write_and_read(path, true);
  return check_finish();
}
