/* stress.c: everything at once, at random, every byte verified.
 *
 *   stress [--seconds N] [--first ROUND]
 *
 * In each round all ranks send each other some messages (support/plan.h): random types, sizes from
 * nothing to 4 MiB, sends of several kinds, received by name, by anybody, by probes, before or
 * after they come, on communicators whose data path changes all the time.  Prints the seed when
 * something is wrong, and when --seconds is given; MAD_SEED and --first repeat a round.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/image_check.h"
#include "support/path.h"
#include "support/plan.h"

enum {
  kSeconds = 6,
  kRoundPatience = 40 /* s; below the time that the tests' runner gives it */,
  kStarts = 3,
  kProbes = 4
};

/* One side of one message. */
typedef struct Transfer {
  const Message* message; /* on kAnybody which one it was is known at the end */
  bool sends;
  Side side;
  const char* path;
  MPI_Request request;
  MPI_Status status;
} Transfer;

static MPI_Comm comms[kChannels];
static int rank, size;
static uint64_t seed;
static int round_number;
static Random mine; /* this rank's own choices */
static Transfer transfers[2 * kMostMessages];
static int transfer_count;
static char where[200]; /* for who finds this process stuck or failing */

static void at(const char* what) {
  snprintf(where, sizeof(where), "stress: rank %d of %d, seed %llu, round %d, %s\n", rank, size,
           (unsigned long long)seed, round_number, what);
}

static void tell_where(void) {
  if (write(STDERR_FILENO, where, strlen(where)) < 0) _exit(3);
}

static void stuck(int sign) {
  (void)sign;
  tell_where();
  _exit(2);
}

/* Every error ends the test; those of several requests are looked for in their statuses. */
static void on_error(MPI_Comm* comm, int* error, ...) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class;
  MPI_Error_class(*error, &class);
  if (class == MPI_ERR_IN_STATUS) return;
  MPI_Error_string(*error, text, &length);
  tell_where();
  fprintf(stderr, "%s\n", text);
  MPI_Abort(*comm, 1);
}

static uint32_t stamp_of(const Message* message, int start) {
  return message->stamp + ((uint32_t)start << 30);
}

/* ---- posting ---- */

static MPI_Comm comm_on_some_path(Transfer* transfer) {
  const MPI_Comm comm = comms[transfer->message->channel];
  transfer->path = kPaths[random_below(&mine, kPathCount)];
  path_set(comm, transfer->path);
  return comm;
}

static Transfer* transfer_new(const Message* message, bool sends) {
  Transfer* transfer = &transfers[transfer_count++];
  *transfer = (Transfer){.message = message, .sends = sends, .request = MPI_REQUEST_NULL};
  transfer->side = side_new(message, &mine, sends ? message->count : message->room);
  image_fill(&transfer->side.image, stamp_of(message, 0), sends);
  return transfer;
}

static void post_send(const Message* message) {
  typedef int (*Post)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  static const Post kPosts[2][2] = {{MPI_Isend, MPI_Issend}, {MPI_Send_init, MPI_Ssend_init}};
  Transfer* transfer = transfer_new(message, true);
  const Side* side = &transfer->side;
  kPosts[message->persistent][message->synchronous](
      side->image.base, side->count, side->type, message->target, message->tag,
      comm_on_some_path(transfer), &transfer->request);
  if (message->persistent) MPI_Start(&transfer->request);
}

static void post_receive(const Message* message) {
  Transfer* transfer = transfer_new(message, false);
  const Side* side = &transfer->side;
  const MPI_Comm comm = comm_on_some_path(transfer);
  const bool anybody = message->channel == kAnybody;
  const int source = anybody ? MPI_ANY_SOURCE : message->source;
  const int tag = anybody ? MPI_ANY_TAG : message->tag;
  if (message->persistent) {
    MPI_Recv_init(side->image.base, side->count, side->type, source, tag, comm, &transfer->request);
    MPI_Start(&transfer->request);
  } else {
    MPI_Irecv(side->image.base, side->count, side->type, source, tag, comm, &transfer->request);
  }
}

static bool is_received_here(const Message* message, Channel channel) {
  return message->target == rank && message->channel == channel;
}

static void post_receives(const Plan* plan, bool late) {
  for (int m = 0; m < plan->count; m++) {
    const Message* message = &plan->messages[m];
    if (message->late != late || is_received_here(message, kProbed)) continue;
    if (message->target == rank) post_receive(message);
  }
}

/* Now and then something is given time to arrive. */
static void progress_a_little(void) {
  int flag;
  for (int n = (int)random_below(&mine, 8) - 4; n > 0; n--) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comms[kProbed], &flag, MPI_STATUS_IGNORE);
  }
}

static void send_all(const Plan* plan) {
  for (int m = 0; m < plan->count; m++) {
    if (plan->messages[m].source != rank) continue;
    post_send(&plan->messages[m]);
    progress_a_little();
  }
}

/* ---- probing ---- */

/* The first of the plan's that may be what came, and has not come yet. */
static const Message* take(const Plan* plan, Channel channel, const MPI_Status* status,
                           bool* taken) {
  for (int m = 0; m < plan->count; m++) {
    const Message* message = &plan->messages[m];
    if (taken[m] || !is_received_here(message, channel)) continue;
    if (message->source != status->MPI_SOURCE || message->tag != status->MPI_TAG) continue;
    taken[m] = true;
    return message;
  }
  CHECK(false, "seed %llu, round %d: a message of rank %d with tag %d that nobody sent",
        (unsigned long long)seed, round_number, status->MPI_SOURCE, status->MPI_TAG);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return NULL;
}

/* Whatever comes, by one of the ways to see it first; `*matched` if it is taken out of the queue.
 */
static MPI_Status probe(int way, MPI_Message* matched) {
  const MPI_Comm comm = comms[kProbed];
  MPI_Status status;
  int flag = 0;
  *matched = MPI_MESSAGE_NULL;
  if (way == 0) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
  if (way == 1) MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, matched, &status);
  while (way == 2 && !flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &status);
  while (way == 3 && !flag) {
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, matched, &status);
  }
  return status;
}

static void receive_probed(const Plan* plan, bool* taken) {
  MPI_Message matched;
  const MPI_Status status = probe((int)random_below(&mine, kProbes), &matched);
  Transfer* transfer = transfer_new(take(plan, kProbed, &status, taken), false);
  const Side* side = &transfer->side;
  const MPI_Comm comm = comm_on_some_path(transfer);
  void* base = side->image.base;
  int bytes;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  CHECK((size_t)bytes == typemap_bytes(&side->image.map), "probed %d bytes, sent %zu", bytes,
        typemap_bytes(&side->image.map));
  transfer->status = status;
  if (matched == MPI_MESSAGE_NULL) {
    MPI_Recv(base, side->count, side->type, status.MPI_SOURCE, status.MPI_TAG, comm,
             &transfer->status);
  } else if (random_below(&mine, 2)) {
    MPI_Mrecv(base, side->count, side->type, &matched, &transfer->status);
  } else {
    MPI_Imrecv(base, side->count, side->type, &matched, &transfer->request);
  }
}

static void receive_all_probed(const Plan* plan) {
  bool taken[kMostMessages] = {false};
  for (int m = 0; m < plan->count; m++) {
    if (is_received_here(&plan->messages[m], kProbed)) receive_probed(plan, taken);
  }
}

/* ---- the end of a round ---- */

static const char* description(const Transfer* transfer) {
  static char text[300];
  const Message* message = transfer->message;
  snprintf(text, sizeof(text),
           "seed %llu, round %d, %s from %d to %d, tag %d, channel %d, content %d, %zu bytes, path "
           "%s",
           (unsigned long long)seed, round_number, transfer->sends ? "sent" : "received",
           message->source, message->target, message->tag, (int)message->channel,
           (int)message->content, typemap_bytes(&transfer->side.image.map), transfer->path);
  return text;
}

static void put_status(Transfer* transfer, const MPI_Status* status, int code) {
  transfer->status = *status;
  if (code == MPI_SUCCESS || status->MPI_ERROR == MPI_SUCCESS) return;
  int class, error = status->MPI_ERROR;
  MPI_Error_class(error, &class);
  if (class == MPI_ERR_PENDING) return;
  fprintf(stderr, "%s\n", description(transfer));
  on_error(&comms[transfer->message->channel], &error);
}

/* Everything that was started, by one of the ways to wait. */
static void wait_all(void) {
  MPI_Request requests[2 * kMostMessages];
  MPI_Status statuses[2 * kMostMessages];
  int places[2 * kMostMessages], done[2 * kMostMessages], count = 0;
  for (int t = 0; t < transfer_count; t++) {
    if (transfers[t].request == MPI_REQUEST_NULL) continue;
    places[count] = t;
    requests[count++] = transfers[t].request;
  }
  const uint32_t way = random_below(&mine, 3);
  if (way == 0) {
    const int code = MPI_Waitall(count, requests, statuses);
    for (int i = 0; i < count; i++) put_status(&transfers[places[i]], &statuses[i], code);
  }
  for (int finished = 0; way != 0 && finished != MPI_UNDEFINED;) {
    if (way == 1) {
      MPI_Waitany(count, requests, &finished, statuses);
      if (finished == MPI_UNDEFINED) break;
      put_status(&transfers[places[finished]], statuses, MPI_SUCCESS);
    } else {
      const int code = MPI_Testsome(count, requests, &finished, done, statuses);
      for (int i = 0; finished != MPI_UNDEFINED && i < finished; i++) {
        put_status(&transfers[places[done[i]]], &statuses[i], code);
      }
      if (finished == 0) sched_yield();
    }
  }
  for (int i = 0; i < count; i++) transfers[places[i]].request = requests[i];
}

static void check_one(const Transfer* transfer, int start) {
  const Message* message = transfer->message;
  const Image* image = &transfer->side.image;
  size_t entries = image->map.count;
  if (message->room > 0) entries = entries / (size_t)message->room * (size_t)message->count;
  if (transfer->sends) entries = image->map.count;
  CHECK_IMAGE_PREFIX(image, stamp_of(message, start), entries, "%s, start %d",
                     description(transfer), start);
  if (transfer->sends) return;
  CHECK(transfer->status.MPI_SOURCE == message->source && transfer->status.MPI_TAG == message->tag,
        "status of rank %d, tag %d: %s", transfer->status.MPI_SOURCE, transfer->status.MPI_TAG,
        description(transfer));
}

/* Receives by anybody matched in the order in which they were posted, which is that of `transfers`.
 */
static void check_all(const Plan* plan) {
  bool taken[kMostMessages] = {false};
  for (int t = 0; t < transfer_count; t++) {
    Transfer* transfer = &transfers[t];
    if (!transfer->sends && transfer->message->channel == kAnybody) {
      transfer->message = take(plan, kAnybody, &transfer->status, taken);
    }
    check_one(transfer, 0);
  }
}

/* Persistent requests once more, with other bytes and on other paths. */
static void start_again(int start) {
  for (int t = 0; t < transfer_count; t++) {
    Transfer* transfer = &transfers[t];
    if (!transfer->message->persistent) continue;
    image_fill(&transfer->side.image, stamp_of(transfer->message, start), transfer->sends);
    comm_on_some_path(transfer);
    MPI_Start(&transfer->request);
    progress_a_little();
  }
  wait_all();
  for (int t = 0; t < transfer_count; t++) {
    if (transfers[t].message->persistent) check_one(&transfers[t], start);
  }
}

static void play(const Plan* plan) {
  transfer_count = 0;
  at("posting early receives");
  post_receives(plan, false);
  if (plan->together) MPI_Barrier(comms[kNamed]);
  at("sending");
  send_all(plan);
  at("probing");
  receive_all_probed(plan);
  at("posting late receives");
  post_receives(plan, true);
  at("waiting");
  wait_all();
  check_all(plan);
  at("starting again");
  for (int start = 1; start < kStarts; start++) start_again(start);
  for (int t = 0; t < transfer_count; t++) {
    if (transfers[t].request != MPI_REQUEST_NULL) MPI_Request_free(&transfers[t].request);
    side_free(&transfers[t].side);
  }
}

/* Rounds until rank 0 says that time is up or anybody finds something wrong; how many. */
static int play_rounds(int first, double seconds) {
  const double end = MPI_Wtime() + seconds;
  int stop = 0;
  for (round_number = first; !stop; round_number++) {
    alarm(kRoundPatience);
    mine = random_from(seed ^ ((uint64_t)round_number << 32) ^ ((uint64_t)rank << 20));
    const Plan plan = plan_new(seed, round_number, size);
    play(&plan);
    at("agreeing to go on");
    const int wanted = check_failures() > 0 || (rank == 0 && MPI_Wtime() > end);
    MPI_Allreduce(&wanted, &stop, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  alarm(kRoundPatience);
  at("ending");
  return round_number - first;
}

int main(int argc, char** argv) {
  int first = 0;
  double seconds = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int a = 1; a + 1 < argc; a += 2) {
    if (strcmp(argv[a], "--seconds") == 0) seconds = atof(argv[a + 1]);
    if (strcmp(argv[a], "--first") == 0) first = atoi(argv[a + 1]);
  }
  seed = random_seed((uint64_t)time(NULL));
  MPI_Bcast(&seed, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  signal(SIGALRM, stuck);
  MPI_Errhandler ending;
  MPI_Comm_create_errhandler(on_error, &ending);
  for (int c = 0; c < kChannels; c++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    MPI_Comm_set_errhandler(comms[c], ending);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, ending); /* MPICH raises those of MPI_Waitall there */
  MPI_Errhandler_free(&ending);
  if (rank == 0 && seconds > 0) printf("seed %llu\n", (unsigned long long)seed), fflush(stdout);
  const int rounds = play_rounds(first, seconds > 0 ? seconds : kSeconds);
  if (rank == 0 && seconds > 0) printf("%d rounds\n", rounds);
  for (int c = 0; c < kChannels; c++) MPI_Comm_free(&comms[c]);
  return check_finish();
}
