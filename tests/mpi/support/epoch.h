/* epoch.h: a random epoch of one-sided communication as a list of steps, the same on all ranks.
 *
 * Each rank does its own steps in their order.  Epochs are fences, locks of both kinds and of all
 * with flushes of every kind between operations, or post, start, complete and wait.
 */
#ifndef TESTS_MPI_EPOCH_H
#define TESTS_MPI_EPOCH_H

#include "operation.h"

typedef enum Action {
  kFence,
  kLockShared,
  kLockExclusive,
  kUnlock,
  kLockAll,
  kUnlockAll,
  kFlush,
  kFlushAll,
  kFlushLocal,
  kFlushLocalAll,
  kPost,
  kStart,
  kComplete,
  kWait,
  kOperate,
  kWaitRequest /* of a requested operation */
} Action;

typedef struct Step {
  Action action;
  int rank;   /* whose it is; of fences everybody's */
  int number; /* the target, the operation, an assertion, or of kPost and kStart a mask of ranks */
} Step;

typedef enum EpochKind { kFences, kLocks, kPostStart, kEpochKinds } EpochKind;

enum { kMostOperations = 120, kMostSteps = 600 };

typedef struct Epoch {
  EpochKind kind;
  Operation operations[kMostOperations];
  int operation_count;
  Step steps[kMostSteps];
  int step_count;
} Epoch;

/* Fills `epoch`, and does to the model what it does to the windows. */
void epoch_make(Epoch* epoch, Random* random, Model* model);
void epoch_free(Epoch* epoch);

#endif
