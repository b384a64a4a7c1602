/* last_words.c: messages whose sender is already in MPI_Finalize when they are received. */
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"

enum { kTag = 1, kMessages = 20 };

static uint32_t stamp_of(int rank, int message) {
  return 1 + (uint32_t)(rank * kMessages + message);
}

/* Small enough to be complete at the sender before anyone receives them. */
static void send_all(const Layout* layout, int rank) {
  for (int m = 0; m < kMessages; m++) {
    Image image = layout_image(layout, 1, stamp_of(rank, m), true);
    MPI_Send(image.base, 1, layout->type, 0, kTag, MPI_COMM_WORLD);
    image_free(&image);
  }
}

static void receive_all(const Layout* layout, int size) {
  sleep(1); /* the others are in MPI_Finalize by now; what is checked holds without it too */
  for (int rank = 1; rank < size; rank++) {
    for (int m = 0; m < kMessages; m++) {
      Image image = layout_image(layout, 1, stamp_of(rank, m), false);
      MPI_Recv(image.base, 1, layout->type, rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_IMAGE(&image, stamp_of(rank, m), "message %d of rank %d", m, rank);
      image_free(&image);
    }
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Layout layout = layout_strided(10, 2, 3);
  if (rank == 0)
    receive_all(&layout, size);
  else
    send_all(&layout, rank);
  layout_free(&layout);
  const int failures = check_failures();
  if (rank == 0 && failures == 0) printf("ok last_words\n");
  MPI_Finalize();
  return failures != 0;
}
