/* layout.h: the usual datatypes of the tests, each with its literal type map.
 *
 * A Layout is a committed datatype beside the map that says which bytes it moves.  Its pieces are
 * ints, so that layouts with the same number of them have equal signatures and one may be sent
 * where another is received.
 */
#ifndef TESTS_MPI_LAYOUT_H
#define TESTS_MPI_LAYOUT_H

#include <mpi.h>

#include "typemap.h"

typedef struct Layout {
  MPI_Datatype type;
  TypeMap map; /* of one element */
  MPI_Aint extent;
} Layout;

/* `count` ints in a row. */
Layout layout_contiguous(int count);
/* `blocks` blocks of `length` ints, their starts `stride` ints apart. */
Layout layout_strided(int blocks, int length, int stride);
/* As many ints as `blocks` blocks of `length`, in blocks of growing lengths and gaps. */
Layout layout_irregular(int blocks, int length);
void layout_free(Layout* layout);

/* A filled buffer for `count` elements; released by image_free(). */
Image layout_image(const Layout* layout, size_t count, uint32_t stamp, bool sent);

#endif
