#include "epoch.h"

enum { kMostSegments = 3, kMostSessions = 3, kMostBurst = 5 };

static void step(Epoch* epoch, Action action, int rank, int number) {
  if (epoch->step_count == kMostSteps) MPI_Abort(MPI_COMM_WORLD, 1);
  epoch->steps[epoch->step_count++] = (Step){action, rank, number};
}

static int random_rank(Random* random, const Model* model) {
  return (int)random_below(random, (uint32_t)model->ranks);
}

/* An operation and its step; room is left for the steps that end what is open. */
static void operate(Epoch* epoch, Random* random, Model* model, int origin, int target,
                    bool may_request) {
  if (epoch->operation_count == kMostOperations) return;
  Operation* operation = &epoch->operations[epoch->operation_count];
  if (!operation_new(operation, random, model, origin, target, may_request)) return;
  step(epoch, kOperate, origin, epoch->operation_count++);
}

static void clear_all(Model* model) {
  for (int r = 0; r < model->ranks; r++) accesses_clear(&model->accesses[r]);
}

static void make_fences(Epoch* epoch, Random* random, Model* model) {
  const int segments = random_between(random, 1, kMostSegments);
  step(epoch, kFence, 0, random_below(random, 2) ? MPI_MODE_NOPRECEDE : 0);
  for (int s = 0; s < segments; s++) {
    for (int n = random_between(random, 0, kMostBurst * model->ranks); n > 0; n--) {
      operate(epoch, random, model, random_rank(random, model), random_rank(random, model), false);
    }
    /* What follows the last one is locks. */
    step(epoch, kFence, 0, s == segments - 1 ? MPI_MODE_NOSUCCEED : 0);
    clear_all(model);
  }
}

/* Waits for the origin's requests that nothing waited for: all since `first`, or some. */
static void wait_requests(Epoch* epoch, Random* random, int first, bool all) {
  for (int o = first; o < epoch->operation_count; o++) {
    Operation* operation = &epoch->operations[o];
    if (!operation->requested || operation->pending) continue;
    if (!all && random_below(random, 3)) continue;
    operation->pending = true; /* of the plan: its wait is in it */
    step(epoch, kWaitRequest, operation->origin, o);
  }
}

/* A flush of some kind; what is complete at its target may be touched by its origin again. */
static void flush(Epoch* epoch, Random* random, Model* model, int origin, int target, bool all) {
  switch (random_below(random, all ? 8 : 5)) {
    case 0:
    case 1:
      step(epoch, kFlush, origin, target);
      accesses_complete(&model->accesses[target], origin);
      break;
    case 2:
      step(epoch, kFlushLocal, origin, target);
      break;
    case 5:
      step(epoch, kFlushAll, origin, 0);
      for (int r = 0; r < model->ranks; r++) accesses_complete(&model->accesses[r], origin);
      break;
    case 6:
      step(epoch, kFlushLocalAll, origin, 0);
      break;
    default:
      break;
  }
}

/* Locks one target, or several shared, or all; operations on them; and unlocks.  Where locks are
 * had in turn, who holds one and waits for another behind an exclusive one may wait for itself, and
 * so may MPI_Win_lock_all, which MPICH asks of all targets one by one: so in an epoch either
 * several are held or some are exclusive. */
static void make_session(Epoch* epoch, Random* random, Model* model, int origin, bool exclusives) {
  const uint32_t everybody = (1u << model->ranks) - 1, kind = random_below(random, 3);
  const bool all = kind == 0 && !exclusives;
  const int first = epoch->operation_count;
  uint32_t targets = all ? everybody : 1u << random_rank(random, model);
  if (kind == 2 && !exclusives) targets = 1 + random_below(random, everybody);
  const bool exclusive = exclusives && random_below(random, 2);
  if (all) step(epoch, kLockAll, origin, 0);
  for (int t = 0; !all && t < model->ranks; t++) {
    if (targets >> t & 1) step(epoch, exclusive ? kLockExclusive : kLockShared, origin, t);
  }
  for (int n = random_between(random, 0, kMostBurst); n > 0; n--) {
    int target = random_rank(random, model);
    while (!(targets >> target & 1)) target = random_rank(random, model);
    operate(epoch, random, model, origin, target, true);
    wait_requests(epoch, random, first, false);
    flush(epoch, random, model, origin, target, all);
  }
  wait_requests(epoch, random, first, true);
  if (all) step(epoch, kUnlockAll, origin, 0);
  for (int t = 0; t < model->ranks; t++) {
    if (!(targets >> t & 1)) continue;
    if (!all) step(epoch, kUnlock, origin, t);
    accesses_complete(&model->accesses[t], origin);
  }
}

static void make_locks(Epoch* epoch, Random* random, Model* model) {
  const bool exclusives = random_below(random, 2);
  for (int origin = 0; origin < model->ranks; origin++) {
    for (int n = random_between(random, 1, kMostSessions); n > 0; n--) {
      make_session(epoch, random, model, origin, exclusives);
    }
  }
}

/* Each rank starts towards some others, which have posted for it. */
static void make_post_start(Epoch* epoch, Random* random, Model* model) {
  int targets[kMostRanks] = {0}, origins[kMostRanks] = {0};
  for (int o = 0; o < model->ranks; o++) {
    for (int t = 0; t < model->ranks; t++) {
      if (o == t || random_below(random, 3) == 0) continue;
      targets[o] |= 1 << t, origins[t] |= 1 << o;
    }
  }
  for (int r = 0; r < model->ranks; r++) {
    if (origins[r]) step(epoch, kPost, r, origins[r]);
    if (targets[r]) step(epoch, kStart, r, targets[r]);
  }
  for (int n = random_between(random, 1, kMostBurst * model->ranks); n > 0; n--) {
    const int origin = random_rank(random, model), target = random_rank(random, model);
    if (targets[origin] >> target & 1) operate(epoch, random, model, origin, target, false);
  }
  for (int r = 0; r < model->ranks; r++) {
    if (targets[r]) step(epoch, kComplete, r, 0);
    if (origins[r]) step(epoch, kWait, r, (int)random_below(random, 2));
  }
}

void epoch_make(Epoch* epoch, Random* random, Model* model) {
  static void (*const kMakers[kEpochKinds])(Epoch*, Random*, Model*) = {make_fences, make_locks,
                                                                        make_post_start};
  epoch->operation_count = epoch->step_count = 0;
  epoch->kind = (EpochKind)random_below(random, kEpochKinds);
  kMakers[epoch->kind](epoch, random, model);
  for (int o = 0; o < epoch->operation_count; o++) epoch->operations[o].pending = false;
  clear_all(model);
}

void epoch_free(Epoch* epoch) {
  for (int o = 0; o < epoch->operation_count; o++) operation_free(&epoch->operations[o]);
}
