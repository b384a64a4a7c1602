#include "layout.h"

#include <stdlib.h>

static Layout committed(MPI_Datatype type, TypeMap map) {
  Layout layout = {type, map, 0};
  MPI_Aint lb;
  MPI_Type_commit(&layout.type);
  MPI_Type_get_extent(layout.type, &lb, &layout.extent);
  return layout;
}

static void add_ints(TypeMap* map, int64_t first, int count) {
  for (int i = 0; i < count; i++) {
    typemap_add(map, (first + i) * (int64_t)sizeof(int), (int32_t)sizeof(int));
  }
}

Layout layout_contiguous(int count) { return layout_strided(1, count, count); }

Layout layout_strided(int blocks, int length, int stride) {
  MPI_Datatype type;
  TypeMap map = {0};
  MPI_Type_vector(blocks, length, stride, MPI_INT, &type);
  for (int b = 0; b < blocks; b++) add_ints(&map, (int64_t)b * stride, length);
  return committed(type, map);
}

/* Lengths 1, 2, 3, ... up to 40 and again; each gap is a third of the block before it. */
Layout layout_irregular(int blocks, int length) {
  enum { kLongest = 40 };
  const int total = blocks * length;
  int* lengths = malloc((size_t)total * sizeof(int));
  int* displacements = malloc((size_t)total * sizeof(int));
  if (!lengths || !displacements) MPI_Abort(MPI_COMM_WORLD, 1);
  TypeMap map = {0};
  MPI_Datatype type;
  int count = 0, at = 3;
  for (int left = total; left > 0; left -= lengths[count++]) {
    lengths[count] = count % kLongest + 1 < left ? count % kLongest + 1 : left;
    displacements[count] = at;
    add_ints(&map, at, lengths[count]);
    at += lengths[count] + (lengths[count] + 2) / 3;
  }
  MPI_Type_indexed(count, lengths, displacements, MPI_INT, &type);
  free(lengths);
  free(displacements);
  return committed(type, map);
}

void layout_free(Layout* layout) {
  MPI_Type_free(&layout->type);
  typemap_free(&layout->map);
}

Image layout_image(const Layout* layout, size_t count, uint32_t stamp, bool sent) {
  Image image = image_new(&layout->map, layout->extent, count);
  image_fill(&image, stamp, sent);
  return image;
}
