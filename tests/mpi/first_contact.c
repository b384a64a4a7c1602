/* first_contact.c: everybody sends to everybody before anybody receives, and nobody knew anybody.
 *
 * Small messages leave at once, although connections are being asked for from both sides: programs
 * rely on it.
 */
#include <stdio.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"

enum { kTag = 4 };

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  Layout layout = layout_strided(100, 3, 5);
  for (int step = 1; step < size; step++) {
    const int to = (rank + step) % size;
    Image image = layout_image(&layout, 1, (uint32_t)(rank * size + to), true);
    CHECK_MPI(MPI_Send(image.base, 1, layout.type, to, kTag, MPI_COMM_WORLD));
    image_free(&image);
  }
  for (int step = 1; step < size; step++) {
    const int from = (rank + step) % size;
    Image image = layout_image(&layout, 1, (uint32_t)(from * size + rank), false);
    CHECK_MPI(MPI_Recv(image.base, 1, layout.type, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_IMAGE(&image, (uint32_t)(from * size + rank), "from %d", from);
    image_free(&image);
  }
  layout_free(&layout);
  return check_finish();
}
