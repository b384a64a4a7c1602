/* alone.c: a program that its user started without mpiexec: what needs a launcher is an error, or
 * not there, at once.
 *
 * The first process is mpiexec's, and becomes one that nobody started.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/check.h"

int main(int argc, char** argv) {
  if (getenv("PMI_FD") || getenv("PMI_PORT")) {
    unsetenv("PMI_FD"), unsetenv("PMI_PORT");
    execv(argv[0], argv);
    perror(argv[0]);
    return 1;
  }
  int size = 0, found = 0, *universe = NULL;
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm children = MPI_COMM_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 1, "%d processes", size);
  CHECK_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, (void*)&universe, &found));
  CHECK(!found, "a universe of %d", found ? *universe : 0);
  CHECK(MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                       MPI_ERRCODES_IGNORE) != MPI_SUCCESS,
        "something was spawned");
  CHECK(MPI_Publish_name("alone", MPI_INFO_NULL, port) != MPI_SUCCESS, "a name was published");
  CHECK(MPI_Lookup_name("alone", MPI_INFO_NULL, port) != MPI_SUCCESS, "a name was found");
  return check_finish();
}
