/* verbs: what a message costs its RDMA device, in copies, registrations, requests and packets.
 *
 *   cc -shared -fPIC -O2 perf/verbs/tally.c -o libtally.so -ldl
 *   $(tools/mad prefix)/bin/mpicc -O2 perf/verbs/verbs.c -o verbs
 *   mpiexec -n 2 -genv LD_PRELOAD $PWD/libtally.so ./verbs [BYTES[/RUN]]...
 *
 * Any MPI's mpicc and mpiexec will do, where there is an RDMA device, as in `tools/mad lab`.  A
 * message is BYTES of one run, or of runs of RUN bytes with gaps as long; both sides have the same
 * layout, and every byte is verified.  A line has, of each message of kTimes in a row:
 *
 *   copied   bytes that the sender, and the receiver, copied for each byte of payload: those that
 * no request sent, wrote or read where the user has them reg      registrations of memory, sender's
 * and receiver's requests that the sender, and the receiver, posted to send, write or read done
 * completions of requests that the two polled, for each of them packets  that the sender's and the
 * receiver's requests are cut into by the path's MTU; the least possible, payload / MTU + 1; and
 * what the device sent for both, acknowledgements and a short answer to each message too, as Linux
 * counts it
 *
 * At last: what 1000 idle polls posted.  A write there asks whether a silent host is there.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tally.h"

enum {
  kTimes = 64,
  kWarm = 16,
  kPolls = 1000,
  kPasses = 2,
  kTag = 1,
  kSettleMicroseconds = 300000
};
static const char kSent[] = "/sys/class/infiniband/%s/ports/1/hw_counters/sent_pkts";
static const char* const kDefaults[] = {"8",       "4096",       "65536",       "262144",
                                        "1048576", "65536/4096", "262144/4096", "1048576/4096"};

typedef struct Message {
  size_t bytes, run, extent; /* run: bytes of one, or all */
  MPI_Datatype type;
} Message;

static void fail(const char* what) {
  fprintf(stderr, "verbs: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static Message message_of(const char* text) {
  Message message = {strtoull(text, NULL, 10), 0, 0, MPI_DATATYPE_NULL};
  const char* const run = strchr(text, '/');
  message.run = run ? strtoull(run + 1, NULL, 10) : message.bytes;
  if (message.bytes == 0 || message.run == 0 || message.bytes % message.run != 0) {
    fail("a message is BYTES or BYTES/RUN, both more than 0");
  }
  const int runs = (int)(message.bytes / message.run);
  message.extent = run ? 2 * message.bytes : message.bytes;
  MPI_Type_vector(runs, (int)message.run, (int)(run ? 2 * message.run : message.run), MPI_BYTE,
                  &message.type);
  MPI_Type_commit(&message.type);
  return message;
}

static char byte_of(size_t place, int stamp) { return (char)(7 * place + (place >> 12) + stamp); }

static bool is_payload(const Message* message, size_t place) {
  return message->run == message->bytes || place / message->run % 2 == 0;
}

static void fill(const Message* message, char* data, int stamp) {
  for (size_t i = 0; i < message->extent; i++) data[i] = byte_of(i, stamp);
}

static void verify(const Message* message, const char* data, int stamp) {
  for (size_t i = 0; i < message->extent; i++) {
    if (data[i] != (is_payload(message, i) ? byte_of(i, stamp) : 0)) fail("a byte is wrong");
  }
}

/* Rank 0 sends, and waits for a short answer to each. */
static void exchange(const Message* message, char* data, int rank, int stamp) {
  char answer = 0;
  if (rank == 0) {
    MPI_Send(data, 1, message->type, 1, kTag, MPI_COMM_WORLD);
    MPI_Recv(&answer, 1, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(data, 1, message->type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    verify(message, data, stamp);
    memset(data, 0, message->extent);
    MPI_Send(&answer, 1, MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
  }
}

static long long packets_sent(const char* device) {
  char path[256];
  long long packets = 0;
  snprintf(path, sizeof(path), kSent, device);
  FILE* const file = fopen(path, "r");
  if (!file) return 0;
  if (fscanf(file, "%lld", &packets) != 1) packets = 0;
  fclose(file);
  return packets;
}

static VerbsTally difference(const VerbsTally* before, const VerbsTally* after) {
  VerbsTally out;
  const long long* const from = (const long long*)before;
  const long long* const to = (const long long*)after;
  for (size_t i = 0; i < sizeof(out) / sizeof(long long); i++)
    ((long long*)&out)[i] = to[i] - from[i];
  return out;
}

static long long requests(const VerbsTally* tally) {
  return tally->sends + tally->writes + tally->reads;
}

static void show(const char* text, const Message* message, const VerbsTally* both,
                 long long packets) {
  const VerbsTally *sender = &both[0], *receiver = &both[1];
  const double payload = (double)message->bytes * kTimes;
  const double in_place_there = (double)(sender->to_peer + receiver->to_user);
  const double in_place_here = (double)(sender->from_user + receiver->from_peer);
  const double ideal = (double)message->bytes / (double)verbs_tally_mtu() + 1;
  printf(
      "%14s: copied %.2f %.2f, reg %.2f %.2f, requests %.2f %.2f, done %.2f %.2f, packets %.2f "
      "%.2f, least %.2f, device %.2f\n",
      text, 1 - in_place_here / payload, 1 - in_place_there / payload,
      (double)sender->registrations / kTimes, (double)receiver->registrations / kTimes,
      (double)requests(sender) / kTimes, (double)requests(receiver) / kTimes,
      (double)sender->sends_completed / (double)requests(sender),
      (double)receiver->sends_completed / (double)requests(receiver),
      (double)sender->packets / kTimes, (double)receiver->packets / kTimes, ideal,
      (double)packets / kTimes);
  fflush(stdout);
}

static void measure(const char* text, const char* device, int rank) {
  Message message = message_of(text);
  char* const data = calloc(1, message.extent);
  unsigned long long place = (unsigned long long)(size_t)data, other = 0;
  VerbsTally before, after, counted, both[2];
  long long packets = 0;

  MPI_Sendrecv(&place, 1, MPI_UNSIGNED_LONG_LONG, 1 - rank, kTag, &other, 1, MPI_UNSIGNED_LONG_LONG,
               1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  verbs_tally_watch(data, message.extent, (void*)(size_t)other, message.extent);
  for (int i = -kWarm; i < kTimes; i++) {
    if (i == 0) {
      usleep(kSettleMicroseconds);
      verbs_tally(&before);
      packets = packets_sent(device);
    }
    if (rank == 0) fill(&message, data, i);
    exchange(&message, data, rank, i);
  }
  verbs_tally(&after);
  packets = packets_sent(device) - packets;
  counted = difference(&before, &after);
  MPI_Gather(&counted, sizeof(counted), MPI_BYTE, both, sizeof(counted), MPI_BYTE, 0,
             MPI_COMM_WORLD);
  if (rank == 0) show(text, &message, both, packets);
  verbs_tally_watch(NULL, 0, NULL, 0);
  MPI_Type_free(&message.type);
  free(data);
}

/* What the last exchange left to do is done before. */
static void measure_idle(int rank) {
  VerbsTally before, after;
  int flag;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int pass = 0; pass < kPasses; pass++) {
    usleep(kSettleMicroseconds);
    verbs_tally(&before);
    for (int i = 0; i < kPolls; i++) {
      MPI_Iprobe(MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    verbs_tally(&after);
  }
  const VerbsTally idle = difference(&before, &after);
  usleep(kPasses * kSettleMicroseconds); /* the other's barrier comes when it has counted */
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("%14s: %lld sends, %lld writes, %lld reads, %lld receives posted, %lld registrations\n",
           "1000 idle", idle.sends, idle.writes, idle.reads, idle.receives_posted,
           idle.registrations);
  }
}

int main(int argc, char** argv) {
  const char* const device = getenv("VERBS_DEVICE") ? getenv("VERBS_DEVICE") : "rxe0";
  int ranks, rank;

  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (ranks != 2) fail("run it on 2 ranks");
  if (!verbs_tally) fail("LD_PRELOAD does not name libtally.so");
  for (int i = 1; i < argc; i++) measure(argv[i], device, rank);
  for (size_t i = 0; argc < 2 && i < sizeof(kDefaults) / sizeof(kDefaults[0]); i++) {
    measure(kDefaults[i], device, rank);
  }
  measure_idle(rank);
  MPI_Finalize();
  return 0;
}
