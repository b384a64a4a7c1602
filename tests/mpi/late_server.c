/* late_server.c: clients that try again until the server accepts, as it computed at first.
 *
 * Each connection that was given up is taken back, so that the server meets only those who wait.
 */
#include <stdio.h>
#include <unistd.h>

#include "support/check.h"

/* Clients wait for a second each time: the server is there in the middle of one. */
enum { kTag = 3, kClients = 2, kPause_us = 3500000, kTries = 20 };

/* The clients come one after the other, the second when all that the first gave up is long past. */
static void serve(const char* port) {
  int met[kClients + 1] = {0};
  usleep(kPause_us);
  for (int i = 0; i < kClients; i++) {
    MPI_Comm client = MPI_COMM_NULL;
    int who = 0;
    CHECK_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &client));
    CHECK_MPI(MPI_Recv(&who, 1, MPI_INT, 0, kTag, client, MPI_STATUS_IGNORE));
    if (who == 1 || who == 2) ++met[who];
    CHECK_MPI(MPI_Send(&who, 1, MPI_INT, 0, kTag, client));
    CHECK_MPI(MPI_Comm_disconnect(&client));
    if (i == 0) MPI_Send(NULL, 0, MPI_INT, 2, kTag, MPI_COMM_WORLD);
  }
  CHECK(met[1] == 1 && met[2] == 1, "met client 1 %d times, client 2 %d times", met[1], met[2]);
}

static void connect(const char* port, int rank) {
  MPI_Comm server = MPI_COMM_NULL;
  MPI_Info patience;
  int tries = 0, error, who = rank, answer = 0;
  MPI_Info_create(&patience);
  MPI_Info_set(patience, "timeout", "1");
  if (rank == 2) MPI_Recv(NULL, 0, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  do {
    error = MPI_Comm_connect(port, patience, 0, MPI_COMM_SELF, &server);
  } while (error && ++tries < kTries);
  MPI_Info_free(&patience);
  CHECK(!error, "no connection after %d tries", tries);
  CHECK(rank == 2 || tries > 0, "the server was there at once, which it should not have been");
  if (error) return;
  CHECK_MPI(MPI_Send(&who, 1, MPI_INT, 0, kTag, server));
  CHECK_MPI(MPI_Recv(&answer, 1, MPI_INT, 0, kTag, server, MPI_STATUS_IGNORE));
  CHECK(answer == rank, "answered %d", answer);
  CHECK_MPI(MPI_Comm_disconnect(&server));
}

int main(int argc, char** argv) {
  char port[MPI_MAX_PORT_NAME] = "";
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, sizeof(port), MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) serve(port);
  if (rank == 1 || rank == 2) connect(port, rank);
  if (rank == 0) MPI_Close_port(port);
  return check_finish();
}
