/* accesses.h: which one-sided accesses of an epoch may stand beside each other (MPI-4.0, 12.7).
 *
 * Of each byte of a window: how it was accessed since all ranks last synchronised, and by whom.  An
 * access is refused unless it leaves one possible outcome: bytes that are put are nobody else's,
 * bytes that are got are only got, and accumulates share bytes if they have one predefined type and
 * one operation, or MPI_NO_OP.  One origin's accumulates are ordered, so that it may fetch and
 * replace what is only its own.
 */
#ifndef TESTS_MPI_ACCESSES_H
#define TESTS_MPI_ACCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elements.h"

typedef enum AccessKind { kUntouched, kRead, kWritten, kAccumulated, kCompleted } AccessKind;

typedef struct Access {
  uint8_t kind; /* AccessKind */
  int8_t origin;
  uint8_t basic; /* of accumulates: which predefined type, which operation */
  uint8_t operation;
  bool neutral; /* MPI_NO_OP */
  bool ordered; /* its result, or what it leaves, depends on its place among the others */
  bool owned;   /* the same origin completed others before; nobody else may come until all know */
} Access;

/* Of one target's window. */
typedef struct Accesses {
  Access* of_byte;
  size_t bytes;
} Accesses;

Accesses accesses_new(size_t bytes);
void accesses_free(Accesses* accesses);
/* All ranks have synchronised. */
void accesses_clear(Accesses* accesses);
/* What `origin` did is complete at the target; nobody else knows. */
void accesses_complete(Accesses* accesses, int origin);
/* Whether `access` to these elements from byte `place` on is allowed; if so it is noted. */
bool accesses_add(Accesses* accesses, const Elements* there, int64_t place, const Access* access);

#endif
