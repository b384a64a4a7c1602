/* instructions: how many instructions a message costs its sender and its receiver.
 *
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/instructions/instructions.c -o instructions
 *   tools/mad run -n 2 ./instructions [BYTES[/RUN]...]
 *
 * Any MPI's mpicc and mpiexec will do, on Linux, also in an emulated machine.  Each rank runs under
 * a tracer of its own that steps through it: from the call of MPI_Send to its return, and from the
 * call of MPI_Recv, when the message has been in this host for a while, to its return.  One side at
 * a time: the other runs at its own speed, so that who waits for its answer makes few steps in
 * vain. What the marks cost is measured and taken off.  A message is BYTES of one run, or of runs
 * of RUN bytes with gaps as long.  A line has the message, and the fewest of 20 sends and receives;
 * the received bytes are verified.
 */
#include <limits.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Stepping takes 100 us an instruction in an emulator. */
enum { kTimes = 20, kFewTimes = 4, kFewFromBytes = 16384, kTag = 1, kArriveMicroseconds = 20000 };

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

typedef struct Message {
  size_t bytes, run, extent; /* run: bytes of one, or all */
  int count;
  MPI_Datatype type; /* of one run MPI_CHAR, as most programs have it */
} Message;

/* Whether the text is BYTES or BYTES/RUN. */
static int parse(const char* text, Message* message) {
  char* end;
  message->bytes = message->run = message->extent = strtoul(text, &end, 10);
  if (end == text) return 0;
  if (*end == '/') {
    const char* const run = end + 1;
    message->run = strtoul(run, &end, 10);
    message->extent = 2 * message->bytes;
    if (end == run || message->run == 0 || message->bytes % message->run != 0) return 0;
  }
  if (*end != '\0' || message->extent > INT_MAX) return 0;
  if (message->run == message->bytes) {
    message->count = (int)message->bytes;
    message->type = MPI_CHAR;
  } else {
    message->count = 1;
    MPI_Type_vector((int)(message->bytes / message->run), (int)message->run, 2 * (int)message->run,
                    MPI_CHAR, &message->type);
    MPI_Type_commit(&message->type);
  }
  return 1;
}

static void verify(const Message* message, const char* data, char expected) {
  for (size_t i = 0; i < message->extent; i++) {
    const int is_payload = message->run == message->bytes || i / message->run % 2 == 0;
    if (data[i] == (is_payload ? expected : 0)) continue;
    fprintf(stderr, "instructions: byte %zu is wrong\n", i);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

/* Rank 0 sends, rank 1 receives; the fewest instructions of that which is `stepped`, on it. */
static long measure(int rank, char* data, const Message* message, int stepped) {
  const int times = message->bytes < kFewFromBytes ? kTimes : kFewTimes;
  long fewest = 1L << 60;

  for (int i = 0; i < times; i++) {
    memset(data, rank == 0 ? i + 1 : 0, message->extent);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && stepped == 1) usleep(kArriveMicroseconds);
    if (rank == stepped) mark();
    if (rank == 0) {
      MPI_Send(data, message->count, message->type, 1, kTag, MPI_COMM_WORLD);
    } else {
      MPI_Recv(data, message->count, message->type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == stepped) mark();
    if (rank == 1) verify(message, data, (char)(i + 1));
    fewest = least(fewest, *counted);
  }
  return fewest;
}

static void show(const char* text) {
  Message message;
  int rank;

  if (!parse(text, &message)) {
    fprintf(stderr, "instructions: %s is neither BYTES nor BYTES/RUN\n", text);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  char* const data = malloc(message.extent + 1);
  const long marks = marks_alone();
  const long sent = measure(rank, data, &message, 0) - marks;
  long received = measure(rank, data, &message, 1) - marks;
  if (rank == 1) {
    MPI_Send(&received, 1, MPI_LONG, 0, kTag, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&received, 1, MPI_LONG, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%14s: MPI_Send %5ld, MPI_Recv %5ld, together %5ld instructions\n", text, sent, received,
           sent + received);
    fflush(stdout);
  }
  if (message.type != MPI_CHAR) MPI_Type_free(&message.type);
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
  if (argc < 2) show("8");
  for (int i = 1; i < argc; i++) show(argv[i]);
  MPI_Finalize();
  return 0;
}
