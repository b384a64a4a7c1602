/* ports.c: two groups that meet through a port, again and again; processes that serve and come at
 * the same time; and ports nobody listens at. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/layout.h"
#include "support/path.h"

enum { kTag = 1, kRounds = 3, kPatience_s = 40 };

static int rank, size;
static uint32_t stamp;

/* The first half serves, the second half comes; the port's name travels through the world. */
static MPI_Comm meet(MPI_Comm half, bool serves) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm between;
  if (rank == 0) {
    CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, size / 2, kTag, MPI_COMM_WORLD);
  }
  if (rank == size / 2) {
    MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (serves)
    CHECK_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &between));
  else
    CHECK_MPI(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &between));
  if (rank == 0) CHECK_MPI(MPI_Close_port(port));
  return between;
}

/* Every server sends to every client. */
static void talk(MPI_Comm between, bool serves, const char* path) {
  int partners;
  MPI_Comm_remote_size(between, &partners);
  path_set(between, path);
  Layout layout = serves ? layout_strided(30000, 2, 3) : layout_irregular(30000, 2);
  for (int p = 0; p < partners; p++) {
    Image image = layout_image(&layout, 1, stamp + 1, serves);
    if (serves) {
      MPI_Send(image.base, 1, layout.type, p, kTag, between);
    } else {
      MPI_Recv(image.base, 1, layout.type, p, kTag, between, MPI_STATUS_IGNORE);
      CHECK_IMAGE(&image, stamp + 1, "from server %d, path %s", p, path);
    }
    image_free(&image);
  }
  stamp++;
  layout_free(&layout);
}

static void rounds(void) {
  const bool serves = rank < size / 2;
  MPI_Comm half;
  MPI_Comm_split(MPI_COMM_WORLD, serves, rank, &half);
  for (int i = 0; i < kRounds; i++) {
    MPI_Comm between = meet(half, serves);
    talk(between, serves, kPaths[i % kPathCount]);
    MPI_Comm_disconnect(&between);
  }
  MPI_Comm_free(&half);
}

static void take_value(MPI_Comm between, int expected) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, kTag, between, MPI_STATUS_IGNORE);
  CHECK(value == expected, "received %d, not %d", value, expected);
}

static void give_value(MPI_Comm between, int value) {
  MPI_Send(&value, 1, MPI_INT, 0, kTag, between);
}

static void progress_for(double seconds) {
  int found;
  for (const double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
    MPI_Iprobe(MPI_ANY_SOURCE, kTag + 1, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

/* Rank 0 comes to rank 1's port, and rank 1, whose port has the same number as rank 2's, first
 * comes to that one: rank 0's request is no answer to rank 1's. */
static void chain(void) {
  char mine[MPI_MAX_PORT_NAME] = "", next[MPI_MAX_PORT_NAME] = "";
  MPI_Comm before = MPI_COMM_NULL, behind = MPI_COMM_NULL;
  if (rank > 2) return;
  if (rank > 0) {
    CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, mine));
    MPI_Send(mine, MPI_MAX_PORT_NAME, MPI_CHAR, rank - 1, kTag, MPI_COMM_WORLD);
  }
  if (rank < 2)
    MPI_Recv(next, MPI_MAX_PORT_NAME, MPI_CHAR, rank + 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank > 0) progress_for(0.3 * rank);
  if (rank < 2) CHECK_MPI(MPI_Comm_connect(next, MPI_INFO_NULL, 0, MPI_COMM_SELF, &behind));
  if (rank > 0) CHECK_MPI(MPI_Comm_accept(mine, MPI_INFO_NULL, 0, MPI_COMM_SELF, &before));
  if (rank < 2) give_value(behind, 10 + rank);
  if (rank > 0) take_value(before, 9 + rank);
  if (rank < 2) MPI_Comm_disconnect(&behind);
  if (rank > 0) MPI_Comm_disconnect(&before);
  if (rank > 0) CHECK_MPI(MPI_Close_port(mine));
}

static void refused(const char* port, const char* what) {
  MPI_Comm self = check_comm(MPI_COMM_SELF), between = MPI_COMM_NULL;
  const double start = MPI_Wtime();
  const int error = MPI_Comm_connect(port, MPI_INFO_NULL, 0, self, &between);
  CHECK(error != MPI_SUCCESS, "connected to %s", what);
  CHECK_CLASS(error, MPI_ERR_PORT);
  CHECK(MPI_Wtime() - start < kPatience_s, "%s: an error after %.0f s only", what,
        MPI_Wtime() - start);
  MPI_Comm_free(&self);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rounds();
  chain();
  if (rank == 0) {
    refused("this is no port", "a name that is no port's");
    refused("", "no name");
    refused("tag#0$", "a name without an address");
    refused("tag#0$connentry#00112233$", "a name with an address of nobody");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return check_finish();
}
