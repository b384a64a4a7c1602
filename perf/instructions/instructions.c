/* instructions: how many instructions a message costs its sender and its receiver.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/instructions/instructions.c -o instructions
 *   tools/mad run -n 2 ./instructions [BYTES...]
 *
 * Any MPI's mpicc and mpiexec will do, on Linux.  Each rank runs under a tracer of its own that
 * steps through it: from the call of MPI_Send to its return, and from the call of MPI_Recv, when
 * the message has been in this host for a while, to its return.  What the marks cost is measured
 * and taken off.  A line has the bytes, and the fewest of 20 sends and receives; the received bytes
 * are verified.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kTimes = 20, kTag = 1, kArriveMicroseconds = 20000, kDefaultBytes = 8 };

static long* counted; /* shared with the tracer: instructions between the last two marks */

/* Between two of them the tracer counts. */
static void mark(void) { raise(SIGUSR1); }

/* Ends with the traced process's exit code. */
static int trace(pid_t rank) {
  int status, stepping = 0;
  long count = 0;

  while (waitpid(rank, &status, 0) == rank) {
    int signal = 0;
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    if (WSTOPSIG(status) == SIGUSR1) {
      stepping = !stepping;
      if (!stepping) *counted = count;
      count = 0;
    } else if (stepping && WSTOPSIG(status) == SIGTRAP) {
      count++;
    } else if (WSTOPSIG(status) != SIGTRAP) {
      signal = WSTOPSIG(status);
    }
    if (ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, rank, NULL, (void*)(long)signal) != 0)
      perror("ptrace");
  }
  return 1;
}

static void run_traced(void) {
  pid_t rank;

  counted = mmap(NULL, sizeof(*counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (counted == MAP_FAILED) {
    perror("mmap");
    exit(1);
  }
  rank = fork();
  if (rank < 0) {
    perror("fork");
    exit(1);
  }
  if (rank > 0) exit(trace(rank));
  if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) {
    perror("ptrace: instructions needs to trace its own child");
    exit(1);
  }
}

static long least(long count, long other) { return count < other ? count : other; }

static long marks_alone(void) {
  long fewest = 1L << 60;
  for (int i = 0; i < kTimes; i++) {
    mark();
    mark();
    fewest = least(fewest, *counted);
  }
  return fewest;
}

/* Rank 0 sends, rank 1 receives; the fewest of the rank's instructions. */
static long measure(int rank, char* data, int bytes) {
  long fewest = 1L << 60;

  for (int i = 0; i < kTimes; i++) {
    memset(data, rank == 0 ? i + 1 : 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      mark();
      MPI_Send(data, bytes, MPI_CHAR, 1, kTag, MPI_COMM_WORLD);
      mark();
    } else {
      usleep(kArriveMicroseconds);
      mark();
      MPI_Recv(data, bytes, MPI_CHAR, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      mark();
      for (int k = 0; k < bytes; k++) {
        if (data[k] == (char)(i + 1)) continue;
        fprintf(stderr, "instructions: byte %d of %d is wrong\n", k, bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    fewest = least(fewest, *counted);
  }
  return fewest;
}

static void show(int bytes) {
  char* data = malloc((size_t)bytes + 1);
  long marks = marks_alone(), mine, other = 0;
  int rank;

  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  mine = measure(rank, data, bytes) - marks;
  if (rank == 1) {
    MPI_Send(&mine, 1, MPI_LONG, 0, kTag, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&other, 1, MPI_LONG, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%8d bytes: MPI_Send %5ld, MPI_Recv %5ld, together %5ld instructions\n", bytes, mine,
           other, mine + other);
    fflush(stdout);
  }
  free(data);
}

int main(int argc, char** argv) {
  int ranks;

  run_traced();
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    fprintf(stderr, "instructions: run it on 2 ranks, not %d\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (argc < 2) show(kDefaultBytes);
  for (int i = 1; i < argc; i++) {
    const int bytes = atoi(argv[i]);
    if (bytes < 0) {
      fprintf(stderr, "instructions: %s is no number of bytes\n", argv[i]);
      MPI_Abort(MPI_COMM_WORLD, 2);
    }
    show(bytes);
  }
  MPI_Finalize();
  return 0;
}
