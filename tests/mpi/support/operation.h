/* operation.h: random one-sided operations, and what each does to a literal model.
 *
 * All ranks make the same operations from the same numbers: the origin to start them, all to know
 * what every window and every result must hold.
 */
#ifndef TESTS_MPI_OPERATION_H
#define TESTS_MPI_OPERATION_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "accesses.h"
#include "elements.h"
#include "random.h"

enum { kMostRanks = 8 };

/* The windows of all ranks as they must be. */
typedef struct Model {
  int ranks;
  int unit[kMostRanks]; /* displacement unit */
  uint8_t* memory[kMostRanks];
  size_t bytes[kMostRanks];
  Accesses accesses[kMostRanks];
} Model;

typedef enum Kind { kPut, kGet, kAccumulate, kGetAccumulate, kFetchAndOp, kCompareAndSwap } Kind;

/* Memory at the origin, guards around it. */
typedef struct Operand {
  Elements elements;
  uint8_t* memory;
  uint8_t* expected; /* what it must hold once the operation is complete */
  size_t bytes;
  size_t base; /* of what MPI is given, from `memory`; the elements' places count from there */
} Operand;

typedef struct Operation {
  Kind kind;
  int origin, target;
  int basic, op;  /* by their numbers */
  bool requested; /* MPI_Rput and its like */
  Elements there;
  int64_t place; /* bytes from the window's start */
  Operand source, result, compare;
  MPI_Request request;
  bool pending;
  char text[200];
} Operation;

/* One from origin to target that conflicts with none of the epoch, with what it does done to the
 * model; false: none was found. */
bool operation_new(Operation* operation, Random* random, Model* model, int origin, int target,
                   bool may_request);
void operation_free(Operation* operation);

/* Starts it, at the origin.  `displacement` is the target's place 0 in a window's terms. */
void operation_start(Operation* operation, MPI_Win win, MPI_Aint displacement, int unit);
/* It is complete at the origin: its memory is as it must be, and is overwritten. */
void operation_check(Operation* operation, const char* where);

/* `bytes` random bytes. */
void random_bytes(Random* random, uint8_t* memory, size_t bytes);

#endif
