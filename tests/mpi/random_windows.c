/* random_windows.c: random one-sided programs against a literal model of every window.
 *
 *   random_windows [--seeds N] [--first K]
 *
 * Each seed makes a window of one kind (allocated, shared, created, dynamic; displacement units of
 * 1, 4, 8; each rank's of another size) and some epochs on it (support/epoch.h) of every operation
 * with random layouts at origin and target.  Between epochs each rank compares all of its window
 * with the model, what lies around it, too, and stores into it.  Prints the seed's number when
 * something is wrong; MAD_SEED and --first repeat it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/epoch.h"
#include "support/one_host.h"
#include "support/path.h"

enum {
  kSeeds = 24,
  kMostEpochs = 4,
  kMostBytes = 300000,
  kGuard = 256,   /* bytes on either side of memory that is ours */
  kPatience = 40, /* s; below the time that the tests' runner gives it */
  kGuarded = 0xA7
};

typedef enum Flavour { kAllocated, kShared, kCreated, kDynamic, kFlavours } Flavour;

static const char* const kFlavourNames[kFlavours] = {"allocate", "allocate_shared", "create",
                                                     "dynamic"};

static MPI_Comm comm;
static int rank, size;
static uint64_t seed;
static bool one_host;
static char where[200]; /* for who finds this process stuck or failing; its last byte stays 0 */

typedef struct Window {
  Flavour flavour;
  MPI_Win win;
  uint8_t* memory; /* this rank's */
  uint8_t* owned;  /* with guards, if the memory is ours */
  MPI_Aint displacements[kMostRanks];
} Window;

static void stuck(int sign) {
  (void)sign;
  where[strlen(where)] = '\n';
  _exit(write(STDERR_FILENO, where, strlen(where)) < 0 ? 3 : 2);
}

/* ---- windows ---- */

static Model model_new(Random* random, Flavour flavour) {
  static const int kUnits[] = {1, 4, 8}, kSizes[] = {0, 100, 3000, 40000};
  Model model = {.ranks = size};
  for (int r = 0; r < size; r++) {
    model.unit[r] = flavour == kDynamic ? 1 : kUnits[random_below(random, 3)];
    const int most = random_below(random, 8) ? kSizes[random_below(random, 4)] : kMostBytes;
    model.bytes[r] = (size_t)random_between(random, 0, most);
    if (flavour == kShared) model.bytes[r] &= ~(size_t)7; /* the next rank's begins there */
    model.memory[r] = malloc(model.bytes[r] + 1);
    if (!model.memory[r]) MPI_Abort(comm, 1);
    random_bytes(random, model.memory[r], model.bytes[r]);
    model.accesses[r] = accesses_new(model.bytes[r]);
  }
  return model;
}

static void model_free(Model* model) {
  for (int r = 0; r < model->ranks; r++) {
    free(model->memory[r]);
    accesses_free(&model->accesses[r]);
  }
}

static Window window_new(Flavour flavour, const Model* model) {
  Window window = {.flavour = flavour};
  const MPI_Aint bytes = (MPI_Aint)model->bytes[rank];
  const int unit = model->unit[rank];
  if (flavour == kCreated || flavour == kDynamic) {
    window.owned = aligned_alloc(64, (size_t)(bytes + 2 * kGuard + 63) / 64 * 64);
    if (!window.owned) MPI_Abort(comm, 1);
    memset(window.owned, kGuarded, (size_t)bytes + 2 * kGuard);
    window.memory = window.owned + kGuard;
  }
  if (flavour == kAllocated) {
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, comm, &window.memory, &window.win);
  } else if (flavour == kShared) {
    MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, comm, &window.memory, &window.win);
  } else if (flavour == kCreated) {
    MPI_Win_create(window.memory, bytes, unit, MPI_INFO_NULL, comm, &window.win);
  } else {
    MPI_Aint mine;
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window.win);
    if (bytes > 0) MPI_Win_attach(window.win, window.memory, bytes);
    MPI_Get_address(window.memory, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, window.displacements, 1, MPI_AINT, comm);
  }
  return window;
}

static void window_free(Window* window, const Model* model) {
  MPI_Barrier(comm);
  if (window->flavour == kDynamic && model->bytes[rank] > 0) {
    MPI_Win_detach(window->win, window->memory);
  }
  MPI_Win_free(&window->win);
  free(window->owned);
}

/* ---- a rank's own memory ---- */

/* What an epoch did to a byte of this rank's window. */
static void tell_who_touched(const Epoch* epoch, size_t byte) {
  for (int o = 0; o < epoch->operation_count; o++) {
    const Operation* operation = &epoch->operations[o];
    if (operation->target != rank) continue;
    for (int e = 0; e < operation->there.number; e++) {
      const int64_t place = operation->place + operation->there.places[e];
      if ((int64_t)byte < place || (int64_t)byte >= place + operation->there.size) continue;
      fprintf(stderr, "  touched by %s: its element %d\n", operation->text, e);
    }
  }
}

static void check_memory(const Window* window, const Model* model, const Epoch* epoch) {
  const size_t bytes = model->bytes[rank];
  size_t at = 0;
  while (at < bytes && window->memory[at] == model->memory[rank][at]) at++;
  CHECK(at == bytes, "%s: byte %zu of %zu of the window is %02x and not %02x", where, at, bytes,
        window->memory[at], model->memory[rank][at]);
  if (at < bytes) tell_who_touched(epoch, at);
  for (size_t g = 0; window->owned && g < kGuard; g++) {
    CHECK(window->owned[g] == kGuarded && window->memory[bytes + g] == kGuarded,
          "%s: %zu bytes beside the window were written", where, g);
  }
}

/* Everybody's stores are in the model; this rank's are done as well. */
static void store(Window* window, Random* random, Model* model) {
  for (int r = 0; r < size; r++) {
    const uint32_t bytes = (uint32_t)model->bytes[r];
    if (bytes == 0 || random_below(random, 2)) continue;
    const uint32_t first = random_below(random, bytes);
    const uint32_t count = random_below(random, bytes - first) + 1;
    random_bytes(random, model->memory[r] + first, count);
    if (r == rank) memcpy(window->memory + first, model->memory[r] + first, count);
  }
}

/* ---- the steps ---- */

/* Operations of this rank that are complete here: to one target, or to all. */
static void complete(Epoch* epoch, int target, bool all) {
  for (int o = 0; o < epoch->operation_count; o++) {
    Operation* operation = &epoch->operations[o];
    if (operation->origin != rank || !operation->pending || operation->requested) continue;
    if (all || operation->target == target) operation_check(operation, where);
  }
}

static MPI_Group group_of(int mask) {
  int ranks[kMostRanks], count = 0;
  MPI_Group world, group;
  for (int r = 0; r < size; r++) {
    if (mask >> r & 1) ranks[count++] = r;
  }
  MPI_Comm_group(comm, &world);
  MPI_Group_incl(world, count, ranks, &group);
  MPI_Group_free(&world);
  return group;
}

static void post_or_start(const Step* step, MPI_Win win) {
  MPI_Group group = group_of(step->number);
  if (step->action == kPost) MPI_Win_post(group, 0, win);
  if (step->action == kStart) MPI_Win_start(group, 0, win);
  MPI_Group_free(&group);
}

static void wait_for_origins(bool tests, MPI_Win win) {
  int flag = 0;
  while (tests && !flag) MPI_Win_test(win, &flag);
  if (!tests) MPI_Win_wait(win);
}

static void take(const Step* step, Epoch* epoch, const Window* window, const Model* model) {
  const MPI_Win win = window->win;
  const int number = step->number;
  Operation* operation = &epoch->operations[number < epoch->operation_count ? number : 0];
  switch (step->action) {
    case kFence:
      MPI_Win_fence(number, win);
      complete(epoch, 0, true);
      break;
    case kLockShared:
    case kLockExclusive:
      MPI_Win_lock(step->action == kLockShared ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, number, 0,
                   win);
      break;
    case kUnlock:
      MPI_Win_unlock(number, win);
      complete(epoch, number, false);
      break;
    case kLockAll:
      MPI_Win_lock_all(0, win);
      break;
    case kUnlockAll:
      MPI_Win_unlock_all(win);
      complete(epoch, 0, true);
      break;
    case kFlush:
      MPI_Win_flush(number, win);
      complete(epoch, number, false);
      break;
    case kFlushAll:
      MPI_Win_flush_all(win);
      complete(epoch, 0, true);
      break;
    case kFlushLocal:
      MPI_Win_flush_local(number, win);
      complete(epoch, number, false);
      break;
    case kFlushLocalAll:
      MPI_Win_flush_local_all(win);
      complete(epoch, 0, true);
      break;
    case kPost:
    case kStart:
      post_or_start(step, win);
      break;
    case kComplete:
      MPI_Win_complete(win);
      complete(epoch, 0, true);
      break;
    case kWait:
      wait_for_origins(number != 0, win);
      break;
    case kOperate:
      operation_start(operation, win, window->displacements[operation->target],
                      model->unit[operation->target]);
      break;
    case kWaitRequest:
      MPI_Wait(&operation->request, MPI_STATUS_IGNORE);
      operation_check(operation, where);
      break;
  }
}

static void play(Epoch* epoch, Window* window, Random* random, Model* model) {
  epoch_make(epoch, random, model);
  for (int s = 0; s < epoch->step_count; s++) {
    const Step* step = &epoch->steps[s];
    if (step->action == kFence || step->rank == rank) take(step, epoch, window, model);
  }
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window->win);
  check_memory(window, model, epoch);
  epoch_free(epoch);
  store(window, random, model);
  MPI_Win_unlock(rank, window->win);
  MPI_Barrier(comm);
}

static void play_seed(int number, Epoch* epoch) {
  Random random = random_from(seed + (uint64_t)number * 0x100000001u);
  Flavour flavour = (Flavour)random_below(&random, kFlavours);
  if (flavour == kShared && !one_host) flavour = kAllocated;
  path_set(comm, kPaths[random_below(&random, kPathCount)]);
  Model model = model_new(&random, flavour);
  Window window = window_new(flavour, &model);
  const int epochs = random_between(&random, 1, kMostEpochs);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, window.win);
  memcpy(window.memory, model.memory[rank], model.bytes[rank]);
  MPI_Win_unlock(rank, window.win);
  MPI_Barrier(comm);
  for (int e = 0; e < epochs; e++) {
    snprintf(where, sizeof(where) - 1,
             "random_windows: rank %d of %d, seed %llu, --first %d, %s, epoch %d", rank, size,
             (unsigned long long)seed, number, kFlavourNames[flavour], e);
    play(epoch, &window, &random, &model);
  }
  window_free(&window, &model);
  model_free(&model);
}

int main(int argc, char** argv) {
  static Epoch epoch;
  int first = 0, seeds = kSeeds;
  MPI_Init(&argc, &argv);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (int a = 1; a + 1 < argc; a += 2) {
    if (strcmp(argv[a], "--seeds") == 0) seeds = atoi(argv[a + 1]);
    if (strcmp(argv[a], "--first") == 0) first = atoi(argv[a + 1]);
  }
  if (size > kMostRanks) MPI_Abort(comm, 1);
  seed = random_seed(1000);
  one_host = on_one_host(comm);
  signal(SIGALRM, stuck);
  for (int n = first, wrong = 0; n < first + seeds && !wrong; n++) {
    alarm(kPatience);
    play_seed(n, &epoch);
    const int mine = check_failures();
    MPI_Allreduce(&mine, &wrong, 1, MPI_INT, MPI_MAX, comm);
  }
  alarm(0);
  MPI_Comm_free(&comm);
  return check_finish();
}
