/* forks.c: ranks that fork without exec.  Run as death.c is; the argument says what happens to the
 * last rank:
 *   dies    it is killed while a child of it sleeps, and the others learn of it at once
 *   exits   only its children end, as programs do, and nobody is harmed
 */
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"

enum { kTag = 1, kChildren = 3, kChildLives_s = 300, kFiles = 256 };

static int rank, size;
static bool launchers[kFiles]; /* files that were open before MPI_Init */

static void note_launchers_files(void) {
  for (int fd = 0; fd < kFiles; fd++) launchers[fd] = fcntl(fd, F_GETFD) >= 0;
}

static void die_with_a_child(void) {
  int value;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == size - 1) {
    /* It outlives the others' patience; the runner ends it.  The launcher, whose pipes of other
     * ranks it has inherited, is not to wait for it. */
    if (fork() == 0) {
      for (int fd = 0; fd < kFiles; fd++)
        if (launchers[fd]) close(fd);
      sleep(kChildLives_s);
      _exit(0);
    }
    usleep(100000); /* by now the child is asleep, or the test proves less but is still right */
    kill(getpid(), SIGKILL);
  }
  CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, size - 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              MPIX_ERR_PROC_FAILED);
  check_exit_alone(rank == 0);
}

/* Some of the connections are made afterwards. */
static int live_on(void) {
  int sum = 0, value = 1, status = 0;
  if (rank > 0)
    MPI_Sendrecv(&value, 1, MPI_INT, 0, kTag, &sum, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  for (int other = 1; rank == 0 && other < size; other++)
    MPI_Sendrecv(&value, 1, MPI_INT, other, kTag, &sum, 1, MPI_INT, other, kTag, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  for (int child = 0; child < kChildren; child++) {
    const pid_t pid = fork();
    if (pid == 0) exit(0);
    waitpid(pid, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with %d", status);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size, "the sum is %d", sum);
  }
  return check_finish();
}

int main(int argc, char** argv) {
  note_launchers_files();
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "dies") == 0) die_with_a_child();
  return live_on();
}
